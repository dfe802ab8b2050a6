import type { Clock } from '../../platform/clock.ts';
import { GcError, messageOf } from '../../platform/errors.ts';
import type { Ids } from '../../platform/ids.ts';
import { isLockHeld } from '../../platform/lifetime-lock.ts';
import { RuntimeUnavailableError } from '../errors.ts';
import { Ledger } from '../host/ledger.ts';
import { RESULTS } from '../host/protocol.ts';
import { reapLedger, takeLoss } from '../host/reap.ts';
import { hostLockFile, hostSocketPath } from '../host/runtime-files.ts';
import { HostClient } from './host-client.ts';
import { type HostCommand, launchHost, type StartingHost } from './host-launcher.ts';
import { type HostAddress, HostLostError, NoHostError } from './host-link.ts';

/** A starting host ends what a dead one left before it listens. */
const START_TIMEOUT_MS = 30_000;
const START_POLL_MS = 30;
/** A host without sessions ends within this. */
const DISMISS_TIMEOUT_MS = 2_000;
/** A host that holds its lock but does not listen is starting or ending: it is asked again this often. */
const LOCKED_RETRIES = 10;
const LOCKED_PAUSE_MS = 50;

export type Presence =
  | { readonly kind: 'up'; readonly client: HostClient }
  /** Proven: nobody holds the host's lock, and what it left has been ended. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'unknown'; readonly reason: string; readonly refusal?: Error };

export interface PresenceOptions {
  readonly command: HostCommand;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Whoever decides about sessions is told of losses, once; others leave them to be told. */
  readonly decides: boolean;
  /** Sessions went with their host. */
  readonly onLoss: (names: readonly string[]) => void;
}

/** Whether the city's session host is there: one shared connection to it, and the proof of its death. */
export class HostPresence {
  readonly address: HostAddress;
  readonly #options: PresenceOptions;
  readonly #lockFile: string;
  #client: HostClient | undefined;
  #looking: Promise<Presence> | undefined;
  #starting: Promise<HostClient> | undefined;
  readonly #lifetime = new AbortController();

  constructor(options: PresenceOptions) {
    const { dir, city } = options.command;
    this.#options = options;
    this.#lockFile = hostLockFile(dir);
    this.address = { path: hostSocketPath(dir), city, clock: options.clock };
  }

  /** Never starts a host. */
  async look(): Promise<Presence> {
    if (this.#client?.isOpen) return { kind: 'up', client: this.#client };
    this.#looking ??= this.#lookAnew().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /**
   * The running host, started when there is none; one start serves all who wait for it.
   * @throws RuntimeUnavailableError; GcError `host-start-failed`; the signal's reason
   */
  async started(signal: AbortSignal): Promise<HostClient> {
    signal.throwIfAborted();
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    const starting = this.#starting;
    return new Promise((resolve, reject) => {
      const give = () => reject(signal.reason);
      signal.addEventListener('abort', give, { once: true });
      starting.then(resolve, reject).finally(() => signal.removeEventListener('abort', give));
    });
  }

  /** Asks a host without sessions to end now, and waits until it has. One that has sessions stays. */
  async dismiss(): Promise<void> {
    const found = await this.look();
    if (found.kind !== 'up') return;
    try {
      const answer = await found.client.request({ op: 'leave' }, DISMISS_TIMEOUT_MS);
      if (!RESULTS.leave(answer.result, 'leave').leaving) return;
    } catch (error) {
      if (!(error instanceof HostLostError)) throw error; // gone before it could answer: what was asked for
    }
    const { clock } = this.#options;
    const deadline = clock.monotonic() + DISMISS_TIMEOUT_MS;
    while (found.client.isOpen && clock.monotonic() < deadline) await clock.sleep(START_POLL_MS);
  }

  /** Sessions that went with a host while nobody here looked. */
  tellLosses(): void {
    if (!this.#options.decides) return;
    const names = takeLoss(this.#options.command.dir);
    if (names.length > 0) this.#options.onLoss(names);
  }

  close(): void {
    this.#lifetime.abort(new RuntimeUnavailableError('the connection to the session host was closed'));
    this.#client?.destroy();
  }

  async #start(): Promise<HostClient> {
    const { clock, ids, command } = this.#options;
    const deadline = clock.monotonic() + START_TIMEOUT_MS;
    let launched: StartingHost | undefined;
    for (;;) {
      this.#lifetime.signal.throwIfAborted();
      const found = await this.look();
      if (found.kind === 'up') return found.client;
      const failure = launched?.failure() ?? (found.kind === 'unknown' ? found.refusal : undefined);
      if (failure) throw failure;
      if (clock.monotonic() > deadline) {
        const why = found.kind === 'unknown' ? found.reason : 'it did not come up';
        throw new RuntimeUnavailableError(`the session host could not be started: ${why}`);
      }
      if (found.kind === 'gone' && (!launched || launched.gaveWay())) launched = launchHost(command);
      await clock.sleep(START_POLL_MS * (1 + ids.random()), this.#lifetime.signal);
    }
  }

  async #lookAnew(): Promise<Presence> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        this.#client = await HostClient.open(this.address);
        this.tellLosses();
        return { kind: 'up', client: this.#client };
      } catch (error) {
        // A host that dies at this moment may still take a connection, and lose it at once.
        const passing = error instanceof NoHostError || error instanceof HostLostError;
        if (!passing) return unknownFor(error);
        if (error instanceof NoHostError && !isLockHeld(this.#lockFile)) return this.#gone();
      }
      if (attempt === LOCKED_RETRIES) {
        return { kind: 'unknown', reason: 'the session host is starting or ending' };
      }
      await this.#options.clock.sleep(LOCKED_PAUSE_MS);
    }
  }

  async #gone(): Promise<Presence> {
    const { command, clock } = this.#options;
    if (!new Ledger(command.dir).isEmpty()) {
      const report = await reapLedger(command.dir, clock);
      if (!report) return { kind: 'unknown', reason: 'a session host is starting' };
      if (report.left.length > 0) {
        const pids = report.left.join(', ');
        return { kind: 'unknown', reason: `processes of a dead session host do not end: ${pids}` };
      }
    }
    this.tellLosses();
    return { kind: 'gone' };
  }
}

/** A host that refuses us will not change its mind; one that does not answer may. */
function unknownFor(error: unknown): Presence {
  const reason = messageOf(error);
  const refused = error instanceof GcError && !(error instanceof RuntimeUnavailableError);
  return refused ? { kind: 'unknown', reason, refusal: error } : { kind: 'unknown', reason };
}
