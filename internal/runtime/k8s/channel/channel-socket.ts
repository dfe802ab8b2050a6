import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import type { Clock } from '../../../platform/clock.ts';
import { messageOf } from '../../../platform/errors.ts';
import type { ClusterAccess } from '../api/cluster-access.ts';
import { ChannelError, type PodContainer, refusal } from './channel-errors.ts';
import { PROTOCOL_5, PROTOCOLS, parseFrame, type ServerFrame } from './channel-frames.ts';

const CONNECT_TIMEOUT_MS = 15_000;
/** A sign of life is asked for this often, and a connection without any for longer than the second is given up: half-open ones are found within the sum. */
export const PING_INTERVAL_MS = 5_000;
export const SILENCE_LIMIT_MS = 20_000;
/** A message of a channel is at most 32 KiB by custom; what is far beyond is no such server. */
const MAX_MESSAGE_BYTES = 16_777_216;
const MAX_REFUSAL_BYTES = 16_384;
/** Input that waits for the network: above this no more is taken. */
export const HIGH_WATER_BYTES = 262_144;

export interface ChannelHandlers {
  onFrame(frame: ServerFrame): void;
  /** Called once, after the last frame. `why` is set unless the other side closed in good order. */
  onEnd(why: string | undefined): void;
}

/** One open channel connection. */
export interface ChannelSocket {
  /** The other side understands that our input is over. */
  readonly halfCloses: boolean;
  /** Bytes that were sent and are not on their way yet. */
  readonly waitingBytes: number;
  /** Resolves when the bytes are on their way; never rejects: a connection that ends tells so itself. */
  send(frame: Buffer): Promise<void>;
  /** Resolves `true` when the other side has read everything that was sent before, `false` when the connection ended first. */
  acknowledged(): Promise<boolean>;
  pause(): void;
  resume(): void;
  /** Ends the connection at once. */
  close(): void;
}

export interface ChannelRequest {
  readonly access: ClusterAccess;
  readonly target: PodContainer;
  readonly verb: 'exec' | 'attach';
  /** Besides the container. */
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * @throws ChannelError `k8s-not-found`, `k8s-forbidden`, `k8s-unauthorized`, `k8s-refused`, `k8s-unavailable`;
 * GcError `k8s-credentials`; the signal's reason
 */
export async function openChannel(
  request: ChannelRequest,
  handlers: ChannelHandlers,
): Promise<ChannelSocket> {
  try {
    return await connect(request, handlers);
  } catch (error) {
    // A token may have expired since it was read: once more with what is on the disk now.
    if (!(error instanceof ChannelError) || error.code !== 'k8s-unauthorized') throw error;
    request.access.renew();
    return connect(request, handlers);
  }
}

async function connect(request: ChannelRequest, handlers: ChannelHandlers): Promise<ChannelSocket> {
  const { access, target, verb, signal } = request;
  const { headers, agent, tls } = await access.connection();
  signal.throwIfAborted();
  const socket = new WebSocket(addressOf(request), [...PROTOCOLS], {
    headers,
    agent,
    ...tls,
    handshakeTimeout: CONNECT_TIMEOUT_MS,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    followRedirects: false,
  });
  const channel = new OpenSocket(socket, handlers, request.clock);
  await new Promise<void>((resolve, reject) => {
    const give = () => {
      socket.terminate();
      reject(signal.reason);
    };
    signal.addEventListener('abort', give, { once: true });
    const settled = () => signal.removeEventListener('abort', give);
    socket.once('open', () => {
      settled();
      resolve();
    });
    socket.once('unexpected-response', (upgrade, response) => {
      readBody(response).then((body) => {
        settled();
        upgrade.destroy();
        reject(refusal(target, verb, response.statusCode ?? 0, body));
      });
    });
    socket.on('error', (error) => {
      settled();
      const what = `no connection to ${access.server.host}: ${messageOf(error)}`;
      reject(new ChannelError('k8s-unavailable', target, what, { cause: error }));
    });
  });
  channel.opened();
  return channel;
}

function addressOf({ access, target, verb, query }: ChannelRequest): URL {
  const url = new URL(access.server);
  url.protocol = url.protocol === 'http:' ? 'ws:' : 'wss:';
  const base = url.pathname.replace(/\/+$/, '');
  const [namespace, pod] = [target.namespace, target.pod].map(encodeURIComponent);
  url.pathname = `${base}/api/v1/namespaces/${namespace}/pods/${pod}/${verb}`;
  url.search = '';
  url.searchParams.append('container', target.container);
  for (const [name, value] of query) url.searchParams.append(name, value);
  return url;
}

class OpenSocket implements ChannelSocket {
  readonly #socket: WebSocket;
  readonly #handlers: ChannelHandlers;
  readonly #clock: Clock;
  readonly #lifetime = new AbortController();
  readonly #asked: ((answered: boolean) => void)[] = [];
  #lastSign = 0;
  #paused = false;
  #failure: string | undefined;

  constructor(socket: WebSocket, handlers: ChannelHandlers, clock: Clock) {
    this.#socket = socket;
    this.#handlers = handlers;
    this.#clock = clock;
    socket.on('message', (data: Buffer) => {
      this.#alive();
      handlers.onFrame(parseFrame(data));
    });
    socket.on('pong', (data) => {
      this.#alive();
      if (data.length > 0) this.#asked.shift()?.(true);
    });
    socket.on('ping', () => this.#alive());
  }

  get halfCloses(): boolean {
    return this.#socket.protocol === PROTOCOL_5;
  }

  get waitingBytes(): number {
    return this.#socket.bufferedAmount;
  }

  /** The connection stands: from now on its end is told. */
  opened(): void {
    this.#alive();
    this.#socket.on('error', (error) => {
      this.#failure ??= messageOf(error);
    });
    this.#socket.once('close', (code, reason) => this.#ended(code, reason.toString('utf8')));
    this.#watch().catch(() => undefined); // ends with the connection
  }

  send(frame: Buffer): Promise<void> {
    return new Promise((resolve) => this.#socket.send(frame, () => resolve()));
  }

  acknowledged(): Promise<boolean> {
    if (this.#socket.readyState !== WebSocket.OPEN) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#asked.push(resolve);
      this.#socket.ping(ASKED, undefined, () => undefined);
    });
  }

  pause(): void {
    this.#paused = true;
    this.#socket.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#alive();
    this.#socket.resume();
  }

  close(): void {
    this.#socket.terminate();
  }

  #alive(): void {
    this.#lastSign = this.#clock.monotonic();
  }

  /** Nobody reads while paused, so nothing could be heard either. */
  async #watch(): Promise<void> {
    for (;;) {
      await this.#clock.sleep(PING_INTERVAL_MS, this.#lifetime.signal);
      if (this.#paused) continue;
      if (this.#clock.monotonic() - this.#lastSign > SILENCE_LIMIT_MS) {
        this.#failure = `nothing was heard for ${SILENCE_LIMIT_MS / 1_000} s`;
        this.#socket.terminate();
        return;
      }
      this.#socket.ping(Buffer.alloc(0), undefined, () => undefined);
    }
  }

  #ended(code: number, reason: string): void {
    this.#lifetime.abort();
    for (const resolve of this.#asked.splice(0)) resolve(false);
    const orderly = this.#failure === undefined && (code === 1000 || code === 1005);
    this.#handlers.onEnd(
      orderly ? undefined : (this.#failure ?? (reason || `the connection broke (${code})`)),
    );
  }
}

/** A ping that asks whether everything before it was read, unlike those that only look for life. */
const ASKED = Buffer.from('read');

async function readBody(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of response) {
      parts.push(part);
      length += part.length;
      if (length > MAX_REFUSAL_BYTES) break;
    }
  } catch {
    // what has come so far says enough
  }
  return Buffer.concat(parts).toString('utf8');
}
