import { ensurePrivateDir } from '../platform/atomic-file.ts';
import type { Clock } from '../platform/clock.ts';
import { GcError, messageOf } from '../platform/errors.ts';
import type { Ids } from '../platform/ids.ts';
import { acquireLifetimeLock, type LifetimeLock, readLockHolder } from '../platform/lifetime-lock.ts';
import type { Log } from '../platform/log.ts';
import { type Environment, gcHome } from '../platform/paths.ts';
import { afterReply, serveWords } from './control-socket.ts';
import { type RegisteredCity, readRegisteredCities, registryFile } from './registry.ts';
import { type StartCity, SupervisedCities } from './supervisor-cities.ts';
import { supervisorLockFile, supervisorSocketPath } from './supervisor-client.ts';

export interface SupervisorOptions {
  /** Says where gc's home is: the folder of the registry, the lock and the socket. */
  readonly env: Environment;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly pid: number;
  readonly version: string;
  readonly log: Log;
  /** One line for whoever watches. */
  readonly print: (line: string) => void;
  readonly startCity: StartCity;
  /** Changes whenever the city's own files do. */
  readonly fileStamp: (cityPath: string) => string;
  /** Aborted by a signal of the system: the supervisor ends, the sessions live on. */
  readonly detach: AbortSignal;
  /** Ends by itself when the registry that had cities has none any more. */
  readonly exitWhenEmpty?: boolean;
  /** Hands out a way to ask for a pass, for SIGHUP. */
  readonly onReady?: (reconcile: () => void) => void;
}

/** `unclean`: some city did not end in time. */
export type SupervisorEnd = 'stopped' | 'detached' | 'unclean';

const PATROL_INTERVAL_MS = 10_000;
const RELOAD_LIMIT_MS = 300_000;

/**
 * Runs every registered city of this user until it is told to end.
 *
 * There are two ways to end. The word `stop` on its socket (`gc supervisor stop`) ends the cities and their sessions,
 * as in Gas City. A signal (`detach`: a service manager restarting its unit, Ctrl-C, a logout) ends the
 * supervisor only: the sessions live on and the next supervisor adopts them. In Gas City a signal ends the sessions
 * too.
 * @throws GcError `supervisor-already-running`, `socket-in-use`
 */
export async function runSupervisor(options: SupervisorOptions): Promise<SupervisorEnd> {
  ensurePrivateDir(gcHome(options.env));
  const lock = takeLock(options);
  const serving = new AbortController();
  try {
    return await new Supervisor(options).run(serving);
  } finally {
    serving.abort();
    lock.release();
  }
}

function takeLock({ env, pid, version, clock }: SupervisorOptions): LifetimeLock {
  const file = supervisorLockFile(gcHome(env));
  const lock = acquireLifetimeLock(file, {
    pid,
    version,
    socket: supervisorSocketPath(env),
    started_at: new Date(clock.now()).toISOString(),
  });
  if (lock) return lock;
  const holder = readLockHolder(file)?.['pid'];
  throw new GcError(
    'supervisor-already-running',
    `supervisor already running${typeof holder === 'number' ? ` (PID ${holder})` : ''}`,
    { next: 'gc supervisor status' },
  );
}

class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #cities: SupervisedCities;
  readonly #ending = new AbortController();
  #how: 'stop' | 'detach' = 'stop';
  #wake = new AbortController();
  #passDone: (() => void)[] = [];
  #registryError = '';
  #hadCities = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    this.#cities = new SupervisedCities({
      ...options,
      changed: () => this.#wake.abort(),
      endedByItself: (path) => this.#endedByItself(path),
    });
  }

  async run(serving: AbortController): Promise<SupervisorEnd> {
    const { env, ids, pid, detach, print, onReady } = this.#options;
    const onDetach = () => this.#end('detach');
    detach.addEventListener('abort', onDetach, { once: true, signal: serving.signal });
    if (detach.aborted) onDetach();
    await serveWords(
      { path: supervisorSocketPath(env) },
      {
        ping: () => String(pid),
        stop: () => afterReply(() => this.#end('stop')),
        reload: () => this.#reload(),
        cities: () => JSON.stringify({ cities: this.#cities.reports() }),
      },
      ids,
      serving.signal,
    );
    print('Supervisor started.');
    onReady?.(() => this.#wake.abort());
    await this.#patrol();
    const left = await this.#cities.end(this.#how);
    if (left.length > 0) {
      print(`Supervisor gave up on ${left.join(', ')}.`);
      return 'unclean';
    }
    print(this.#how === 'stop' ? 'Supervisor stopped.' : 'Supervisor stopped; the sessions keep running.');
    return this.#how === 'stop' ? 'stopped' : 'detached';
  }

  #end(how: 'stop' | 'detach'): void {
    if (this.#ending.signal.aborted) return;
    this.#how = how;
    this.#ending.abort();
  }

  /** One that was taken off the list is done with; one that is still on it waits for the patrol, or it could spin. */
  #endedByItself(path: string): void {
    if (!this.#registered()?.some((city) => city.path === path)) this.#wake.abort();
  }

  async #patrol(): Promise<void> {
    const ending = this.#ending.signal;
    while (!ending.aborted) {
      this.#wake = new AbortController();
      const waiting = this.#passDone;
      this.#passDone = [];
      this.#pass();
      for (const done of waiting) done();
      const signal = AbortSignal.any([ending, this.#wake.signal]);
      await this.#options.clock.sleep(PATROL_INTERVAL_MS, signal).catch(() => undefined); // woken early, or ending
    }
  }

  #pass(): void {
    const registered = this.#registered();
    if (!registered) return;
    this.#cities.pass(registered);
    this.#hadCities ||= registered.length > 0;
    const empty = registered.length === 0 && this.#cities.reports().length === 0;
    if (this.#options.exitWhenEmpty && this.#hadCities && empty) this.#end('stop');
  }

  /** `undefined` when the registry cannot be read: that changes nothing, the cities that run go on. */
  #registered(): readonly RegisteredCity[] | undefined {
    const { env, log, print } = this.#options;
    const home = gcHome(env);
    try {
      const registered = readRegisteredCities(home);
      this.#registryError = '';
      return registered;
    } catch (error) {
      const message = messageOf(error);
      if (message !== this.#registryError) {
        log.error('cannot read the registry', { file: registryFile(home), error: message });
        print(`supervisor: ${message}; the cities that run go on`);
      }
      this.#registryError = message;
      return undefined;
    }
  }

  async #reload(): Promise<string> {
    if (this.#ending.signal.aborted) return 'busy';
    const { clock } = this.#options;
    const passed = new Promise<void>((resolve) => this.#passDone.push(resolve));
    this.#wake.abort();
    const late = new AbortController();
    const limit = clock.sleep(RELOAD_LIMIT_MS, late.signal).then(
      () => 'timeout',
      () => 'timeout', // the pass was done first: nobody reads this
    );
    const done = passed.then(async () => {
      this.#cities.reload();
      await this.#cities.settled();
      return 'ok';
    });
    const ended = new Promise<string>((resolve) => {
      this.#ending.signal.addEventListener('abort', () => resolve('busy'), {
        once: true,
        signal: late.signal,
      });
    });
    try {
      return await Promise.race([done, limit, ended]);
    } finally {
      late.abort();
    }
  }
}
