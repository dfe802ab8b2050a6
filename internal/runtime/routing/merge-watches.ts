import type { Clock } from '../../platform/clock.ts';
import { canWatch, type Provider, type RuntimeEvent } from '../provider.ts';

/** After one back end's watch broke, before it is tried again; the other one's goes on. */
const REWATCH_MS = 1_000;

/** What all of them see, as they see it. Ends when the signal aborts. */
export async function* watchAll(
  providers: readonly Provider[],
  clock: Clock,
  signal: AbortSignal,
): AsyncGenerator<RuntimeEvent> {
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  const queue: RuntimeEvent[] = [];
  let wake: () => void = () => undefined;
  const push = (event: RuntimeEvent) => {
    queue.push(event);
    wake();
  };
  until.addEventListener('abort', () => wake(), { once: true });
  const following = providers.map((provider) => follow(provider, clock, until, push));
  try {
    for (;;) {
      const event = queue.shift();
      if (event) yield event;
      else if (until.aborted) return;
      else
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
    }
  } finally {
    over.abort();
    await Promise.all(following);
  }
}

async function follow(
  provider: Provider,
  clock: Clock,
  signal: AbortSignal,
  push: (event: RuntimeEvent) => void,
): Promise<void> {
  if (!canWatch(provider)) return;
  while (!signal.aborted) {
    try {
      for await (const event of provider.watch(signal)) push(event);
    } catch {
      // The next survey tells what is wrong there; here it is only tried again.
    }
    // An aborted sleep is how this ends.
    await clock.sleep(REWATCH_MS, signal).catch(() => undefined);
  }
}
