import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type ClientSessionRequestOptions,
  connect as connectHttp2,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { connect, type Socket } from 'node:net';
import type { Clock } from '../../platform/clock.ts';
import { addressText, type NetworkAddress } from '../../platform/network-address.ts';
import { Code, ConnectError } from './connect.ts';
import { CONNECTION_MEMORY_MB } from './limits.ts';

const CONNECT_TIMEOUT_MS = 10_000;
/** While something is asked of it, a peer must answer a ping this often; who has not by the next time is gone. */
const PING_INTERVAL_MS = 20_000;
/** A connection that nobody used for this long is asked whether it still is one. */
const TRUSTED_FOR_MS = 10_000;
const PROBE_TIMEOUT_MS = 5_000;

/** Why a connection was given up: the peer is there, as far as can be told, and says nothing. */
export class PeerSilentError extends Error {}

/** @param what goes on after the peer's name */
function silent(what: string): ConnectError {
  return new ConnectError(what, Code.Unavailable, undefined, undefined, new PeerSilentError(what));
}

/**
 * One HTTP/2 connection to a peer: made when it is first needed and again when it was lost. It keeps a process alive only
 * while something is asked of the peer, and a failure of it is never more than the failure of what is asked.
 */
export class PeerConnection {
  /** The origin that calls go to; a socket has none of its own, gRPC calls it localhost. */
  readonly authority: string;
  readonly #address: NetworkAddress;
  readonly #clock: Clock;
  #session: Promise<ClientHttp2Session> | undefined;
  #streams = 0;
  #heardAt = 0;
  #lastStreamGone = new AbortController();

  constructor(address: NetworkAddress, clock: Clock) {
    this.#address = address;
    this.#clock = clock;
    this.authority = address.kind === 'tcp' ? `http://${addressText(address)}` : 'http://localhost';
  }

  /** @throws ConnectError UNAVAILABLE when the peer cannot be reached in time; the signal's reason */
  async ready(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const over = new AbortController();
    const gone = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true, signal: over.signal });
    });
    try {
      await Promise.race([this.#living(), gone]);
    } finally {
      over.abort();
    }
  }

  async request(
    method: string,
    path: string,
    headers: OutgoingHttpHeaders,
    options: Omit<ClientSessionRequestOptions, 'signal'>,
  ): Promise<ClientHttp2Stream> {
    const session = await this.#connected();
    const stream = session.request({ ...headers, ':method': method, ':path': path }, options);
    failWhenUnanswered(stream);
    this.#streams += 1;
    if (this.#streams === 1) {
      session.ref();
      this.#lastStreamGone = new AbortController();
      void this.#keepAlive(session, this.#lastStreamGone.signal);
    }
    stream.once('close', () => {
      this.#streams -= 1;
      if (this.#streams > 0) return;
      this.#lastStreamGone.abort();
      session.unref();
    });
    return stream;
  }

  notifyResponseByteRead(_stream: ClientHttp2Stream): void {
    this.#heardAt = this.#clock.monotonic();
  }

  close(): void {
    const session = this.#session;
    this.#session = undefined;
    session?.then(
      (open) => open.destroy(),
      () => undefined, // there was none
    );
  }

  async #living(): Promise<void> {
    const session = await this.#connected();
    if (this.#clock.monotonic() - this.#heardAt < TRUSTED_FOR_MS) return;
    if (await this.#answers(session)) return;
    session.destroy();
    await this.#connected();
  }

  async #connected(): Promise<ClientHttp2Session> {
    const known = this.#session;
    if (known) {
      const session = await known;
      if (!session.destroyed && !session.closed) return session;
      if (this.#session === known) this.#session = undefined;
    }
    this.#session ??= this.#connect();
    return this.#session;
  }

  #connect(): Promise<ClientHttp2Session> {
    const session: Promise<ClientHttp2Session> = this.#open(() => {
      if (this.#session === session) this.#session = undefined;
    });
    return session;
  }

  #open(forget: () => void): Promise<ClientHttp2Session> {
    const address = this.#address;
    const session = connectHttp2(this.authority, {
      maxSessionMemory: CONNECTION_MEMORY_MB,
      createConnection: (): Socket =>
        address.kind === 'unix' ? connect({ path: address.path }) : connect(address.port, address.host),
    });
    session.on('goaway', forget);
    session.on('close', forget);
    const settled = new AbortController();
    return new Promise<ClientHttp2Session>((resolve, reject) => {
      const fail = (cause: unknown) => {
        settled.abort();
        forget();
        if (cause instanceof ConnectError) return reject(cause);
        const what = cause instanceof Error ? cause.message : 'the connection was closed';
        reject(new ConnectError(what, Code.Unavailable, undefined, undefined, cause));
      };
      // Stays for as long as the connection does: what breaks later reaches the streams, and nobody else hears this.
      session.on('error', fail);
      session.once('close', () => fail(undefined));
      session.once('connect', () => {
        settled.abort();
        this.#heardAt = this.#clock.monotonic();
        session.unref();
        resolve(session);
      });
      this.#clock.sleep(CONNECT_TIMEOUT_MS, settled.signal).then(
        () => session.destroy(silent(`takes no connection within ${CONNECT_TIMEOUT_MS / 1000} s`)),
        () => undefined, // it was made, or refused
      );
    });
  }

  async #keepAlive(session: ClientHttp2Session, over: AbortSignal): Promise<void> {
    let last = this.#clock.monotonic();
    let answered = true;
    for (;;) {
      try {
        await this.#clock.sleep(PING_INTERVAL_MS, over);
      } catch {
        return; // nothing is asked any more
      }
      const now = this.#clock.monotonic();
      // After a stop of this process the answer lies unread in the socket: nobody is cut for that.
      const stopped = now - last > 2 * PING_INTERVAL_MS;
      last = now;
      if (session.destroyed) return;
      if (!answered && !stopped) {
        session.destroy(silent('does not answer any more'));
        return;
      }
      answered = false;
      session.ping(() => {
        answered = true;
      });
    }
  }

  async #answers(session: ClientHttp2Session): Promise<boolean> {
    if (session.destroyed || session.closed) return false;
    const answered = new AbortController();
    session.ping((error) => {
      if (error === null) answered.abort();
    });
    const silent = await this.#clock.sleep(PROBE_TIMEOUT_MS, answered.signal).then(
      () => true,
      () => false, // it answered
    );
    if (!silent) this.#heardAt = this.#clock.monotonic();
    return !silent;
  }
}

/** A peer may close a stream before it said anything, and call that no error: who asked must hear of it all the same. */
function failWhenUnanswered(stream: ClientHttp2Stream): void {
  let answered = false;
  stream.once('response', () => {
    answered = true;
  });
  stream.once('close', () => {
    if (!answered && stream.listenerCount('error') > 0) stream.emit('error', new Error(UNANSWERED));
  });
}

const UNANSWERED = 'the peer closed the call without an answer';
