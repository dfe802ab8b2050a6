import type { AccountLimit } from '../session/account-limit.ts';
import type { SeenExit } from './model.ts';

export interface RoomWait {
  /** Lived milliseconds. */
  readonly since: number;
  /** As it was found last: `memory: 1.2 GB free of 16 GB, needs 2 GB`. */
  readonly why: string;
  /** An event said so. */
  readonly told: boolean;
}

/**
 * What a controller knows only as long as it lives. Losing it costs time, never correctness: everything that must
 * survive is in the records. Times are lived milliseconds, keys are session names.
 */
export class RuntimeMemory {
  /** The place of the last effect on a session in the order of looks and effects. */
  readonly effects = new Map<string, number>();
  readonly retryAt = new Map<string, number>();
  readonly idleSince = new Map<string, number>();
  /** When it was last asked whether it is idle. */
  readonly probedAt = new Map<string, number>();
  /** The beginning of the drain that it was told of, wall clock. */
  readonly drainTold = new Map<string, number>();
  readonly agentMissingSince = new Map<string, number>();
  /** When a start was last left with a question, wall clock. */
  readonly askedAt = new Map<string, number>();
  /** When its screen was last found asking a person something, wall clock. */
  readonly asksSince = new Map<string, number>();
  /** Who has a question open, or an answer on its way. */
  readonly asking = new Set<string>();
  /** Wanted, and held back for want of memory or processors. */
  readonly roomWaits = new Map<string, RoomWait>();
  readonly exits = new Map<string, SeenExit>();
  /** Usage limits of accounts, as they are kept in the city's state. By account. */
  readonly accountLimits = new Map<string, AccountLimit>();
  #order = 0;
  #lastEffect = 0;
  readonly #failures = new Map<string, number>();
  /** Why the last operation on the session came to nothing, until one succeeds. */
  readonly setbacks = new Map<string, string>();

  /** The next place in the order of looks and effects. */
  nextOrder(): number {
    this.#order += 1;
    return this.#order;
  }

  /** An operation on the session ended: what was looked up before is old. */
  touched(name: string): void {
    this.#lastEffect = this.nextOrder();
    this.effects.set(name, this.#lastEffect);
  }

  /** The place of the last effect on any session. */
  get lastEffect(): number {
    return this.#lastEffect;
  }

  /** A new life begins: what was seen of the last one is over. */
  begun(name: string): void {
    this.exits.delete(name);
    this.idleSince.delete(name);
    this.probedAt.delete(name);
    this.drainTold.delete(name);
    this.agentMissingSince.delete(name);
    this.askedAt.delete(name);
    this.asksSince.delete(name);
    this.roomWaits.delete(name);
  }

  /** An operation on the session came to nothing: the next one waits 1, 2, 4 ... 60 s. `why`: `''` when it was called off. */
  failed(name: string, now: number, why: string): void {
    if (why !== '') this.setbacks.set(name, why);
    const failures = (this.#failures.get(name) ?? 0) + 1;
    this.#failures.set(name, failures);
    this.retryAt.set(name, now + Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures - 1, 10)));
  }

  succeeded(name: string): void {
    this.#failures.delete(name);
    this.retryAt.delete(name);
    this.setbacks.delete(name);
  }

  /** The wall clock was set: set back, nothing that is shown from now on would seem to be younger than what was asked. */
  clockShifted(ms: number): void {
    if (ms >= 0) return;
    for (const map of [this.askedAt, this.asksSince]) for (const [name, at] of map) map.set(name, at + ms);
  }

  /** Keeps only what is said about these sessions. */
  prune(names: ReadonlySet<string>): void {
    for (const map of [
      this.askedAt,
      this.asksSince,
      this.roomWaits,
      this.effects,
      this.retryAt,
      this.idleSince,
      this.probedAt,
      this.drainTold,
      this.agentMissingSince,
      this.exits,
      this.#failures,
      this.setbacks,
    ]) {
      for (const name of map.keys()) if (!names.has(name)) map.delete(name);
    }
  }
}

const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;
