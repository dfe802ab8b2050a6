import { type Clock, rfc3339 } from '../platform/clock.ts';
import { GcError, messageOf, unreachable } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { RegisteredCity } from './registry.ts';
import type { CityReport } from './supervisor-client.ts';
import {
  type CitySlot,
  failuresAfter,
  initBackoffMs,
  planSupervisorPass,
  type SupervisorStep,
} from './supervisor-plan.ts';

/** A city that was opened and runs, with its own lock, sockets and runtime. */
export interface RunningCity {
  /** Settles when the city has ended, by `stop`, `detach` or by itself; rejects when it broke down. */
  readonly ended: Promise<void>;
  /** Reads its files again and looks at everything now; returns at once. */
  reload(): void;
  /** Ends its sessions, then itself. */
  stop(): Promise<void>;
  /** Ends itself and leaves the sessions running, to be adopted by the next controller. */
  detach(): Promise<void>;
}

export type StartCity = (
  city: RegisteredCity,
  start: { readonly phase: (name: string) => void; readonly signal: AbortSignal },
) => Promise<RunningCity>;

export interface CitiesOptions {
  readonly startCity: StartCity;
  readonly clock: Clock;
  readonly log: Log;
  readonly print: (line: string) => void;
  /** Changes whenever the city's file does. */
  readonly fileStamp: (path: string) => string;
  /** A city that was told to end has ended: a new pass is due. */
  readonly changed: () => void;
  /** A city ended though nobody told it to here. */
  readonly endedByItself: (path: string) => void;
}

/** A city that ends later than this after it was told to is given up on. */
const CITY_END_TIMEOUT_MS = 300_000;
const START_PHASES: readonly string[] = [
  'loading_config',
  'starting_bead_store',
  'resolving_formulas',
  'adopting_sessions',
  'starting_agents',
];

interface Live {
  readonly abortStart: AbortController;
  phase: string;
  city?: RunningCity;
  /** Unregistered while it was starting: it is stopped as soon as it is up. */
  unwanted?: 'stop' | 'detach';
}

/** The cities of one supervisor. Each lives on its own: what one does or fails at touches no other. */
export class SupervisedCities {
  readonly #options: CitiesOptions;
  readonly #slots = new Map<string, CitySlot>();
  readonly #live = new Map<string, Live>();
  readonly #work = new Set<Promise<void>>();

  constructor(options: CitiesOptions) {
    this.#options = options;
  }

  /** Starts and stops what the registry asks for. Returns at once; `settled` waits. */
  pass(registered: readonly RegisteredCity[]): void {
    const steps = planSupervisorPass({
      registered,
      slots: this.#slots,
      now: this.#options.clock.monotonic(),
      fileStamp: this.#options.fileStamp,
    });
    for (const step of steps) this.#apply(step);
  }

  /** Waits for the starts and stops that are under way now. */
  async settled(): Promise<void> {
    await Promise.all(this.#work);
  }

  reload(): void {
    for (const { city } of this.#live.values()) city?.reload();
  }

  reports(): readonly CityReport[] {
    const { clock } = this.#options;
    return [...this.#slots]
      .map(([path, slot]) => reportOf(path, slot, this.#live.get(path)?.phase ?? '', clock))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Ends every city at the same time, with or without its sessions. Answers the names of those that did not end in time. */
  async end(how: 'stop' | 'detach'): Promise<readonly string[]> {
    for (const [path, slot] of this.#slots) {
      if (slot.kind === 'running' || slot.kind === 'starting') this.#end(path, how);
      else if (slot.kind === 'failed') this.#slots.delete(path);
    }
    const giveUp = new AbortController();
    const limit = this.#options.clock.sleep(CITY_END_TIMEOUT_MS, giveUp.signal).catch(() => undefined); // all ended in time
    await Promise.race([this.settled(), limit]);
    giveUp.abort();
    return [...this.#slots.values()].map((slot) => slot.name);
  }

  #apply(step: SupervisorStep): void {
    switch (step.kind) {
      case 'forget':
        this.#slots.delete(step.path);
        return;
      case 'stop':
        this.#end(step.path, 'stop');
        return;
      case 'start':
        this.#start(step.city, step.failures);
        return;
      default:
        unreachable(step);
    }
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#work.delete(tracked));
    this.#work.add(tracked);
  }

  #start(city: RegisteredCity, failures: number): void {
    const live: Live = { abortStart: new AbortController(), phase: 'loading_config' };
    this.#slots.set(city.path, { kind: 'starting', name: city.name, failures });
    this.#live.set(city.path, live);
    this.#options.print(`Launching city '${city.name}' (${city.path})`);
    this.#track(this.#startAndWatch(city, live, failures));
  }

  async #startAndWatch(city: RegisteredCity, live: Live, failures: number): Promise<void> {
    const { startCity, clock } = this.#options;
    const phase = (name: string) => {
      live.phase = name;
    };
    // What the file was when it failed, not what an edit made of it meanwhile.
    const stamp = this.#options.fileStamp(city.path);
    try {
      const running = await startCity(city, { phase, signal: live.abortStart.signal });
      live.city = running;
      if (!live.unwanted) {
        this.#slots.set(city.path, { kind: 'running', name: city.name, failures, since: clock.monotonic() });
      }
      void running.ended.then(
        () => this.#endedByItself(city, live, undefined),
        (error: unknown) => this.#endedByItself(city, live, error),
      );
    } catch (error) {
      if (live.unwanted) this.#forget(city.path, live);
      else this.#failed(city, live, error, stamp);
      return;
    }
    if (live.unwanted) await this.#finish(city.path, live, live.unwanted);
  }

  #endedByItself(city: RegisteredCity, live: Live, error: unknown): void {
    if (this.#live.get(city.path) !== live || live.unwanted) return;
    if (error === undefined) {
      this.#remove(city.path, live);
      this.#options.log.info('city ended by itself', { city: city.name });
      this.#options.endedByItself(city.path);
    } else {
      this.#failed(city, live, error, undefined);
    }
  }

  #failed(city: RegisteredCity, live: Live, error: unknown, fileStamp: string | undefined): void {
    if (this.#live.get(city.path) === live) this.#live.delete(city.path);
    const { clock, log } = this.#options;
    const failures = failuresAfter(this.#slots.get(city.path), clock.monotonic());
    const waitMs = initBackoffMs(failures);
    this.#slots.set(city.path, {
      kind: 'failed',
      name: city.name,
      error: messageOf(error),
      ...(error instanceof GcError && error.next !== undefined ? { next: error.next } : {}),
      failures,
      retryAt: clock.monotonic() + waitMs,
      fileStamp,
    });
    log.error('city failed', { city: city.name, error: messageOf(error), failures, retry_in_ms: waitMs });
    this.#options.print(`City '${city.name}' failed: ${messageOf(error)} (next try in ${waitMs / 1_000}s)`);
  }

  #end(path: string, how: 'stop' | 'detach'): void {
    const slot = this.#slots.get(path);
    const live = this.#live.get(path);
    if (!slot || !live || live.unwanted) return;
    live.unwanted = how;
    // To stop it, it must come up first: only then are the sessions of an earlier controller known.
    if (how === 'detach')
      live.abortStart.abort(new GcError('city-start-aborted', 'the supervisor is ending'));
    this.#slots.set(path, { kind: 'stopping', name: slot.name });
    if (live.city) this.#track(this.#finish(path, live, how));
  }

  async #finish(path: string, live: Live, how: 'stop' | 'detach'): Promise<void> {
    const { log, print } = this.#options;
    if (how === 'stop') print(`Stopping city '${path}'...`);
    try {
      await (how === 'stop' ? live.city?.stop() : live.city?.detach());
      print(how === 'stop' ? `City '${path}' stopped.` : `City '${path}' left running.`);
    } catch (error) {
      log.error('city did not end cleanly', { city: path, error: messageOf(error) });
      print(`City '${path}' did not end cleanly: ${messageOf(error)}`);
    }
    this.#forget(path, live);
  }

  #forget(path: string, live: Live): void {
    if (this.#remove(path, live)) this.#options.changed();
  }

  #remove(path: string, live: Live): boolean {
    if (this.#live.get(path) !== live) return false;
    this.#live.delete(path);
    this.#slots.delete(path);
    return true;
  }
}

function reportOf(path: string, slot: CitySlot, phase: string, clock: Clock): CityReport {
  const base = { name: slot.name, path };
  switch (slot.kind) {
    case 'running':
      return { ...base, running: true };
    case 'starting':
      return { ...base, running: false, status: phase, ...completedBefore(phase) };
    case 'stopping':
      return { ...base, running: false, status: 'stopping' };
    case 'failed': {
      const nextTry = clock.now() + Math.max(0, slot.retryAt - clock.monotonic());
      return {
        ...base,
        running: false,
        status: 'init_failed',
        error: slot.error,
        ...(slot.next === undefined ? {} : { next: slot.next }),
        next_try_at: rfc3339(nextTry),
      };
    }
    default:
      return unreachable(slot);
  }
}

function completedBefore(phase: string): { phases_completed?: readonly string[] } {
  const at = START_PHASES.indexOf(phase);
  return at < 0 ? {} : { phases_completed: START_PHASES.slice(0, at) };
}
