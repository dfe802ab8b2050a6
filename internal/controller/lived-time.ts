import type { Clock } from '../platform/clock.ts';

/** How often the process proves to itself that it is running. */
export const HEARTBEAT_MS = 2_000;
/** A heartbeat that is later than this was not late, it was stopped (SIGSTOP, a sleeping machine, a frozen container). */
export const GAP_THRESHOLD_MS = 5_000;

/** Time that passed without us. */
export interface TimeGap {
  /** How long the process did not run although the monotonic clock went on, milliseconds. */
  readonly stoppedMs: number;
  /** By how much every stored wall-clock deadline must move, milliseconds; negative when the clock was set back. */
  readonly wallShiftMs: number;
}

/**
 * Time as far as this process lived through it. Every deadline in memory is measured in it, so an hour in which
 * everything was stopped costs nobody a deadline. Stored deadlines are wall-clock times: `onGap` says by how much to
 * move them.
 */
export class LivedTime {
  readonly #clock: Clock;
  readonly #onGap: (gap: TimeGap) => void;
  #lastMono: number;
  #lastWall: number;
  #stopped = 0;

  constructor(clock: Clock, onGap: (gap: TimeGap) => void) {
    this.#clock = clock;
    this.#onGap = onGap;
    this.#lastMono = clock.monotonic();
    this.#lastWall = clock.now();
  }

  /** Milliseconds lived; notices a gap before it answers. */
  lived(): number {
    const mono = this.#clock.monotonic();
    const wall = this.#clock.now();
    const monoDelta = mono - this.#lastMono;
    const stoppedMs = monoDelta > HEARTBEAT_MS + GAP_THRESHOLD_MS ? monoDelta - HEARTBEAT_MS : 0;
    const wallShiftMs = wall - this.#lastWall - (monoDelta - stoppedMs);
    this.#lastMono = mono;
    this.#lastWall = wall;
    this.#stopped += stoppedMs;
    if (stoppedMs > 0 || Math.abs(wallShiftMs) > GAP_THRESHOLD_MS) this.#onGap({ stoppedMs, wallShiftMs });
    return mono - this.#stopped;
  }

  /** Resolves when `target` is lived; rejects when the signal aborts. */
  async sleepUntil(target: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      const left = target - this.lived();
      if (left <= 0) return;
      // In pieces: one long sleep would look like a gap where nothing else looks at the time, as in a command.
      await this.#clock.sleep(Math.min(left, HEARTBEAT_MS), signal);
    }
  }

  /** Runs until the signal aborts. */
  async heartbeat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.lived();
      // An aborted sleep is how this loop ends.
      await this.#clock.sleep(HEARTBEAT_MS, signal).catch(() => undefined);
    }
  }
}
