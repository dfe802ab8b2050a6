import { rmSync } from 'node:fs';
import { ensurePrivateDir } from '../../platform/atomic-file.ts';
import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import type { Ids } from '../../platform/ids.ts';
import { acquireLifetimeLock } from '../../platform/lifetime-lock.ts';
import { type HostServer, serveHost } from './host-server.ts';
import { endRecorded, recordLoss } from './reap.ts';
import { hostLockFile, hostSocketPath, scrollbackDir } from './runtime-files.ts';
import { SessionHost } from './session-host.ts';

/** With no session and no client, the host ends after this long. */
export const HOST_LINGER_MS = 5_000;
/** Agents get this long after TERM when the host itself is told to end. */
const SHUTDOWN_GRACE_MS = 5_000;

export interface HostOptions {
  readonly dir: string;
  readonly city: string;
  readonly pid: number;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: (line: string) => void;
  /** Aborts when the host is told to end: its agents end first. */
  readonly signal: AbortSignal;
}

/**
 * Runs the session host of one city until it has nothing to do or is told to end. Answers `false` at once when another
 * host of this city lives. Leftovers of a dead one are ended before anything new can start.
 */
export async function runHost(options: HostOptions): Promise<boolean> {
  const { dir, clock, log, pid } = options;
  ensurePrivateDir(dir);
  const incarnation = options.ids.hex(8);
  const socket = hostSocketPath(dir);
  const lock = acquireLifetimeLock(hostLockFile(dir), { pid, role: 'host', incarnation, city: options.city });
  if (!lock) return false;
  try {
    const { names, left } = await endRecorded(dir, clock);
    if (names.length > 0) log(`ended what a dead host left: ${names.join(', ')}`);
    if (left.length > 0) log(`could not end: ${left.join(', ')}`);
    rmSync(scrollbackDir(dir), { recursive: true, force: true });
    let server: HostServer | undefined;
    const linger = new Linger(() => host.size === 0 && server?.connections === 0);
    const host: SessionHost = new SessionHost(dir, clock, {
      onEvent: (event) => server?.event(event),
      onEmpty: () => linger.check(),
      // Its answer is written first.
      onLeave: () => setImmediate(() => linger.end('the city stopped')),
    });
    const identity = { city: options.city, incarnation, pid };
    server = await serveHost({ path: socket, host, identity, log, onIdle: () => linger.check() });
    log(`serving ${options.city} as ${incarnation}`);
    linger.check();
    const why = await linger.ended(options.signal);
    server.close();
    log(`ending: ${why}`);
    if (host.size > 0) await endAll(host, options);
    return true;
  } finally {
    lock.release();
  }
}

async function endAll(host: SessionHost, options: HostOptions): Promise<void> {
  recordLoss(options.dir, host.names);
  const results = await Promise.allSettled(host.names.map((name) => host.kill(name, SHUTDOWN_GRACE_MS)));
  for (const result of results) {
    if (result.status === 'rejected') options.log(`could not end: ${messageOf(result.reason)}`);
  }
}

/** Notices that the host has been without work for long enough. Whatever ends work asks for a check: nothing polls. */
class Linger {
  readonly #isIdle: () => boolean;
  #timer: NodeJS.Timeout | undefined;
  #finish: (why: string) => void = () => undefined;
  readonly #finished = new Promise<string>((resolve) => {
    this.#finish = resolve;
  });

  constructor(isIdle: () => boolean) {
    this.#isIdle = isIdle;
  }

  check(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#isIdle()) this.#finish('nothing to do');
    }, HOST_LINGER_MS);
  }

  end(why: string): void {
    this.#finish(why);
  }

  async ended(signal: AbortSignal): Promise<string> {
    signal.addEventListener('abort', () => this.#finish('told to end'), { once: true });
    if (signal.aborted) this.#finish('told to end');
    const why = await this.#finished;
    clearTimeout(this.#timer);
    return why;
  }
}
