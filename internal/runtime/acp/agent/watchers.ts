import type { Clock } from '../../../platform/clock.ts';

/** Those who wait for something to become true; asked again at every change, never in between. */
export class Watchers {
  readonly #clock: Clock;
  readonly #waiting = new Set<{ readonly reached: () => boolean; readonly done: () => void }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves as soon as it is reached, at the latest after the time. */
  async until(reached: () => boolean, timeoutMs: number): Promise<void> {
    if (reached()) return;
    const over = new AbortController();
    let done: () => void = () => undefined;
    const changed = new Promise<void>((resolve) => {
      done = resolve;
    });
    const watcher = { reached, done };
    this.#waiting.add(watcher);
    try {
      await Promise.race([changed, this.#clock.sleep(timeoutMs, over.signal).catch(() => undefined)]);
    } finally {
      this.#waiting.delete(watcher);
      over.abort();
    }
  }

  changed(): void {
    for (const { reached, done } of [...this.#waiting]) if (reached()) done();
  }
}
