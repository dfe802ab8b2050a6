const NANOS_PER_MS = 1_000_000n;

/** Nanoseconds since the epoch of a wall clock that counts milliseconds. */
export function nanos(ms: number): bigint {
  return BigInt(Math.floor(ms)) * NANOS_PER_MS;
}

/** Wall clock nanoseconds that only grow and are never the same twice in this process. */
export class UniqueNanos {
  readonly #now: () => number;
  #last = 0n;

  /** @param now milliseconds since the epoch */
  constructor(now: () => number) {
    this.#now = now;
  }

  next(): bigint {
    const now = nanos(this.#now());
    this.#last = now > this.#last ? now : this.#last + 1n;
    return this.#last;
  }
}
