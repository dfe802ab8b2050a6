import type { RuntimeEvent } from './provider.ts';

/** Hands events to any number of watchers, each seeing those that come after it began. */
export class EventStream {
  readonly #watchers = new Set<(event: RuntimeEvent) => void>();

  emit(event: RuntimeEvent): void {
    for (const push of this.#watchers) push(event);
  }

  /** Subscribed at once, not at the first `next`. Ends when the signal aborts. */
  watch(signal: AbortSignal): AsyncIterable<RuntimeEvent> {
    const queue: RuntimeEvent[] = [];
    let wake: () => void = () => undefined;
    const push = (event: RuntimeEvent) => {
      queue.push(event);
      wake();
    };
    const end = () => {
      this.#watchers.delete(push);
      wake();
    };
    if (!signal.aborted) this.#watchers.add(push);
    signal.addEventListener('abort', end, { once: true });
    return drain(queue, signal, (resolve) => {
      wake = resolve;
    });
  }
}

async function* drain(
  queue: RuntimeEvent[],
  signal: AbortSignal,
  onWake: (resolve: () => void) => void,
): AsyncGenerator<RuntimeEvent> {
  for (;;) {
    const event = queue.shift();
    if (event) yield event;
    else if (signal.aborted) return;
    else await new Promise<void>(onWake);
  }
}
