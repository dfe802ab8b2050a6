import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { codeOf, messageOf } from '../../../platform/errors.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { type KubeCall, KubeError, kubeErrorOf } from './kube-error.ts';
import { parseStatus } from './pod.ts';

/** A list of thousands of pods is some tens of megabytes. */
const MAX_BODY_BYTES = 134_217_728;
const MAX_REFUSAL_BYTES = 65_536;

export interface HttpCall extends KubeCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: object;
  readonly contentType?: string;
  /** Until the answer's head; with `read`, until its end. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** Sends a call and reads its whole answer. @throws KubeError; the signal's reason */
export async function callForText(access: ClusterAccess, call: HttpCall): Promise<string> {
  return await withinTime(call, async (signal) => {
    const response = await send(access, call, signal);
    return await readAll(response, call, MAX_BODY_BYTES);
  });
}

/** Sends a call; the body of its answer is the caller's to read. The signal ends it at any time. @throws as `callForText` */
export async function callForStream(
  access: ClusterAccess,
  call: HttpCall & { readonly signal: AbortSignal },
): Promise<IncomingMessage> {
  const head = new AbortController();
  const late = setTimeout(() => head.abort(timeoutOf(call)), call.timeoutMs);
  try {
    return await send(access, call, AbortSignal.any([call.signal, head.signal]));
  } finally {
    clearTimeout(late);
  }
}

async function withinTime<T>(call: HttpCall, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const limit = new AbortController();
  const late = setTimeout(() => limit.abort(timeoutOf(call)), call.timeoutMs);
  const signal = call.signal ? AbortSignal.any([call.signal, limit.signal]) : limit.signal;
  try {
    signal.throwIfAborted();
    return await work(signal);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    throw error;
  } finally {
    clearTimeout(late);
  }
}

/** Credentials that the server does not take are asked for anew, once. */
async function send(access: ClusterAccess, call: HttpCall, signal: AbortSignal): Promise<IncomingMessage> {
  const first = await sendOnce(access, call, signal);
  if (first.statusCode !== 401) return await accepted(first, call);
  first.resume();
  access.renew();
  return await accepted(await sendOnce(access, call, signal), call);
}

async function sendOnce(
  access: ClusterAccess,
  call: HttpCall,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { headers, agent } = await access.connection();
  const url = new URL(access.server);
  url.pathname = `${url.pathname.replace(/\/$/, '')}${call.path}`;
  for (const [name, value] of Object.entries(call.query ?? {})) url.searchParams.set(name, value);
  const body = call.body === undefined ? undefined : Buffer.from(JSON.stringify(call.body));
  const ask = url.protocol === 'http:' ? httpRequest : httpsRequest;
  return await new Promise((resolve, reject) => {
    const sent = ask(url, {
      method: call.method,
      agent,
      signal,
      headers: {
        ...headers,
        Accept: 'application/json',
        'User-Agent': 'gascity',
        ...(body && {
          'Content-Type': call.contentType ?? 'application/json',
          'Content-Length': body.length,
        }),
      },
    });
    sent.once('response', resolve);
    sent.once('error', (error) => reject(signal.aborted ? signal.reason : unreachable(call, error)));
    sent.end(body);
  });
}

async function accepted(response: IncomingMessage, call: HttpCall): Promise<IncomingMessage> {
  const code = response.statusCode ?? 0;
  if (code >= 200 && code < 300) return response;
  const body = await readAll(response, call, MAX_REFUSAL_BYTES);
  const seconds = Number(response.headers['retry-after']);
  const retryAfterMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : undefined;
  throw kubeErrorOf(call, code, statusIn(body), retryAfterMs);
}

function statusIn(body: string): ReturnType<typeof parseStatus> {
  try {
    return parseStatus(JSON.parse(body));
  } catch {
    return { message: body.slice(0, 300) }; // a proxy in between
  }
}

async function readAll(response: IncomingMessage, call: HttpCall, limit: number): Promise<string> {
  const parts: Buffer[] = [];
  let length = 0;
  try {
    for await (const part of response) {
      const bytes = Buffer.from(part);
      length += bytes.length;
      if (length > limit) throw new Error(`the answer is longer than ${limit} bytes`);
      parts.push(bytes);
    }
  } catch (error) {
    throw unreachable(call, error);
  }
  return Buffer.concat(parts).toString('utf8');
}

const timeoutOf = (call: HttpCall): KubeError =>
  new KubeError(
    'timeout',
    `${call.server} did not answer within ${call.timeoutMs / 1_000} s: ${call.verb} ${call.resource}`,
  );

function unreachable(call: KubeCall, error: unknown): KubeError {
  if (error instanceof KubeError) return error;
  const code = codeOf(error);
  const next = code?.includes('CERT')
    ? 'look at certificate-authority in the kubeconfig'
    : 'kubectl cluster-info';
  return new KubeError('unavailable', `${call.server} cannot be reached: ${messageOf(error) || code}`, {
    cause: error,
    next,
  });
}
