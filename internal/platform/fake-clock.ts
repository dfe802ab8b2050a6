import type { Clock } from './clock.ts';

interface Sleeper {
  readonly at: number;
  readonly wake: () => void;
}

/** A clock that moves only when a test moves it. Wall and monotonic time advance together unless `jumpWall` is used. */
export class FakeClock implements Clock {
  #wall: number;
  #mono = 0;
  #sleepers: Sleeper[] = [];

  constructor(startMs = Date.UTC(2026, 0, 1)) {
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
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason);
      };
      const wake = () => {
        signal?.removeEventListener('abort', give);
        resolve();
      };
      const sleeper: Sleeper = { at: this.#mono + Math.max(0, ms), wake };
      this.#sleepers.push(sleeper);
      signal?.addEventListener('abort', give, { once: true });
    });
  }

  /** Moves both clocks forward, waking sleepers in the order of their deadlines. */
  async advance(ms: number): Promise<void> {
    const target = this.#mono + ms;
    for (;;) {
      await settle();
      const due = this.#sleepers.filter((s) => s.at <= target).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.#sleepers = this.#sleepers.filter((s) => s !== due);
      this.#move(due.at - this.#mono);
      due.wake();
    }
    this.#move(target - this.#mono);
    await settle();
  }

  /** The wall clock jumps (a suspended machine, an administrator); the monotonic one does not. */
  jumpWall(ms: number): void {
    this.#wall += ms;
  }

  /** How many sleeps are pending. */
  get pending(): number {
    return this.#sleepers.length;
  }

  #move(ms: number): void {
    this.#mono += ms;
    this.#wall += ms;
  }
}

/** Lets every promise that can settle now settle. */
async function settle(): Promise<void> {
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
}
