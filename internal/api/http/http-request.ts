import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../platform/clock.ts';
import { codeOf, GcError, messageOf } from '../../platform/errors.ts';
import { decodeError } from './wire.ts';

export interface HttpCall {
  readonly socketPath: string;
  readonly method: 'GET' | 'POST';
  /** Path and query. */
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Silence longer than this, in milliseconds, is a failure. */
  readonly timeoutMs: number;
  /** What the silence is measured with. */
  readonly clock: Clock;
  readonly signal?: AbortSignal;
}

/**
 * The whole text of a successful answer.
 * @throws GcError what the server said; `controller-unreachable`, `controller-lost`, `controller-timeout`
 */
export async function call(options: HttpCall): Promise<string> {
  const response = await open(options);
  const text = await readAll(response, options);
  const status = response.statusCode ?? 0;
  if (status < 200 || status > 299) throw decodeError(status, text);
  return text;
}

/** The answer's head; its body is read by the caller. Same errors as `call`, which also reads it. */
export function open(options: HttpCall): Promise<IncomingMessage> {
  const payload = options.body === undefined ? undefined : JSON.stringify(options.body);
  return new Promise((resolve, reject) => {
    let connected = false;
    const request = httpRequest({
      socketPath: options.socketPath,
      method: options.method,
      path: options.path,
      agent: false,
      headers: {
        'x-gc-request': 'true',
        ...(payload === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(payload)) }),
        ...options.headers,
      },
      ...(options.signal ? { signal: options.signal } : {}),
    });
    request.once('socket', (socket) => {
      socket.once('connect', () => (connected = true));
      void endWhenSilent(request, socket, options);
    });
    request.once('response', resolve);
    request.once('error', (error) => reject(asCallError(error, options, connected)));
    request.end(payload);
  });
}

async function endWhenSilent(request: ClientRequest, socket: Socket, options: HttpCall): Promise<void> {
  const { clock, timeoutMs } = options;
  const over = new AbortController();
  request.once('close', () => over.abort());
  let heardAt = clock.monotonic();
  socket.on('data', () => {
    heardAt = clock.monotonic();
  });
  for (let left = timeoutMs; left > 0; left = heardAt + timeoutMs - clock.monotonic()) {
    try {
      await clock.sleep(left, over.signal);
    } catch {
      return; // it is answered
    }
    // After a stop of this process an answer may lie unread in the socket.
    await new Promise((resolve) => setImmediate(resolve));
  }
  request.destroy(timedOut(options));
}

async function readAll(response: IncomingMessage, options: HttpCall): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(Buffer.from(chunk));
  } catch (error) {
    throw asCallError(error, options, true);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function timedOut({ timeoutMs, method, path }: HttpCall): GcError {
  return new GcError(
    'controller-timeout',
    `no answer from the controller within ${timeoutMs / 1_000}s (${method} ${path})`,
    {
      next: 'gc status',
    },
  );
}

function asCallError(error: unknown, options: HttpCall, connected: boolean): unknown {
  if (options.signal?.aborted) return options.signal.reason;
  if (error instanceof GcError) return error;
  if (connected) {
    return new GcError(
      'controller-lost',
      `the controller went away before it answered (${codeOf(error) ?? messageOf(error)})`,
      {
        cause: error,
        next: 'gc status, and look whether it was done before you repeat it',
      },
    );
  }
  return new GcError(
    'controller-unreachable',
    `no controller answers on ${options.socketPath} (${codeOf(error) ?? messageOf(error)})`,
    {
      cause: error,
      next: 'gc start',
    },
  );
}
