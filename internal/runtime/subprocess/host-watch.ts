import { unreachable } from '../../platform/errors.ts';
import type { HostEvent } from '../host/protocol.ts';
import type { RuntimeEvent } from '../provider.ts';
import { HostClient } from './host-client.ts';
import type { HostPresence } from './host-presence.ts';

/** Without a host, one may have been started by another process: looked for this often. */
const RETRY_MS = 1_000;
const REQUEST_TIMEOUT_MS = 5_000;

export interface WatchOptions {
  readonly presence: HostPresence;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** Tells the host that an exit was taken notice of. */
  readonly acknowledges: boolean;
}

/** Follows one host after the other and hands on what happens, until the signal. */
export class HostWatch {
  readonly #options: WatchOptions;
  readonly #signal: AbortSignal;
  readonly #events: RuntimeEvent[] = [];
  #wake: () => void = () => undefined;
  #hostMayBeThere: () => void = () => undefined;
  #client: HostClient | undefined;

  constructor(options: WatchOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
    signal.addEventListener('abort', () => {
      this.#client?.destroy();
      this.#wake();
    });
  }

  /** Sessions went with their host, or a host was started: the watch need not wait. */
  lost(what: string): void {
    this.#push({ kind: 'infrastructure-gone', what });
  }

  hostStarted(): void {
    this.#hostMayBeThere();
  }

  async *events(): AsyncGenerator<RuntimeEvent> {
    const following = this.#follow();
    while (!this.#signal.aborted) {
      const event = this.#events.shift();
      if (!event) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      yield event;
      if (event.kind === 'exited') this.#acknowledge(event.name);
    }
    await following;
  }

  async #follow(): Promise<void> {
    while (!this.#signal.aborted) {
      const found = await this.#options.presence.look();
      if (this.#signal.aborted) return;
      if (found.kind === 'up') await this.#followHost();
      else await this.#pause();
    }
  }

  async #followHost(): Promise<void> {
    try {
      this.#client = await HostClient.open(this.#options.presence.address, (event) =>
        this.#push(toEvent(event)),
      );
      if (this.#signal.aborted) this.#client.destroy();
      await this.#client.request({ op: 'watch' }, REQUEST_TIMEOUT_MS);
      await this.#client.closed;
    } catch {
      // The host went or is stuck: looking again tells which. The pause keeps that from being a busy loop.
      await this.#pause();
    } finally {
      this.#client = undefined;
    }
  }

  #acknowledge(name: string): void {
    if (!this.#options.acknowledges) return;
    // A host that is gone has forgotten the exit by itself.
    this.#client?.request({ op: 'acknowledge', name }, REQUEST_TIMEOUT_MS).catch(() => undefined);
  }

  #push(event: RuntimeEvent): void {
    this.#events.push(event);
    this.#wake();
  }

  async #pause(): Promise<void> {
    const started = new Promise<void>((resolve) => {
      this.#hostMayBeThere = resolve;
    });
    const waiting = new AbortController();
    const stop = () => waiting.abort();
    this.#signal.addEventListener('abort', stop, { once: true });
    // Ended early by a start or by the watch's own end.
    const slept = this.#options.sleep(RETRY_MS, waiting.signal).catch(() => undefined);
    await Promise.race([started, slept]);
    stop();
    this.#signal.removeEventListener('abort', stop);
  }
}

function toEvent(event: HostEvent): RuntimeEvent {
  switch (event.kind) {
    case 'exited':
      return event;
    case 'activity':
    case 'attached':
    case 'detached':
    case 'changed':
      return { kind: event.kind, name: event.name };
    default:
      return unreachable(event);
  }
}
