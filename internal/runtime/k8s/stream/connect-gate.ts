import type { Clock } from '../../../platform/clock.ts';

/** Connections that are being made at once, of all streams of this process to one cluster. */
export const CONNECTS_AT_ONCE = 8;
/** While the cluster cannot be reached, one try at a time and this long between two: from the first to the last, doubling. */
export const AWAY_FIRST_MS = 500;
export const AWAY_LAST_MS = 15_000;

export interface Pass {
  /** The try is over; `reached` when the cluster answered, whatever it said. Later calls change nothing. */
  done(outcome: 'reached' | 'unreachable'): void;
}

interface Waiter {
  readonly go: () => void;
}

/**
 * Lets streams to one cluster connect a few at a time. When the cluster is away, a single one tries for all of them: the
 * number of requests then depends on how long it is away, not on how many streams wait.
 */
export class ConnectGate {
  readonly #clock: Clock;
  #waiting: Waiter[] = [];
  #inFlight = 0;
  #away: { readonly tries: number; readonly until: number } | undefined;
  /** Tells tries that began before the last change of mind, whose outcome is no news. */
  #era = 0;
  #napping = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Resolves when it may be tried. @throws the signal's reason */
  enter(signal: AbortSignal): Promise<Pass> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const give = () => {
        this.#waiting = this.#waiting.filter((other) => other !== waiter);
        reject(signal.reason);
      };
      const waiter = {
        go: () => {
          signal.removeEventListener('abort', give);
          resolve(this.#pass());
        },
      };
      signal.addEventListener('abort', give, { once: true });
      this.#waiting.push(waiter);
      this.#pump();
    });
  }

  #pass(): Pass {
    const era = this.#era;
    let open = true;
    return {
      done: (outcome) => {
        if (!open) return;
        open = false;
        this.#inFlight -= 1;
        if (era === this.#era) this.#learn(outcome);
        this.#pump();
      },
    };
  }

  #learn(outcome: 'reached' | 'unreachable'): void {
    if (outcome === 'reached') {
      if (this.#away) this.#era += 1;
      this.#away = undefined;
      return;
    }
    const tries = (this.#away?.tries ?? 0) + 1;
    const pause = Math.min(AWAY_LAST_MS, AWAY_FIRST_MS * 2 ** (tries - 1));
    this.#away = { tries, until: this.#clock.monotonic() + pause };
    this.#era += 1;
  }

  #pump(): void {
    const atOnce = this.#away ? 1 : CONNECTS_AT_ONCE;
    const pause = (this.#away?.until ?? 0) - this.#clock.monotonic();
    if (this.#away && pause > 0) {
      this.#pumpAfter(pause);
      return;
    }
    while (this.#inFlight < atOnce) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#inFlight += 1;
      next.go();
    }
  }

  #pumpAfter(pause: number): void {
    if (this.#napping || this.#waiting.length === 0) return;
    this.#napping = true;
    this.#clock.sleep(pause).then(() => {
      this.#napping = false;
      this.#pump();
    });
  }
}
