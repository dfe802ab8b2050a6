import { join } from 'node:path';
import type { CityApi, ReloadReply, StopReply } from '../controller/city-api.ts';
import { lockCity } from '../controller/city-lock.ts';
import { serveControl } from '../controller/control-socket.ts';
import { socketPlace } from '../controller/control-socket-client.ts';
import type { RunningCity } from '../controller/supervisor-cities.ts';
import { ensurePrivateDir } from '../platform/atomic-file.ts';
import type { Clock } from '../platform/clock.ts';
import { GcError, messageOf } from '../platform/errors.ts';
import type { Ids } from '../platform/ids.ts';
import type { LifetimeLock } from '../platform/lifetime-lock.ts';
import type { Log } from '../platform/log.ts';
import type { Environment } from '../platform/paths.ts';
import { type CityDoor, type CitySessionsPlan, openCityDoor } from './grpc/city-door.ts';
import { type CityServer, serveCity } from './http/city-server.ts';

/** What is asked of a city's runtime here. */
export interface HostableRuntime {
  readonly ended: AbortSignal;
  start(): Promise<void>;
  poke(): void;
  reload(): Promise<ReloadReply>;
  stop(progress?: (line: string) => void): Promise<StopReply>;
  detach(): Promise<void>;
}

/** A city that was opened but does nothing yet. */
export interface OpenedCity {
  readonly runtime: HostableRuntime;
  readonly api: CityApi;
  /** How its sessions are served; absent: not at all. */
  readonly sessions?: CitySessionsPlan;
  /** After the runtime has ended. */
  close(): void | Promise<void>;
}

export interface HostedCityOptions {
  /** Absolute path of the city's folder, symlinks resolved. */
  readonly root: string;
  readonly mode: 'standalone' | 'supervisor';
  readonly env: Environment;
  readonly pid: number;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** One line for whoever watches. */
  readonly print: (line: string) => void;
  /** Opens the city; its lock is held already. */
  readonly open: () => Promise<OpenedCity>;
  readonly phase?: (name: string) => void;
  /** The city is not wanted any more: what has begun is undone. */
  readonly signal?: AbortSignal;
}

export interface HostedCity extends RunningCity {
  readonly api: CityApi;
  /** What the last `stop`, from wherever, came to; `undefined` when the city was let go. */
  readonly outcome: () => StopReply | undefined;
}

/**
 * Runs one city in this process: its lock first, then its stores and provider, its two sockets, and its runtime. The
 * sockets answer before the first pass, so that whoever waits can see what is going on. When the runtime ends, for
 * whatever reason, everything is taken down in the opposite order and the lock goes last.
 * @throws GcError `controller-running`, `city-unwritable`; what opening the city threw
 */
export async function hostCity(options: HostedCityOptions): Promise<HostedCity> {
  const gcDir = join(options.root, '.gc');
  makeGcDir(gcDir);
  options.phase?.('loading_config');
  const lock = lockCity(gcDir, { pid: options.pid, mode: options.mode });
  const hosting = new Hosting(options, lock);
  try {
    await hosting.begin();
    return hosting;
  } catch (error) {
    await hosting.takeDown();
    throw error;
  }
}

function makeGcDir(gcDir: string): void {
  try {
    ensurePrivateDir(gcDir);
  } catch (error) {
    throw new GcError('city-unwritable', `cannot use ${gcDir}: ${messageOf(error)}`, {
      cause: error,
      next: 'check who owns that folder and its permissions',
    });
  }
}

class Hosting implements HostedCity {
  readonly ended: Promise<void>;
  readonly #options: HostedCityOptions;
  readonly #lock: LifetimeLock;
  readonly #serving = new AbortController();
  #city: OpenedCity | undefined;
  #server: CityServer | undefined;
  #door: CityDoor | undefined;
  #outcome: StopReply | undefined;
  #takenDown: Promise<void> | undefined;
  #resolveEnded: () => void = () => undefined;

  constructor(options: HostedCityOptions, lock: LifetimeLock) {
    this.#options = options;
    this.#lock = lock;
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  get api(): CityApi {
    return this.#opened().api;
  }

  outcome(): StopReply | undefined {
    return this.#outcome;
  }

  async begin(): Promise<void> {
    const { open, signal, phase } = this.#options;
    const city = await open();
    this.#city = city;
    signal?.throwIfAborted();
    await this.#serve(city);
    phase?.('adopting_sessions');
    await unlessAborted(city.runtime.start(), signal);
    phase?.('starting_agents');
    const { ended } = city.runtime;
    const end = () => void this.takeDown();
    if (ended.aborted) end();
    else ended.addEventListener('abort', end, { once: true });
  }

  reload(): void {
    this.#opened().runtime.reload().catch(this.#note('reload'));
  }

  async stop(): Promise<void> {
    this.#outcome = await this.#opened().runtime.stop((line) => this.#options.print(line));
    await this.ended;
  }

  async detach(): Promise<void> {
    await this.#opened().runtime.detach();
    await this.ended;
  }

  /** Once, whoever asks. Nothing here may keep the lock from being freed. */
  takeDown(): Promise<void> {
    this.#takenDown ??= this.#takeDown();
    return this.#takenDown;
  }

  async #takeDown(): Promise<void> {
    const steps: readonly (readonly [string, () => unknown])[] = [
      ['runtime', () => this.#city?.runtime.detach()],
      ['sessions', () => this.#door?.close()],
      ['api', () => this.#server?.close()],
      ['control socket', () => this.#serving.abort()],
      ['stores', () => this.#city?.close()],
      ['lock', () => this.#lock.release()],
    ];
    for (const [what, step] of steps) {
      try {
        await step();
      } catch (error) {
        this.#note(what)(error);
      }
    }
    this.#resolveEnded();
  }

  async #serve(city: OpenedCity): Promise<void> {
    const { root, env, pid, ids, clock, log } = this.#options;
    const { runtime } = city;
    await serveControl({
      cityDir: root,
      env,
      pid,
      ids,
      lock: this.#lock,
      signal: this.#serving.signal,
      handlers: {
        stop: () => {
          runtime
            .stop((line) => this.#options.print(line))
            .then((reply) => {
              this.#outcome = reply;
            }, this.#note('stop'));
        },
        poke: () => runtime.poke(),
        reload: () => this.reload(),
      },
    });
    const { path: socketPath, alias } = socketPlace(root, 'api.sock', env);
    const socketAlias = alias === undefined ? {} : { socketAlias: alias };
    this.#server = await serveCity({ api: city.api, socketPath, ...socketAlias, clock, ids, log });
    if (!city.sessions) return;
    const { print } = this.#options;
    this.#door = await openCityDoor({ root, env, plan: city.sessions, clock, ids, log, print });
  }

  #note(what: string): (error: unknown) => void {
    return (error) => this.#options.log.error(`${what} failed`, { error: messageOf(error) });
  }

  #opened(): OpenedCity {
    if (!this.#city) throw new GcError('internal', 'the city is not open');
    return this.#city;
  }
}

/** A runtime that hangs in its start must not keep a process that is told to end. */
async function unlessAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return work;
  const done = new AbortController();
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true, signal: done.signal });
  });
  try {
    await Promise.race([work, aborted]);
    signal.throwIfAborted();
  } finally {
    done.abort();
  }
}
