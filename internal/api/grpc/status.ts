import { codeOf, GcError, messageOf } from '../../platform/errors.ts';
import { type ServiceCode, ServiceError } from '../../session/service/sessions-host.ts';
import { Code, ConnectError } from './connect.ts';
import { PeerSilentError } from './peer-connection.ts';

const CODES: Readonly<Record<ServiceCode, Code>> = {
  CANCELLED: Code.Canceled,
  INVALID_ARGUMENT: Code.InvalidArgument,
  DEADLINE_EXCEEDED: Code.DeadlineExceeded,
  NOT_FOUND: Code.NotFound,
  ALREADY_EXISTS: Code.AlreadyExists,
  RESOURCE_EXHAUSTED: Code.ResourceExhausted,
  FAILED_PRECONDITION: Code.FailedPrecondition,
  ABORTED: Code.Aborted,
  UNIMPLEMENTED: Code.Unimplemented,
  INTERNAL: Code.Internal,
  UNAVAILABLE: Code.Unavailable,
  DATA_LOSS: Code.DataLoss,
};

const STATUSES = new Map<Code, ServiceCode>(
  Object.entries(CODES).map(([status, code]) => [code, status as ServiceCode]),
);

/** What a caller over the wire is told. What to do next goes with the message: the wire has no other place for it. */
export function toConnectError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  if (error instanceof ServiceError) {
    const advice = error.next === undefined ? '' : ` (${error.next})`;
    return new ConnectError(`${error.message}${advice}`, CODES[error.status]);
  }
  const what = error instanceof GcError ? error.message : `internal error: ${messageOf(error)}`;
  return new ConnectError(what, Code.Internal);
}

const CALL_AGAIN = 'call again when it answers; what was committed is in the log';

/**
 * What went wrong with a call of ours to a service. Codes that the service's contract does not know become errors of
 * their own: who may not call gets `sessions-unauthenticated`.
 */
export function toServiceError(error: unknown, peer: string): GcError {
  if (error instanceof GcError) return error;
  const failure = ConnectError.from(error);
  if (failure.code === Code.Unauthenticated || failure.code === Code.PermissionDenied) {
    return new GcError('sessions-unauthenticated', `${peer}: ${failure.rawMessage}`, {
      cause: error,
      next: 'set GC_SERVE_TOKEN, or give --token-file, with the token of that service',
    });
  }
  if (failure.cause instanceof PeerSilentError) {
    return new ServiceError('UNAVAILABLE', `${peer} ${failure.rawMessage}`, {
      cause: error,
      next: CALL_AGAIN,
    });
  }
  if (isUnreachable(failure)) {
    return new ServiceError('UNAVAILABLE', `nobody answers on ${peer}: ${failure.rawMessage}`, {
      cause: error,
      next: 'is the service running? gc serve',
    });
  }
  if (isBrokenOff(failure)) {
    return new ServiceError('UNAVAILABLE', `the connection to ${peer} was lost in the middle of the call`, {
      cause: error,
      next: CALL_AGAIN,
    });
  }
  return new ServiceError(STATUSES.get(failure.code) ?? 'INTERNAL', failure.rawMessage, { cause: error });
}

/** The stream ended without an answer: the library gives it the code of whoever cancels, and nobody here has. */
export function isBrokenOff({ code, rawMessage }: ConnectError): boolean {
  return code === Code.Canceled && rawMessage.startsWith('http/2 stream closed');
}

/** The peer was not there at all, as opposed to an answer of its own that it cannot serve now. */
export function isUnreachable(failure: ConnectError): boolean {
  const seen = new Set<unknown>();
  for (let cause: unknown = failure.cause; cause instanceof Error && !seen.has(cause); cause = cause.cause) {
    seen.add(cause);
    const code = codeOf(cause);
    if (code !== undefined && UNREACHABLE.has(code)) return true;
  }
  return false;
}

const UNREACHABLE: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'ENOTFOUND',
  'EACCES',
  'EAI_AGAIN',
  'EPIPE',
  'ERR_HTTP2_INVALID_STREAM',
  'ERR_STREAM_DESTROYED',
  'ETIMEDOUT',
]);
