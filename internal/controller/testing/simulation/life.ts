import type { Clock } from '../../../platform/clock.ts';
import type { SimClock } from './sim-clock.ts';

/** A new one each time: what waits for it can be forgotten. */
export const never = (): Promise<never> => new Promise(() => undefined);

/** One process of ours: it can be killed, or stopped for a while, between any two of its steps. */
export class Life {
  readonly name: string;
  readonly #clock: SimClock;
  dead = false;
  /** Monotonic; until then nothing of it goes on. */
  stoppedUntil = 0;

  constructor(name: string, clock: SimClock) {
    this.name = name;
    this.#clock = clock;
  }

  /** Resolves as soon as the process can go on: never, when it is dead. */
  async goesOn(): Promise<void> {
    for (;;) {
      if (this.dead) return never();
      const left = this.stoppedUntil - this.#clock.monotonic();
      if (left <= 0) return;
      await this.#clock.sleep(left);
    }
  }
}

/** The clock of one process. */
export class LifeClock implements Clock {
  readonly #clock: SimClock;
  readonly #life: Life;

  constructor(clock: SimClock, life: Life) {
    this.#clock = clock;
    this.#life = life;
  }

  now(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (this.#life.dead) return never();
    try {
      await this.#clock.sleep(ms, signal);
    } finally {
      await this.#life.goesOn();
    }
  }
}
