import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../../platform/clock.ts';

/** Longer than this, work that never waits for anything else lets timers and sockets have their turn. */
const TURN_MS = 8;
const TURN_CALLS = 200;

/** One turn of the event loop, as long as it takes. All that a store does is synchronous: without a pause nothing else would run. */
export class Turn {
  readonly #clock: Clock;
  #current: { readonly began: number; calls: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Asked before each piece of work; then whoever is told so pauses. */
  isOver(): boolean {
    const now = this.#clock.monotonic();
    if (!this.#current) {
      this.#current = { began: now, calls: 0 };
      void this.pause().then(() => {
        this.#current = undefined;
      });
    }
    this.#current.calls += 1;
    return now - this.#current.began > TURN_MS || this.#current.calls > TURN_CALLS;
  }

  pause(): Promise<void> {
    return setImmediate();
  }
}
