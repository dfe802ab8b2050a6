import { createServer as createHttp1Server } from 'node:http';
import { constants, createServer as createHttp2Server, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import type { Ids } from '../../platform/ids.ts';
import type { Log } from '../../platform/log.ts';
import { ServiceError } from '../../session/service/sessions-host.ts';
import { CALL, Call } from './call.ts';
import { Code, type ConnectRouter, createConnectRouter, createContextValues } from './connect.ts';
import {
  compressionGzip,
  universalRequestFromNodeRequest,
  universalResponseToNodeResponse,
} from './connect-node.ts';
import { CONNECTION_MEMORY_MB, type RpcLimits } from './limits.ts';
import { type Refusal, type RpcRequest, type RpcResponse, refuse } from './refusal.ts';
import { REQUEST_ID_HEADER, requestIdFor } from './request-id.ts';
import { httpVersionOf } from './sniff.ts';
import { bearsToken } from './token.ts';

export interface EndpointOptions {
  readonly routes: (router: ConnectRouter) => void;
  /** What callers must bear. */
  readonly token?: string;
  readonly limits: RpcLimits;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'hex'>;
  readonly log: Log;
}

type Handler = ConnectRouter['handlers'][number];

/** After those who were told to end have had their last word. */
const CUT_AFTER_MS = 3_000;
/** HTTP/2 lets a peer open this many more than it is served: the refusal is then ours, with a reason. */
const SPARE_STREAMS = 64;

/** gRPC, gRPC-Web and Connect (JSON) over HTTP/1.1 and HTTP/2 on sockets that somebody else accepts. */
export class RpcEndpoint {
  readonly #options: EndpointOptions;
  readonly #handlers: ReadonlyMap<string, Handler>;
  readonly #http1 = createHttp1Server((request, response) => this.#serve(request, response));
  readonly #http2;
  /** Every connection, how many HTTP/1.1 calls it has open, and since when none. */
  readonly #sockets = new Map<Socket, { http1Calls: number; idleSince: number }>();
  /** HTTP/2 connections, and whether a ping of ours is still unanswered. */
  readonly #sessions = new Map<ServerHttp2Session, { waiting: boolean }>();
  readonly #calls = new Map<Call, Handler>();
  readonly #open = { calls: 0, streams: 0 };
  readonly #closed = new AbortController();
  #stopping = false;
  #idle: () => void = () => undefined;

  constructor(options: EndpointOptions) {
    this.#options = options;
    const { limits, routes, log } = options;
    const router = createConnectRouter({
      acceptCompression: [compressionGzip],
      readMaxBytes: limits.receiveBytes,
    });
    routes(router);
    this.#handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]));
    this.#http2 = createHttp2Server(
      {
        settings: { maxConcurrentStreams: limits.streams + limits.calls + SPARE_STREAMS },
        maxSessionMemory: CONNECTION_MEMORY_MB,
      },
      (request, response) => this.#serve(request, response),
    );
    this.#http2.on('session', (session) => {
      this.#sessions.set(session, { waiting: false });
      session.on('close', () => this.#sessions.delete(session));
    });
    this.#http2.on('sessionError', (error) => log.debug('connection failed', { error: messageOf(error) }));
    this.#http1.on('clientError', (_, socket) => socket.destroy());
    void this.#watch();
  }

  /** Takes over a connection from its first byte on. */
  accept(socket: Socket): void {
    if (this.#stopping || this.#sockets.size + this.#sessions.size >= this.#options.limits.connections) {
      socket.destroy();
      return;
    }
    this.#sockets.set(socket, { http1Calls: 0, idleSince: this.#options.clock.monotonic() });
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    void this.#dispatch(socket);
  }

  /** Lets what is under way end, for a bounded time; then everything is cut. Nothing new is let in. */
  async close(): Promise<void> {
    const { limits, log } = this.#options;
    this.#stopping = true;
    for (const session of this.#sessions.keys()) session.close();
    for (const socket of this.#sockets.keys()) this.#endIfIdle(socket);
    if (!(await this.#drained(limits.stopMs))) {
      const reason = new ServiceError('UNAVAILABLE', 'the service is stopping');
      for (const call of this.#calls.keys()) call.stop(reason);
      if (!(await this.#drained(CUT_AFTER_MS))) log.warn('calls were still open at the end');
    }
    this.#closed.abort();
    for (const session of this.#sessions.keys()) session.destroy();
    for (const socket of this.#sockets.keys()) socket.destroy();
    // One turn of the loop, so that what the destroyed sockets had to say is over when this returns.
    await new Promise((resolve) => setImmediate(resolve));
  }

  async #dispatch(socket: Socket): Promise<void> {
    const { clock, limits } = this.#options;
    const said = new AbortController();
    const silence = clock.sleep(limits.requestMs, said.signal).then(
      () => socket.destroy(),
      () => undefined, // it said something
    );
    const version = await httpVersionOf(socket);
    said.abort();
    await silence;
    if (version === 2) {
      this.#sockets.delete(socket); // its session stands for it from here on
      this.#http2.emit('connection', socket);
    } else if (version === 1) {
      socket.setKeepAlive(true, limits.pingMs);
      this.#http1.emit('connection', socket);
    }
  }

  #serve(request: RpcRequest, response: RpcResponse): void {
    const { ids, clock, log } = this.#options;
    const given = request.headers[REQUEST_ID_HEADER];
    const requestId = requestIdFor(typeof given === 'string' ? given : undefined, ids);
    response.on('error', () => undefined); // the connection's end says it
    const handler = this.#handlers.get(request.url?.split('?', 1)[0] ?? '');
    const refusal = this.#refusal(request, handler);
    if (refusal !== undefined || handler === undefined) {
      refuse(request, response, refusal ?? NO_SUCH_METHOD, requestId);
      setImmediate(() => endUnread(request, response));
      return;
    }
    const values = createContextValues();
    let universal: ReturnType<typeof universalRequestFromNodeRequest>;
    try {
      universal = universalRequestFromNodeRequest(request, response, undefined, values);
    } catch {
      refuse(request, response, NO_SUCH_HOST, requestId);
      return;
    }
    const call = new Call({ request, response, requestId, clock, log });
    values.set(CALL, call);
    this.#enter(call, handler);
    response.once('close', () => this.#leave(call, handler));
    // The trailers are on their way after one turn of the loop; closing in the same one would overtake them.
    if ('stream' in response) {
      response.stream.once('wantTrailers', () => setImmediate(() => endUnread(request, response)));
    }
    handler(universal)
      .then((answer) => universalResponseToNodeResponse(answer, response))
      .catch((error: unknown) => log.debug('answer not delivered', { error: messageOf(error) }));
  }

  #enter(call: Call, handler: Handler): void {
    this.#calls.set(call, handler);
    this.#open[kindOf(handler)] += 1;
    const connection = this.#sockets.get(call.request.socket);
    if (connection) connection.http1Calls += 1;
  }

  #leave(call: Call, handler: Handler): void {
    this.#calls.delete(call);
    this.#open[kindOf(handler)] -= 1;
    const connection = this.#sockets.get(call.request.socket);
    if (connection) {
      connection.http1Calls -= 1;
      connection.idleSince = this.#options.clock.monotonic();
    }
    if (!this.#stopping) return;
    this.#endIfIdle(call.request.socket);
    if (this.#calls.size === 0) this.#idle();
  }

  #endIfIdle(socket: Socket): void {
    if (this.#sockets.get(socket)?.http1Calls === 0) socket.end();
  }

  #refusal(request: RpcRequest, handler: Handler | undefined): Refusal | undefined {
    const { token, limits } = this.#options;
    if (token === undefined && fromElsewhere(request.headers.origin)) return CROSS_ORIGIN;
    if (token !== undefined && !bearsToken(request.headers.authorization, token)) return NO_TOKEN;
    if (handler === undefined) return NO_SUCH_METHOD;
    if (this.#stopping) return STOPPING;
    const kind = kindOf(handler);
    const limit = limits[kind];
    if (this.#open[kind] < limit) return undefined;
    return {
      code: Code.ResourceExhausted,
      message: `${limit} ${kind} are open already; end one and try again`,
    };
  }

  /** Peers that are gone without a word, readers that do not read, requests that do not come: looked for now and then. */
  async #watch(): Promise<void> {
    const { clock, limits } = this.#options;
    let last = clock.monotonic();
    for (;;) {
      try {
        await clock.sleep(limits.pingMs, this.#closed.signal);
      } catch {
        return; // closed
      }
      const now = clock.monotonic();
      // After a stop of this process the answers lie unread in the sockets: nobody is cut for that.
      const stopped = now - last > 2 * limits.pingMs;
      last = now;
      this.#ping(stopped);
      // Without a server that listens itself, Node does not limit how long the head of a request takes.
      for (const [socket, { http1Calls, idleSince }] of this.#sockets) {
        if (http1Calls === 0 && now - idleSince > limits.requestMs) socket.destroy();
      }
      for (const [call, handler] of this.#calls) {
        if (call.stalled > limits.stallMs) call.cut(TOO_SLOW);
        else if (handler.method.methodKind !== 'bidi_streaming' && call.age > limits.requestMs) {
          if (!call.request.complete) call.cut(NEVER_CAME);
        }
      }
    }
  }

  #ping(forgiving: boolean): void {
    for (const [session, state] of this.#sessions) {
      if (state.waiting && !forgiving) session.destroy();
      else if (!session.destroyed && !session.closed) {
        state.waiting = true;
        session.ping((error) => {
          if (error === null) state.waiting = false;
        });
      }
    }
  }

  async #drained(limitMs: number): Promise<boolean> {
    if (this.#calls.size === 0) return true;
    const drained = new AbortController();
    this.#idle = () => drained.abort();
    return this.#options.clock.sleep(limitMs, drained.signal).then(
      () => false,
      () => true, // ended early: that is what was waited for
    );
  }
}

function kindOf(handler: Handler): 'calls' | 'streams' {
  return handler.method.methodKind === 'unary' ? 'calls' : 'streams';
}

/**
 * An HTTP/2 caller that is answered before it has said everything would wait for ever to say the rest: it is told that
 * nobody listens. Source: RFC 9113, section 8.1.
 */
function endUnread(request: RpcRequest, response: RpcResponse): void {
  if (!('stream' in response)) return;
  const { stream } = response;
  if (request.complete || stream.destroyed) return;
  stream.close(constants.NGHTTP2_NO_ERROR);
  // What is still to be read would keep it open on this side.
  setImmediate(() => stream.destroy());
}

/** Browsers name the page that a request comes from: one of another machine has no business here. */
function fromElsewhere(origin: string | string[] | undefined): boolean {
  if (typeof origin !== 'string') return origin !== undefined;
  try {
    return !/^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(origin).hostname);
  } catch {
    return true; // "null", which pages without an address send
  }
}

const NO_SUCH_METHOD: Refusal = { code: Code.Unimplemented, message: 'no such method here' };
const NO_SUCH_HOST: Refusal = { code: Code.InvalidArgument, message: 'the request names no usable host' };
const STOPPING: Refusal = { code: Code.Unavailable, message: 'the service is stopping' };
const NO_TOKEN: Refusal = {
  code: Code.Unauthenticated,
  message: 'a token is needed: send "authorization: Bearer <token>"',
};
const CROSS_ORIGIN: Refusal = {
  code: Code.PermissionDenied,
  message: 'pages of other machines may not call this service',
};
const TOO_SLOW = new ServiceError('RESOURCE_EXHAUSTED', 'the reader has taken nothing for too long');
const NEVER_CAME = new ServiceError('DEADLINE_EXCEEDED', 'the request did not arrive whole');
