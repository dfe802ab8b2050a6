import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type HostedCity, hostCity, type OpenedCity } from '../../internal/api/hosted-city.ts';
import { alreadyRunning, controllerOf } from '../../internal/controller/city-lock.ts';
import { CityRuntime } from '../../internal/controller/city-runtime.ts';
import { exportEvents } from '../../internal/controller/event-export.ts';
import { LocalCityApi } from '../../internal/controller/local-city-api.ts';
import { type MakeProviderOptions, standardProviders } from '../../internal/controller/make-provider.ts';
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
import { agentProgram, providerPrograms } from './city/own-programs.ts';
import { StandaloneEnd } from './city/standalone-end.ts';
import { type HeldTenure, takeTenure } from './city/tenure.ts';
import { citySessions } from './commands/serve-sessions-city.ts';
import type { Context } from './context.ts';
import { clockTime } from './output/times.ts';

/** 128 + SIGINT, as shells report it. */
const EXIT_INTERRUPTED = 130;

/** Node does not collect processes that it did not start, and in a container orphans of agents become its own. */
const NO_INIT =
  'warning: gc is process 1 here and collects no orphans: they pile up as zombies. Run it under an init (docker run --init, tini)';

/** Files of a city whose change is worth another try after a failed start. */
const CONFIG_FILES = ['city.yaml', 'city.yml', 'city.toml', 'pack.yaml', 'pack.toml'];

/**
 * Runs one city in this process until it is stopped (`gc start --foreground`).
 *
 * Ctrl-C ends the city with its sessions, as in Gas City; a second Ctrl-C leaves at once. TERM and a closed terminal
 * end the controller only: a service manager that restarts it takes no agent down, and the next controller adopts
 * them. Exit code 0; 1 when a session could not be ended; 4 when the lease of GC_K8S_LEASE was lost.
 * @throws GcError `controller-running`, `city-registered`, why the lease cannot be had, or why the city does not open
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
  warnWithoutInit(print);
  const ending = new StandaloneEnd(print);
  const from: { seq: number } = { seq: 0 };
  const env = lastingEnvironment(context.env);
  let tenure: HeldTenure | undefined;
  try {
    tenure = await ending.waiting(takeTenure(context.clock, env, ending.startAborted, print));
    tenure?.onLost((why) => ending.lose(why));
    const opening = { root, env, mode: 'standalone', log, print, from, tenure } as const;
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
        open: () => openForHosting(context, program, opening),
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
    return ending.codeWithoutCity;
  } finally {
    await tenure?.release();
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
  warnWithoutInit(print);
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

function warnWithoutInit(print: (line: string) => void): void {
  if (process.pid === 1) print(NO_INIT);
}

/** A signal came while the program was still loading, before anybody here could hear it. */
function endedEarly({ signal }: Context): boolean {
  const reason: unknown = signal.reason;
  return signal.aborted && reason instanceof Error && /^SIG(TERM|INT)$/.test(reason.message);
}

interface Program {
  /** What agents call: the installed one. */
  readonly installed: string;
  /** How the session host and other helpers are started: from the copy. */
  readonly providers: MakeProviderOptions;
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
  const installed = env[INSTALLED_PROGRAM_VARIABLE] || agentProgram(self);
  return { installed, providers: providerPrograms(self, installed) };
}

interface Opening {
  readonly root: string;
  readonly env: Environment;
  readonly mode: 'standalone' | 'supervisor';
  readonly log: Log;
  readonly print: (line: string) => void;
  /** Receives the last event before the city's new life. */
  readonly from?: { seq: number };
  /** Without it the city's own lock is enough. */
  readonly tenure?: HeldTenure | undefined;
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
    makeProvider: standardProviders(program.providers),
    log: opening.print,
    tenure: opening.tenure,
  });
  if (opening.from) opening.from.seq = await parts.db.events.latestSeq();
  const runtime = new CityRuntime(parts, opening.tenure ? { tenure: opening.tenure } : {});
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
