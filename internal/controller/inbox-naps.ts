import type { Clock } from '../platform/clock.ts';

/** An agent that showed something and then nothing for so long may have come to rest. Source: Gas City. */
const QUIET_MS = 3_000;

interface Nap {
  readonly abort: AbortController;
  /** When its agent last showed something, monotonic. */
  heardAt: number | undefined;
}

/** Pauses between tries, one per session: they end at their time, when the agent falls silent, or when somebody asks. */
export class InboxNaps {
  readonly #clock: Clock;
  readonly #naps = new Map<string, Nap>();
  readonly #beginning = new Map<string, () => void>();
  #over = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when the next pause of this one begins. */
  begun(name: string): Promise<void> {
    return new Promise((resolve) => this.#beginning.set(name, resolve));
  }

  wake(name: string): void {
    this.#naps.get(name)?.abort.abort();
  }

  wakeAll(): void {
    for (const name of [...this.#naps.keys()]) this.wake(name);
  }

  heard(name: string): void {
    const nap = this.#naps.get(name);
    if (!nap) return;
    const isFirst = nap.heardAt === undefined;
    nap.heardAt = this.#clock.monotonic();
    // Later ones are found when the quiet time of this one is over.
    if (isFirst) nap.abort.abort();
  }

  end(): void {
    this.#over = true;
    for (const nap of this.#naps.values()) nap.abort.abort();
  }

  /** @param until wall clock, milliseconds since the epoch */
  async until(name: string, until: number): Promise<'over' | 'quiet' | 'woken'> {
    let heardAt: number | undefined;
    for (;;) {
      if (this.#over) return 'woken';
      const left = until - this.#clock.now();
      if (left <= 0) return 'over';
      const quietIn = heardAt === undefined ? undefined : heardAt + QUIET_MS - this.#clock.monotonic();
      if (quietIn !== undefined && quietIn <= 0) return 'quiet';
      const nap: Nap = { abort: new AbortController(), heardAt };
      this.#naps.set(name, nap);
      this.#beginning.get(name)?.();
      this.#beginning.delete(name);
      const slept = await this.#clock.sleep(Math.min(left, quietIn ?? left), nap.abort.signal).then(
        () => true,
        () => false,
      );
      this.#naps.delete(name);
      if (!slept && nap.heardAt === heardAt) return 'woken';
      heardAt = nap.heardAt;
    }
  }
}
