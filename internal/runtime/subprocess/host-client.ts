import { GcError, unreachable } from '../../platform/errors.ts';
import { RuntimeUnavailableError, SessionExistsError, SessionNotFoundError } from '../errors.ts';
import type { HostEvent, HostMessage, HostRequest } from '../host/protocol.ts';
import { type HostAddress, HostLink, HostLostError } from './host-link.ts';

interface Waiting {
  readonly name: string;
  readonly parts: string[];
  readonly resolve: (answer: HostAnswer) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

export interface HostAnswer {
  readonly result: unknown;
  /** Text that came before the answer, in parts. */
  readonly parts: string;
}

/** Requests and events over one connection. */
export class HostClient {
  readonly #waiting = new Map<number, Waiting>();
  readonly #onEvent: (event: HostEvent) => void;
  readonly closed: Promise<void>;
  #resolveClosed: () => void = () => undefined;
  #link: HostLink | undefined;
  #lastId = 0;
  #isOpen = true;

  private constructor(onEvent: (event: HostEvent) => void) {
    this.#onEvent = onEvent;
    this.closed = new Promise((resolve) => {
      this.#resolveClosed = resolve;
    });
  }

  static async open(
    address: HostAddress,
    onEvent: (event: HostEvent) => void = () => undefined,
  ): Promise<HostClient> {
    const client = new HostClient(onEvent);
    client.#link = await HostLink.open(address, {
      onMessage: (message) => client.#take(message),
      onClose: (reason) => client.#close(reason),
    });
    return client;
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  get pid(): number {
    return this.#link?.pid ?? 0;
  }

  /**
   * A request that is not answered in time ends the connection: the host is stuck, and must not act on it later.
   * @throws SessionExistsError, SessionNotFoundError, RuntimeUnavailableError, or the host's own error
   */
  request(request: HostRequest, timeoutMs: number): Promise<HostAnswer> {
    const link = this.#link;
    if (!this.#isOpen || !link)
      return Promise.reject(new HostLostError('the session host closed the connection'));
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        const seconds = (timeoutMs / 1_000).toFixed(1);
        reject(
          new RuntimeUnavailableError(`the session host did not answer "${request.op}" within ${seconds} s`),
        );
        this.destroy();
      }, timeoutMs);
      const name = 'name' in request ? request.name : '';
      this.#waiting.set(id, { name, parts: [], resolve, reject, timer });
      link.send({ t: 'request', id, request });
    });
  }

  destroy(): void {
    this.#link?.socket.destroy();
  }

  #take(message: HostMessage): void {
    switch (message.t) {
      case 'event':
        this.#onEvent(message.event);
        return;
      case 'part':
        this.#waiting.get(message.id)?.parts.push(message.text);
        return;
      case 'reply': {
        const waiting = this.#settle(message.id);
        waiting?.resolve({ result: message.result, parts: waiting.parts.join('') });
        return;
      }
      case 'failed': {
        const waiting = this.#settle(message.id);
        waiting?.reject(failure(message, waiting.name));
        return;
      }
      case 'welcome':
      case 'refused':
      case 'output':
      case 'ended':
        return; // they belong to other moments or other connections
      default:
        unreachable(message);
    }
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    clearTimeout(waiting?.timer);
    return waiting;
  }

  #close(reason: Error): void {
    this.#isOpen = false;
    for (const id of [...this.#waiting.keys()]) this.#settle(id)?.reject(reason);
    this.#resolveClosed();
  }
}

function failure(message: Extract<HostMessage, { t: 'failed' }>, name: string): Error {
  if (message.code === 'session-exists') return new SessionExistsError(name);
  if (message.code === 'session-not-found') return new SessionNotFoundError(name);
  return new GcError(message.code, message.message, message.next === undefined ? {} : { next: message.next });
}
