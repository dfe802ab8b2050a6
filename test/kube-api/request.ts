import type { IncomingMessage } from 'node:http';
import { badRequest } from './status-error.ts';

export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

/** A request in the words of access rules: verb, resource (`pods`, `pods/exec`), name. */
export interface ApiRequest {
  readonly verb: Verb;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
}

const API =
  /^\/(?:api\/v1|apis\/([^/]+)\/[^/]+)(?:\/namespaces\/([^/]+))?(?:\/([^/]+))?(?:\/([^/]+))?(?:\/([^/]+))?$/;

/** Paths outside of the resources (`/version`) have their path as the resource. */
export function parseRequest(message: IncomingMessage): ApiRequest {
  const url = new URL(message.url ?? '/', 'http://server');
  const path = url.pathname.replace(/\/+$/, '') || '/';
  const method = message.method ?? 'GET';
  const base = { method, path, query: url.searchParams, headers: message.headers };
  const match = API.exec(path);
  if (!match) {
    return { ...base, verb: 'get', group: '', resource: path, namespace: undefined, name: undefined };
  }
  const [, group = '', namespace, kind, name, subresource] = match.map((part) =>
    part === undefined ? undefined : decodeURIComponent(part),
  );
  if (kind === undefined) {
    const name = namespace;
    const resource = name === undefined ? path : 'namespaces';
    return { ...base, verb: verbOf(base, name), group, resource, namespace: undefined, name };
  }
  const resource = subresource === undefined ? kind : `${kind}/${subresource}`;
  return { ...base, verb: verbOf(base, name), group, resource, namespace, name };
}

function verbOf(request: { method: string; query: URLSearchParams }, name: string | undefined): Verb {
  switch (request.method) {
    case 'GET': {
      const watch = request.query.get('watch');
      if (name === undefined) return watch === 'true' || watch === '1' ? 'watch' : 'list';
      return 'get';
    }
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === undefined ? 'deletecollection' : 'delete';
    default:
      throw badRequest(`method ${request.method} is not known`);
  }
}

const MAX_BODY_BYTES = 3_000_000;

/** The JSON of the body; `undefined` for none. @throws StatusError 400 */
export async function readBody(message: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message) {
    const bytes = Buffer.from(chunk);
    size += bytes.length;
    if (size > MAX_BODY_BYTES) throw badRequest(`the request body is over ${MAX_BODY_BYTES} bytes`);
    chunks.push(bytes);
  }
  if (size === 0) return undefined;
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw badRequest('the body of the request could not be decoded: it is not JSON');
  }
}
