import type { Clock } from '../platform/clock.ts';
import { canWatch, type Provider, type RuntimeEvent } from '../runtime/provider.ts';
import type { RuntimeMemory } from './runtime-memory.ts';

/** After the watch broke, before it is tried again. The patrol looks meanwhile. */
const REWATCH_MS = 1_000;

export interface ProviderEventHandlers {
  /** Something ended, or the runtime as a whole did: look now. */
  died(): void;
  infrastructureLost(what: string): void;
  /** A person came or left. */
  attachment(): void;
  activity(name: string): void;
  failed(error: unknown): void;
}

/**
 * Follows what the provider sees by itself. Nothing depends on an event arriving once, or at all: each only says that it
 * is time to look, and what a later look could no longer see. Resolves when the signal aborts.
 */
export async function followProvider(
  provider: Provider,
  memory: RuntimeMemory,
  clock: Clock,
  handlers: ProviderEventHandlers,
  signal: AbortSignal,
): Promise<void> {
  if (!canWatch(provider)) return;
  while (!signal.aborted) {
    try {
      for await (const event of provider.watch(signal)) take(event, memory, handlers);
    } catch (error) {
      if (!signal.aborted) handlers.failed(error);
    }
    // An aborted sleep is how this ends.
    await clock.sleep(REWATCH_MS, signal).catch(() => undefined);
  }
}

function take(event: RuntimeEvent, memory: RuntimeMemory, handlers: ProviderEventHandlers): void {
  switch (event.kind) {
    case 'exited':
      memory.exits.set(event.name, { exit: event.exit, lastLines: event.lastLines });
      handlers.died();
      return;
    case 'infrastructure-gone':
      handlers.infrastructureLost(event.what);
      return;
    case 'attached':
    case 'detached':
      handlers.attachment();
      return;
    case 'changed':
      handlers.attachment();
      // A turn may end without a further word.
      handlers.activity(event.name);
      return;
    case 'activity':
      handlers.activity(event.name);
  }
}
