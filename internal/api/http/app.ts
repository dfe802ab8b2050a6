import type { IncomingMessage, ServerResponse } from 'node:http';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { actingFor, askedFrom } from '../../controller/acting.ts';
import { codeOf, GcError, messageOf } from '../../platform/errors.ts';
import type { Log } from '../../platform/log.ts';
import { ACTOR_HEADER, BODY_LIMIT_BYTES, decodeActor, encodeError, PLACE_HEADERS } from './wire.ts';

/** One request as a handler sees it, free of the HTTP library. */
export interface ApiRequest {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingMessage['headers'];
  /** Parsed JSON; `undefined` when there was no body. */
  readonly body: unknown;
}

export interface ApiReply {
  readonly status?: number;
  readonly json: unknown;
}

/** Takes the raw response over and ends it itself. */
export type RawHandler = (request: ApiRequest, response: ServerResponse) => Promise<void>;

export interface HttpApp {
  json(method: 'GET' | 'POST', path: string, handle: (request: ApiRequest) => Promise<ApiReply>): void;
  raw(path: string, handle: RawHandler): void;
  listen(socketPath: string): Promise<void>;
  /** Requests in flight are answered first. */
  close(): Promise<void>;
  /** Cuts every connection. */
  drop(): void;
}

/** Receiving one whole request; answering may take as long as it takes. */
const REQUEST_TIMEOUT_MS = 60_000;
/** A session target can be any text that a person types; it gets a clear answer, not an unknown path. */
const MAX_PARAM_LENGTH = 16_384;

/** The one place that knows the HTTP library: limits, error bodies, logging, listening. */
export function createHttpApp(log: Log): HttpApp {
  const app = fastify({
    logger: false,
    bodyLimit: BODY_LIMIT_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
  });
  readJson(app);
  answerErrors(app, log);
  logRequests(app, log);
  nameActors(app);
  return {
    json(method, path, handle) {
      app.route({
        method,
        url: path,
        handler: async (request, reply) => {
          const answer = await handle(plain(request));
          return reply.code(answer.status ?? 200).send(answer.json);
        },
      });
    },
    raw(path, handle) {
      app.get(path, async (request, reply) => {
        reply.hijack();
        await handle(plain(request), reply.raw).catch((error: unknown) => failRaw(reply.raw, error, log));
      });
    },
    async listen(socketPath) {
      await app.listen({ path: socketPath });
    },
    close: () => app.close(),
    drop: () => app.server.closeAllConnections(),
  };
}

/** Bodies are JSON whatever the content type says; an empty one is no body. */
function readJson(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    '*',
    { parseAs: 'string' },
    async (_request: FastifyRequest, text: string | Buffer) => {
      const source = text.toString();
      return source.trim() === '' ? undefined : (JSON.parse(source) as unknown);
    },
  );
}

function answerErrors(app: FastifyInstance, log: Log): void {
  app.setErrorHandler((error, request, reply) => {
    const { status, body } = encodeError(translate(error));
    if (status >= 500)
      log.error('request failed', { method: request.method, url: request.url, error: body.message });
    return reply.code(status).send(body);
  });
  app.setNotFoundHandler((_request: FastifyRequest, reply: FastifyReply) =>
    reply.code(404).type('text/plain; charset=utf-8').send('404 page not found\n'),
  );
}

function logRequests(app: FastifyInstance, log: Log): void {
  app.addHook('onResponse', async (request, reply) => {
    const fields = {
      method: request.method,
      url: request.url,
      status: reply.statusCode,
      ms: reply.elapsedTime,
    };
    if (request.method === 'GET') log.debug('api', fields);
    else log.info('api', fields);
  });
}

/** What a request does is done for whoever it says it comes from: the socket lets nobody else in than its owner. */
function nameActors(app: FastifyInstance): void {
  app.addHook('preHandler', (request, _reply, done) => {
    const dir = headerOf(request, PLACE_HEADERS.dir);
    const place = dir === undefined ? undefined : { dir, rig: headerOf(request, PLACE_HEADERS.rig) ?? '' };
    const go = place ? () => askedFrom(place, done) : done;
    actingFor(headerOf(request, ACTOR_HEADER), go);
  });
}

function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name];
  return typeof value === 'string' ? decodeActor(value) : undefined;
}

/** The library's own refusals, in our words. */
function translate(error: unknown): unknown {
  if (error instanceof GcError) return error;
  const code = codeOf(error) ?? '';
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return new GcError('body-too-large', `a request body may have at most ${BODY_LIMIT_BYTES} bytes`, {
      cause: error,
    });
  }
  if (code.startsWith('FST_ERR_CTP') || error instanceof SyntaxError) {
    return new GcError('invalid-body', `the request body is not JSON: ${messageOf(error)}`, { cause: error });
  }
  return error;
}

function failRaw(response: ServerResponse, error: unknown, log: Log): void {
  const { status, body } = encodeError(error);
  if (status >= 500) log.error('request failed', { error: body.message });
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(JSON.stringify(body));
}

function plain(request: FastifyRequest): ApiRequest {
  return {
    params: strings(request.params),
    query: strings(request.query),
    headers: request.headers,
    body: request.body ?? undefined,
  };
}

/** A key given twice counts once, the first time. */
function strings(value: unknown): Record<string, string> {
  const found: Record<string, string> = {};
  if (typeof value !== 'object' || value === null) return found;
  for (const [key, entry] of Object.entries(value)) {
    const first: unknown = Array.isArray(entry) ? entry[0] : entry;
    if (typeof first === 'string') found[key] = first;
  }
  return found;
}
