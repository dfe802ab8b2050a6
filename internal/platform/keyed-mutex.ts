/** One holder at a time per key, in arrival order. Different keys never wait for each other. */
export class KeyedMutex {
  readonly #tails = new Map<string, Promise<void>>();

  /** Runs `work` when every earlier holder of `key` is done; rejects with the signal's reason when it aborts while waiting. */
  async run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const { promise: done, resolve: release } = deferred();
    const tail = before.then(() => done);
    this.#tails.set(key, tail);
    try {
      await abortable(before, signal);
      return await work();
    } finally {
      release();
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }
}

interface Deferred {
  promise: Promise<void>;
  resolve: () => void;
}

function deferred(): Deferred {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((r) => {
    resolve = r;
  });
  return { promise, resolve };
}

function abortable(promise: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const onAbort = () => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
