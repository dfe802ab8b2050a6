import { constants } from 'node:http2';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { ServiceError } from '../../session/service/sessions-host.ts';
import { Code, ConnectError, createContextKey, type HandlerContext } from './connect.ts';
import type { RpcRequest, RpcResponse } from './refusal.ts';
import { codeWord } from './refusal.ts';
import { REQUEST_ID_HEADER, withRequestId } from './request-id.ts';
import { toConnectError } from './status.ts';

/** After it was told to end, work has this long to say how it ended. */
const LAST_WORD_MS = 2_000;

export interface CallOptions {
  readonly request: RpcRequest;
  readonly response: RpcResponse;
  readonly requestId: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** One call that a listener has let in, from its first byte to the end of its connection or answer. */
export class Call {
  readonly requestId: string;
  readonly request: RpcRequest;
  readonly #response: RpcResponse;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #ending = new AbortController();
  readonly #started: number;
  #waitingForReader: number | undefined;
  #finished = false;

  constructor({ request, response, requestId, clock, log }: CallOptions) {
    this.request = request;
    this.requestId = requestId;
    this.#response = response;
    this.#clock = clock;
    this.#log = log;
    this.#started = clock.monotonic();
  }

  /** Milliseconds. */
  get age(): number {
    return this.#clock.monotonic() - this.#started;
  }

  /** How long the reader has not taken what is there for it. Milliseconds; 0 while nothing waits. */
  get stalled(): number {
    return this.#waitingForReader === undefined ? 0 : this.#clock.monotonic() - this.#waitingForReader;
  }

  /** Tells the work to end; its answer still goes out. */
  stop(reason: ServiceError): void {
    this.#ending.abort(reason);
  }

  /** Ends it at once. gRPC clients read the reset as RESOURCE_EXHAUSTED; over HTTP/1.1 the connection breaks. */
  cut(reason: ServiceError): void {
    this.stop(reason);
    const response = this.#response;
    if ('stream' in response) response.stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
    else response.destroy();
  }

  /** Carries out one call with one answer. */
  async answer<T>(
    context: HandlerContext,
    what: unknown,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const unlink = this.#begin(context);
    try {
      const reply = await this.#withLastWord(withRequestId(this.requestId, () => work(this.#ending.signal)));
      this.#finish(context, what);
      return reply;
    } catch (error) {
      throw this.#fail(context, what, error);
    } finally {
      unlink();
    }
  }

  /** Carries out one call whose answer is a stream. Nothing is fetched before the reader has taken what came before. */
  stream<T>(
    context: HandlerContext,
    what: unknown,
    open: (signal: AbortSignal) => AsyncIterable<T>,
  ): AsyncIterable<T> {
    return { [Symbol.asyncIterator]: () => this.#iterate(context, what, open) };
  }

  #iterate<T>(
    context: HandlerContext,
    what: unknown,
    open: (signal: AbortSignal) => AsyncIterable<T>,
  ): AsyncIterator<T> {
    const unlink = this.#begin(context);
    const { signal } = this.#ending;
    const scoped = <R>(work: () => R): R => withRequestId(this.requestId, work);
    const source = scoped(() => open(signal)[Symbol.asyncIterator]());
    const leave = () => {
      unlink();
      signal.removeEventListener('abort', abandon);
      void source.return?.().catch(() => undefined);
    };
    let abandoned = false;
    // The reader may be gone while nobody asks for the next item: then nothing else would end the work.
    const abandon = () => {
      abandoned = true;
      leave();
      if (this.#waitingForReader !== undefined) this.#finish(context, what, Code.Canceled);
    };
    signal.addEventListener('abort', abandon, { once: true });
    return {
      next: async () => {
        this.#waitingForReader = undefined;
        try {
          const result = await this.#withLastWord(scoped(() => source.next()));
          // It did not come to its end: whoever still reads must not take this for one.
          if (result.done && abandoned) throw signal.reason;
          if (result.done) {
            leave();
            this.#finish(context, what);
          } else this.#waitingForReader = this.#clock.monotonic();
          return result;
        } catch (error) {
          leave();
          throw this.#fail(context, what, error);
        }
      },
      return: async () => {
        leave();
        return { done: true, value: undefined };
      },
      // The answer could not be delivered.
      throw: async (reason: unknown) => {
        leave();
        throw reason;
      },
    };
  }

  #begin(context: HandlerContext): () => void {
    context.responseHeader.set(REQUEST_ID_HEADER, this.requestId);
    const gone = () => this.stop(reasonOf(context.signal));
    if (context.signal.aborted) gone();
    else context.signal.addEventListener('abort', gone, { once: true });
    return () => context.signal.removeEventListener('abort', gone);
  }

  /** Work that does not heed its signal must not hold the caller. */
  async #withLastWord<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.#ending;
    const settled = new AbortController();
    const late = new Promise<never>((_, reject) => {
      const wait = () => {
        this.#clock.sleep(LAST_WORD_MS, settled.signal).then(
          () => reject(signal.reason),
          () => undefined, // it ended by itself
        );
      };
      if (signal.aborted) wait();
      else signal.addEventListener('abort', wait, { once: true, signal: settled.signal });
    });
    try {
      return await Promise.race([work, late]);
    } finally {
      settled.abort();
    }
  }

  #finish(context: HandlerContext, what: unknown, code?: Code): void {
    if (this.#finished) return;
    this.#finished = true;
    this.#log.info('call', {
      operation: context.method.name,
      outcome: code === undefined ? 'ok' : 'error',
      duration_ms: Math.round(this.age),
      request_id: this.requestId,
      ...sessionOf(what),
      ...(code === undefined ? {} : { error_kind: codeWord(code) }),
    });
  }

  #fail(context: HandlerContext, what: unknown, error: unknown): ConnectError {
    const failure = toConnectError(error);
    if (!(error instanceof ServiceError)) {
      const stack = error instanceof Error ? error.stack : undefined;
      this.#log.error('unexpected error', { request_id: this.requestId, ...(stack ? { stack } : {}) });
    }
    this.#finish(context, what, failure.code);
    return failure;
  }
}

/** Where a handler finds its call. */
export const CALL = createContextKey<Call | undefined>(undefined);

export function callOf(context: HandlerContext): Call {
  const call = context.values.get(CALL);
  if (!call) throw new ConnectError('the call came past its listener', Code.Internal);
  return call;
}

/** Why a call's signal aborted: its deadline, else its caller is gone. */
function reasonOf(signal: AbortSignal): ServiceError {
  const reason: unknown = signal.reason;
  if (reason instanceof ServiceError) return reason;
  if (reason instanceof ConnectError && reason.code === Code.DeadlineExceeded) {
    return new ServiceError('DEADLINE_EXCEEDED', 'the deadline of the call has passed');
  }
  return new ServiceError('CANCELLED', 'the caller is gone', { cause: reason });
}

/** The session that a request names; nothing else of it is written down. */
function sessionOf(request: unknown): { readonly session_uid?: string } {
  if (typeof request !== 'object' || request === null) return {};
  const named = 'uid' in request ? request.uid : 'session' in request ? request.session : undefined;
  return typeof named === 'string' && named !== '' ? { session_uid: named } : {};
}
