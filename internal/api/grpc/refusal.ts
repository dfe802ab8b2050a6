import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { Code } from './connect.ts';

export type RpcRequest = IncomingMessage | Http2ServerRequest;
export type RpcResponse = ServerResponse | Http2ServerResponse;

/** Why a request is not even read. */
export interface Refusal {
  readonly code: Code;
  readonly message: string;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

const END_OF_STREAM_FLAG = 2;
const HTTP_STATUS: ReadonlyMap<Code, number> = new Map([
  [Code.InvalidArgument, 400],
  [Code.Unauthenticated, 401],
  [Code.PermissionDenied, 403],
  [Code.ResourceExhausted, 429],
  [Code.Unimplemented, 404],
  [Code.Unavailable, 503],
]);

/** Answers a request without having read its body, in the caller's protocol. */
export function refuse(
  request: RpcRequest,
  response: RpcResponse,
  refusal: Refusal,
  requestId: string,
): void {
  const { status, headers, body } = answerFor(request.headers['content-type'] ?? '', refusal);
  // What is still to come of the body belongs to nobody: HTTP/1.1 can end that only with the connection.
  const close = request.httpVersionMajor === 1 ? { connection: 'close' } : {};
  response.statusCode = status;
  for (const [name, value] of Object.entries({ ...headers, ...close, 'x-request-id': requestId })) {
    response.setHeader(name, value);
  }
  if (body) response.end(body);
  else response.end();
}

/** Source: gRPC over HTTP/2 and gRPC-Web, "Trailers-Only"; the Connect protocol's error forms. */
export function answerFor(contentType: string, { code, message }: Refusal): Answer {
  if (contentType.startsWith('application/grpc')) {
    return {
      status: 200,
      headers: {
        'content-type': contentType,
        'grpc-status': String(code),
        'grpc-message': encodeURIComponent(message),
      },
    };
  }
  const error = { code: codeWord(code), message };
  if (contentType.startsWith('application/connect+')) {
    return {
      status: 200,
      headers: { 'content-type': contentType },
      body: envelope(END_OF_STREAM_FLAG, JSON.stringify({ error })),
    };
  }
  return {
    status: HTTP_STATUS.get(code) ?? 500,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(error)),
  };
}

/** `ResourceExhausted` as the Connect protocol writes it: `resource_exhausted`. */
export function codeWord(code: Code): string {
  return Code[code].replace(/(?<=[a-z])[A-Z]/g, (capital) => `_${capital}`).toLowerCase();
}

function envelope(flags: number, text: string): Uint8Array {
  const data = Buffer.from(text);
  const whole = Buffer.alloc(5 + data.length);
  whole.writeUInt8(flags, 0);
  whole.writeUInt32BE(data.length, 1);
  data.copy(whole, 5);
  return whole;
}
