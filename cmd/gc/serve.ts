import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type HostedCity, hostCity, type OpenedCity } from '../../internal/api/hosted-city.ts';
import { alreadyRunning, controllerOf } from '../../internal/controller/city-lock.ts';
import { CityRuntime } from '../../internal/controller/city-runtime.ts';
import { exportEvents } from '../../internal/controller/event-export.ts';
import { LocalCityApi } from '../../internal/controller/local-city-api.ts';
import { standardProviders } from '../../internal/controller/make-provider.ts';
import { openCity } from '../../internal/controller/open-city.ts';
import { readRegisteredCities } from '../../internal/controller/registry.ts';
import { lastingEnvironment, readStartEnvironment } from '../../internal/controller/registry-environment.ts';
import { runSupervisor } from '../../internal/controller/supervisor.ts';
import { copiedProgram } from '../../internal/controller/supervisor-bundle.ts';
import type { StartCity } from '../../internal/controller/supervisor-cities.ts';
import { supervisorLogFile } from '../../internal/controller/supervisor-client.ts';
import { INSTALLED_PROGRAM_VARIABLE } from '../../internal/controller/supervisor-start.ts';
import type { CityEvent } from '../../internal/events/event.ts';
import { GcError, messageOf } from '../../internal/platform/errors.ts';
import { systemIds } from '../../internal/platform/ids.ts';
import { type Log, openLog } from '../../internal/platform/log.ts';
import { type Environment, gcHome } from '../../internal/platform/paths.ts';
import { buildInfo } from './build-info.ts';
import { agentProgram, hostCommand } from './city/own-programs.ts';
import { citySessions } from './commands/serve-sessions-city.ts';
import type { Context } from './context.ts';
import { clockTime } from './output/times.ts';

/** 128 + SIGINT, as shells report it. */
const EXIT_INTERRUPTED = 130;

/** Node does not collect processes that it did not start, and in a container orphans of agents become its own. */
const NO_INIT =
  'warning: gc is process 1 here and collects no orphans; run it under an init (docker run --init)';
/** Files of a city whose change is worth another try after a failed start. */
const CONFIG_FILES = ['city.yaml', 'city.yml', 'city.toml', 'pack.yaml', 'pack.toml'];

/**
 * Runs one city in this process until it is stopped (`gc start --foreground`).
 *
 * Ctrl-C ends the city with its sessions, as in Gas City; a second Ctrl-C leaves at once. TERM and a closed terminal
 * end the controller only: a service manager that restarts it takes no agent down, and the next controller adopts
 * them. Exit code 0; 1 when a session could not be ended.
 * @throws GcError `controller-running`, `city-registered`, or why the city does not open
 */
export async function runStandalone(context: Context, root: string): Promise<number> {
  const running = controllerOf(join(root, '.gc'));
  if (running) throw alreadyRunning(running);
  if (readRegisteredCities(gcHome(context.env)).some((city) => city.path === root)) {
    throw new GcError('city-registered', `${root} is registered with the supervisor`, {
      next: `gc unregister ${root}, then again; or gc start without --foreground`,
    });
  }
  const program = await runningCopy(context);
  if (endedEarly(context)) return 0;
  const log = openLog(join(root, '.gc', 'controller.log'));
  noteUnexpected(log);
  const print = printer(context, log);
  if (process.pid === 1) print(NO_INIT);
  const ending = new StandaloneEnd(print);
  const from: { seq: number } = { seq: 0 };
  const env = lastingEnvironment(context.env);
  try {
    const hosted = await once(
      hostCity({
        root,
        mode: 'standalone',
        env,
        pid: process.pid,
        clock: context.clock,
        ids: systemIds,
        log,
        print,
        signal: ending.startAborted,
        open: () => openForHosting(context, program, { root, env, mode: 'standalone', log, print, from }),
      }),
    );
    print('Controller started.');
    print('City started.');
    if (context.out.isTTY) void showEvents(context, hosted, from.seq);
    const code = await ending.of(hosted);
    print('Controller stopped.');
    return code;
  } catch (error) {
    if (!ending.startAborted.aborted) throw error;
    print('Controller stopped.');
    return 0;
  }
}

/**
 * Runs the supervisor of this user in this process until it is stopped (`gc supervisor run`). A signal ends it and
 * leaves the sessions running; HUP makes it read its list again. Exit code 0; 1 when a city did not end.
 * @throws GcError `already-running`
 */
export async function runSupervisorProcess(
  context: Context,
  options: { readonly exitWhenEmpty: boolean },
): Promise<number> {
  const program = await runningCopy(context);
  if (endedEarly(context)) return 0;
  const log = openLog(supervisorLogFile(gcHome(context.env)));
  noteUnexpected(log);
  const print = printer(context, log);
  const env = lastingEnvironment(context.env);
  const detach = new AbortController();
  process.on('SIGTERM', () => detach.abort());
  process.on('SIGINT', () => {
    if (detach.signal.aborted) process.exit(EXIT_INTERRUPTED);
    print('Ending; the sessions keep running (gc supervisor stop ends them too). Ctrl-C again: at once.');
    detach.abort();
  });
  const end = await once(
    runSupervisor({
      env,
      clock: context.clock,
      ids: systemIds,
      pid: process.pid,
      version: buildInfo.version,
      log,
      print,
      startCity: supervisedCity(context, program, env, log),
      fileStamp,
      detach: detach.signal,
      exitWhenEmpty: options.exitWhenEmpty,
      onReady: (reconcile) => process.on('SIGHUP', reconcile),
    }),
  );
  return end === 'unclean' ? 1 : 0;
}

/** A signal came while the program was still loading, before anybody here could hear it. */
function endedEarly({ signal }: Context): boolean {
  const reason: unknown = signal.reason;
  return signal.aborted && reason instanceof Error && /^SIG(TERM|INT)$/.test(reason.message);
}

interface Program {
  /** What agents call: the installed one. */
  readonly installed: string;
  /** How the session host is started: from the copy. */
  readonly host: readonly string[];
}

/**
 * Continues in the copy of the program that an upgrade does not touch: the copy's main file is loaded into this process
 * and takes over; this call then never returns. In the copy, and for unbundled sources, it only says what is what.
 */
async function runningCopy(context: Context): Promise<Program> {
  const { self, env } = context;
  const copy = copiedProgram({
    home: gcHome(env),
    self,
    version: buildInfo.version,
    now: context.clock.now(),
    ids: systemIds,
  });
  const main = copy.at(-1);
  if (main !== undefined && main !== self.at(-1)) {
    process.env[INSTALLED_PROGRAM_VARIABLE] = agentProgram(self);
    await import(pathToFileURL(main).href);
    await new Promise(() => undefined);
  }
  return { installed: env[INSTALLED_PROGRAM_VARIABLE] || agentProgram(self), host: hostCommand(self) };
}

interface Opening {
  readonly root: string;
  readonly env: Environment;
  readonly mode: 'standalone' | 'supervisor';
  readonly log: Log;
  readonly print: (line: string) => void;
  /** Receives the last event before the city's new life. */
  readonly from?: { seq: number };
}

async function openForHosting(context: Context, program: Program, opening: Opening): Promise<OpenedCity> {
  const { [INSTALLED_PROGRAM_VARIABLE]: _, ...env } = opening.env;
  const parts = await openCity({
    cityDir: opening.root,
    env,
    clock: context.clock,
    ids: systemIds,
    role: 'controller',
    program: program.installed,
    makeProvider: standardProviders({ hostCommand: program.host }),
    log: opening.print,
  });
  if (opening.from) opening.from.seq = await parts.db.events.latestSeq();
  const runtime = new CityRuntime(parts);
  const controller = { running: true, pid: process.pid, mode: opening.mode };
  const api = new LocalCityApi({ engine: runtime.engine, runtime, controller });
  const endExport = exportEvents(parts.db, parts.gcDir, (error) => opening.log.warn(messageOf(error)));
  const close = async () => {
    await endExport();
    await parts.close();
  };
  return { runtime, api, sessions: citySessions(parts.city, opening.print), close };
}

function supervisedCity(context: Context, program: Program, env: Environment, log: Log): StartCity {
  return async (city, { phase, signal }) => {
    const cityLog = log.child({ city: city.name });
    const say = (line: string) => {
      cityLog.info(line);
      writeLine(context, `${city.name}: ${line}`);
    };
    return hostCity({
      root: city.path,
      mode: 'supervisor',
      env,
      pid: process.pid,
      clock: context.clock,
      ids: systemIds,
      log: cityLog,
      print: say,
      phase,
      signal,
      open: () => {
        phase('starting_bead_store');
        const started = readStartEnvironment(city.path) ?? env;
        return openForHosting(context, program, {
          root: city.path,
          env: started,
          mode: 'supervisor',
          log: cityLog,
          print: say,
        });
      },
    });
  };
}

/** How a standalone controller ends; what the signals mean is said in `runStandalone`. They count from the first moment. */
class StandaloneEnd {
  readonly #print: (line: string) => void;
  readonly #starting = new AbortController();
  #city: HostedCity | undefined;
  #want: 'nothing' | 'stop' | 'detach' = 'nothing';
  #leave: (code: number) => void = () => undefined;

  constructor(print: (line: string) => void) {
    this.#print = print;
    process.on('SIGINT', () => this.#interrupted());
    process.on('SIGTERM', () => this.#ask('detach'));
    process.on('SIGHUP', () => this.#ask('detach'));
  }

  /** Aborts when the controller is to end before its city has started. */
  get startAborted(): AbortSignal {
    return this.#starting.signal;
  }

  /** The exit code, once the city has ended. */
  async of(city: HostedCity): Promise<number> {
    const left = new Promise<number>((resolve) => {
      this.#leave = resolve;
    });
    this.#city = city;
    this.#act();
    const ended = city.ended.then(() => ((city.outcome()?.left.length ?? 0) > 0 ? 1 : 0));
    return Promise.race([ended, left]);
  }

  #interrupted(): void {
    if (this.#want === 'nothing') this.#ask('stop');
    else if (this.#city) this.#leave(EXIT_INTERRUPTED);
    else this.#starting.abort();
  }

  #ask(want: 'stop' | 'detach'): void {
    if (this.#want !== 'nothing') return;
    this.#want = want;
    this.#print(
      want === 'stop'
        ? 'Stopping the city. Ctrl-C again leaves what still runs to the next controller.'
        : 'Ending; the sessions keep running and are adopted by the next controller.',
    );
    this.#act();
  }

  /** What is to be stopped must come up first: only then are the sessions of an earlier controller known. */
  #act(): void {
    const city = this.#city;
    if (this.#want === 'detach' && !city) this.#starting.abort();
    if (this.#want === 'nothing' || !city) return;
    const work = this.#want === 'stop' ? city.stop() : city.detach();
    work.catch((error: unknown) => this.#print(`gc start: ${messageOf(error)}`));
  }
}

/** What happens in the city, one line each, for a person who watches a foreground controller. */
async function showEvents(context: Context, city: HostedCity, afterSeq: number): Promise<void> {
  const over = new AbortController();
  void city.ended.then(() => over.abort());
  try {
    for await (const event of city.api.followEvents(afterSeq, over.signal)) {
      const line = eventLine(event);
      if (line !== undefined) writeLine(context, line);
    }
  } catch (error) {
    if (!over.signal.aborted) writeLine(context, `gc start: no progress can be shown: ${messageOf(error)}`);
  }
}

const SHOWN: Readonly<Record<string, string>> = {
  'session.woke': 'started',
  'session.stopped': 'stopped',
  'session.crashed': 'crashed',
  'session.draining': 'draining',
  'session.undrained': 'goes on',
  'session.quarantined': 'quarantined',
  'session.released': 'tries again',
  'session.suspended': 'suspended',
  'session.updated': 'updated',
  'session.idle_killed': 'ended, idle',
  'provider.lost': 'sessions lost',
};

/** `undefined` for what a person at a terminal does not wait for. */
export function eventLine(event: CityEvent): string | undefined {
  const word = Object.hasOwn(SHOWN, event.type) ? SHOWN[event.type] : undefined;
  if (word === undefined) return undefined;
  const [first = ''] = (event.message ?? '').split('\n');
  return [clockTime(event.ts), event.subject ?? '', word, first]
    .filter((part) => part !== '')
    .join('  ')
    .replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ');
}

function printer(context: Context, log: Log): (line: string) => void {
  return (line) => {
    log.info(line);
    writeLine(context, line);
  };
}

function writeLine(context: Context, line: string): void {
  context.out.write(`${line}\n`);
}

/** One mistake in one city must not end the process that keeps all of them: it is written down and the next pass looks anew. */
function noteUnexpected(log: Log): void {
  const note = (error: unknown) => {
    const stack = error instanceof Error ? error.stack : undefined;
    log.error('unexpected error', { error: messageOf(error), ...(stack === undefined ? {} : { stack }) });
  };
  process.on('uncaughtException', note);
  process.on('unhandledRejection', note);
}

/** A lock that somebody else holds has one code for all commands, and so its own exit code. */
async function once<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    const taken = error instanceof GcError && TAKEN_CODES.has(error.code);
    if (!taken) throw error;
    throw new GcError('already-running', error.message, {
      cause: error,
      ...(error.next === undefined ? {} : { next: error.next }),
    });
  }
}

const TAKEN_CODES: ReadonlySet<string> = new Set(['controller-running', 'supervisor-already-running']);

/** Sizes and times of the files that decide how a city starts. */
function fileStamp(root: string): string {
  const files = CONFIG_FILES.map((name) => join(root, name));
  return [...files, ...agentFiles(join(root, 'agents'))]
    .map((file) => statSync(file, { throwIfNoEntry: false }))
    .map((found) => (found ? `${found.mtimeMs}:${found.size}:${found.ino}` : '-'))
    .join(' ');
}

function agentFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .toSorted()
      .map((name) => join(folder, name));
  } catch {
    return []; // there is none
  }
}
