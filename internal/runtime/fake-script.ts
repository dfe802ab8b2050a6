import type { ExitInfo } from './provider.ts';

/** How one start of a fake session goes. */
export interface FakeStartScript {
  /** Until the start has its result, milliseconds. */
  readonly delayMs?: number;
  readonly outcome?: FakeStartOutcome;
  /** The session ends by itself so long after it became ready. */
  readonly livesMs?: number;
  /** How it ends then. Default: exit 0. */
  readonly exit?: ExitInfo;
  readonly lastLines?: string;
}

export type FakeStartOutcome =
  | { readonly kind: 'ready' }
  | { readonly kind: 'dies'; readonly exit: ExitInfo; readonly lastLines?: string }
  | { readonly kind: 'waits-for-person'; readonly question: string }
  | { readonly kind: 'fails'; readonly error: Error };

/** The scripts of one name: each start takes the next, the last one stays. */
export class FakeScripts {
  readonly #byName = new Map<string, FakeStartScript[]>();
  fallback: FakeStartScript = {};

  set(name: string, ...scripts: readonly FakeStartScript[]): void {
    this.#byName.set(name, [...scripts]);
  }

  next(name: string): FakeStartScript {
    const scripts = this.#byName.get(name);
    if (!scripts || scripts.length === 0) return this.fallback;
    return (scripts.length > 1 ? scripts.shift() : scripts[0]) ?? this.fallback;
  }
}

/** Waits until a test opens the gate. */
export async function untilOpen(
  gate: Promise<void> | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!gate) return;
  signal?.throwIfAborted();
  let onAbort: () => void = () => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
  try {
    await Promise.race([gate, aborted]);
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}
