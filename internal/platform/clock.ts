/** Time as the product sees it. The monotonic clock measures waits, the wall clock only labels. */
export interface Clock {
  /** Wall clock, milliseconds since the epoch. */
  now(): number;
  /** Monotonic clock, milliseconds since an arbitrary start; it stands still while the machine sleeps. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Node takes no longer timer: it would fire at once. */
const LONGEST_TIMER_MS = 2_147_483_647;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      let timer: NodeJS.Timeout | undefined;
      const give = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const arm = (leftMs: number) => {
        const part = Math.min(Math.max(0, leftMs), LONGEST_TIMER_MS);
        timer = setTimeout(() => {
          if (leftMs > part) return arm(leftMs - part);
          signal?.removeEventListener('abort', give);
          resolve();
        }, part);
      };
      signal?.addEventListener('abort', give, { once: true });
      arm(ms);
    }),
};

/** An RFC 3339 UTC time without fraction, the form of every timestamp in a session record. */
export function rfc3339(epochMs: number): string {
  return new Date(epochMs).toISOString().replace(/\.\d{3}Z$/, 'Z');
}

/** Milliseconds since the epoch of an RFC 3339 time, `undefined` when empty or unreadable. */
export function parseRfc3339(text: string | undefined): number | undefined {
  if (!text) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
