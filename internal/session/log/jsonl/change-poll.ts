import type { Clock } from '../../../platform/clock.ts';

/** How soon a follower hears of what another process appended. One look at each followed file. */
const LOOK_EVERY_MS = 200;

/** Looks again and again while it is wanted. */
export class ChangePoll {
  readonly #clock: Clock;
  readonly #look: () => void;
  #lifetime: AbortController | undefined;

  constructor(clock: Clock, look: () => void) {
    this.#clock = clock;
    this.#look = look;
  }

  start(): void {
    if (this.#lifetime) return;
    this.#lifetime = new AbortController();
    void this.#run(this.#lifetime.signal);
  }

  stop(): void {
    this.#lifetime?.abort();
    this.#lifetime = undefined;
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) {
        await this.#clock.sleep(LOOK_EVERY_MS, signal);
        this.#look();
      }
    } catch {
      // nobody follows any more
    }
  }
}
