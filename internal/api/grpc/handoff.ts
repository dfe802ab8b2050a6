interface Waiting<T> {
  readonly value: T;
  readonly taken: () => void;
  readonly lost: (reason: unknown) => void;
}

/** Passes values from one writer to one reader, in order; the writer learns when the reader has come back for more. */
export class Handoff<T> implements AsyncIterable<T> {
  readonly #queue: Waiting<T>[] = [];
  #underway: Waiting<T> | undefined;
  #wake: () => void = () => undefined;
  #end: { readonly error?: unknown } | undefined;
  #left: { readonly reason: unknown } | undefined;

  /** Resolves when the reader has taken the value and is ready for the next; rejects when it has left. */
  put(value: T): Promise<void> {
    if (this.#left) return Promise.reject(this.#left.reason);
    return new Promise((taken, lost) => {
      this.#queue.push({ value, taken, lost });
      this.#wake();
    });
  }

  /** Nothing comes after what was put. */
  end(): void {
    this.#end ??= {};
    this.#wake();
  }

  /** After what was put, the reader gets this error. */
  fail(error: unknown): void {
    this.#end ??= { error };
    this.#wake();
  }

  /** The reader takes no more: whoever waits for it is told why. */
  leave(reason: unknown): void {
    if (this.#left) return;
    this.#left = { reason };
    this.#underway?.lost(reason);
    for (const each of this.#queue.splice(0)) each.lost(reason);
    this.#wake();
  }

  [Symbol.asyncIterator](): AsyncIterator<T> {
    return {
      next: async () => {
        this.#underway?.taken();
        this.#underway = undefined;
        for (;;) {
          const next = this.#queue.shift();
          if (next) {
            this.#underway = next;
            return { done: false, value: next.value };
          }
          if (this.#end) {
            if ('error' in this.#end) throw this.#end.error;
            return { done: true, value: undefined };
          }
          if (this.#left) return { done: true, value: undefined };
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      },
      return: async () => {
        this.leave(new Error('the reader has left'));
        return { done: true, value: undefined };
      },
      // What reads from here was broken off; the library insists on saying so this way.
      throw: async (reason: unknown) => {
        this.leave(reason);
        throw reason;
      },
    };
  }
}
