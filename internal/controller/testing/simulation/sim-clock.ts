import type { Clock } from '../../../platform/clock.ts';

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** Taken before anybody makes pauses instant. */
const nextTurn = setImmediate;

/** Everything that does not wait for a clock comes to its end. */
export const settled = (): Promise<void> => new Promise((resolve) => nextTurn(resolve));

/** Jumps from one timer to the next. */
export class SimClock implements Clock {
  #wall: number;
  #mono = 0;
  #sleepers: Sleeper[] = [];

  constructor(startMs: number) {
    this.#wall = startMs;
  }

  now(): number {
    return this.#wall;
  }

  monotonic(): number {
    return this.#mono;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const give = () => {
        this.#drop(sleeper);
        reject(signal?.reason);
      };
      const wake = () => {
        signal?.removeEventListener('abort', give);
        resolve();
      };
      // Whole milliseconds: sums of fractions would differ in their last digit.
      const sleeper = { at: this.#mono + Math.max(0, Math.ceil(ms)), wake };
      this.#insert(sleeper);
      signal?.addEventListener('abort', give, { once: true });
    });
  }

  /** So much time passes, with all the work that it brings. `until` ends it early. */
  async pass(ms: number, until: () => boolean = () => false): Promise<void> {
    const target = this.#mono + ms;
    await settled();
    while (!until()) {
      const next = this.#sleepers[0];
      if (!next || next.at > target) break;
      this.#sleepers.shift();
      this.#move(next.at - this.#mono);
      next.wake();
      await settled();
    }
    if (!until() && this.#mono < target) this.#move(target - this.#mono);
  }

  /** The wall clock is set, or the machine slept: the monotonic one stands still. */
  jumpWall(ms: number): void {
    this.#wall += ms;
  }

  #insert(sleeper: Sleeper): void {
    let place = this.#sleepers.length;
    while (place > 0 && (this.#sleepers[place - 1]?.at ?? 0) > sleeper.at) place -= 1;
    this.#sleepers.splice(place, 0, sleeper);
  }

  #drop(sleeper: Sleeper): void {
    const place = this.#sleepers.indexOf(sleeper);
    if (place >= 0) this.#sleepers.splice(place, 1);
  }

  #move(ms: number): void {
    const forward = Math.max(0, ms);
    this.#mono += forward;
    this.#wall += forward;
  }
}
