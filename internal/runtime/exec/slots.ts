/** Lets at most `limit` pieces of work run at once; the others wait in order. */
export class Slots {
  readonly #limit: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Rejects with the signal's reason when it aborts while the work waits. */
  async run<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    await this.#take(signal);
    try {
      return await work();
    } finally {
      this.#give();
    }
  }

  #take(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#taken < this.#limit) {
      this.#taken += 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(signal?.reason);
      };
      const enter = () => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      this.#waiting.push(enter);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  /** The slot goes to the next in line as it is: never free in between. */
  #give(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#taken -= 1;
  }
}
