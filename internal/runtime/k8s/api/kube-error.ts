import { GcError } from '../../../platform/errors.ts';
import type { KubeStatus } from './pod.ts';

export type KubeErrorKind =
  | 'unauthorized'
  | 'forbidden'
  | 'namespace-missing'
  | 'not-found'
  | 'quota'
  | 'conflict'
  /** A version that the server has forgotten. */
  | 'gone'
  | 'invalid'
  /** Asked too much: later. */
  | 'busy'
  /** The server, or the way to it, does not work; nothing is known about what was asked. */
  | 'unavailable'
  | 'timeout';

/** A call to the cluster that failed. Its code is `k8s-<kind>`. */
export class KubeError extends GcError {
  readonly kind: KubeErrorKind;
  /** What the server asked us to wait, milliseconds. */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: KubeErrorKind,
    message: string,
    options: { cause?: unknown; next?: string; retryAfterMs?: number } = {},
  ) {
    super(`k8s-${kind}`, message, options);
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
  }
}

/** What a call was about, for messages. */
export interface KubeCall {
  readonly verb: string;
  readonly resource: string;
  readonly namespace: string;
  /** `''`: all of them. */
  readonly name: string;
  /** The server's address, for people. */
  readonly server: string;
}

/** What a refused call means, in words that say what to do. */
export function kubeErrorOf(
  call: KubeCall,
  httpStatus: number,
  status: KubeStatus,
  retryAfterMs?: number,
): KubeError {
  const told = (status.message ?? '').trim() || `HTTP ${httpStatus}`;
  const what = `${call.verb} ${call.resource}${call.name === '' ? '' : ` ${call.name}`} in namespace ${call.namespace}`;
  const options = retryAfterMs === undefined ? {} : { retryAfterMs };
  switch (httpStatus) {
    case 401:
      return new KubeError('unauthorized', `${call.server} does not accept our credentials: ${told}`, {
        next: `log in anew, then: kubectl -n ${call.namespace} get pods`,
      });
    case 403:
      return forbidden(call, what, told);
    case 404:
      return notFound(call, what, status, told);
    case 409:
      return new KubeError('conflict', `${what}: ${told}`, options);
    case 410:
      return new KubeError('gone', `${what}: ${told}`, options);
    case 429:
      return new KubeError('busy', `${call.server} asks us to slow down: ${told}`, options);
    case 400:
    case 422:
      return new KubeError('invalid', `${what}: ${told}`);
    default:
      return new KubeError('unavailable', `${what}: ${told}`, options);
  }
}

/** Admission plugins refuse with 403 as well: a full quota is no matter of permissions. */
function forbidden(call: KubeCall, what: string, told: string): KubeError {
  const namespace = call.namespace;
  if (/exceeded quota/i.test(told)) {
    return new KubeError('quota', `${what}: the quota is full: ${told}`, {
      next: `kubectl -n ${namespace} describe quota`,
    });
  }
  if (/being terminated/i.test(told)) {
    return new KubeError('namespace-missing', `namespace ${namespace} is being deleted: ${told}`);
  }
  return new KubeError('forbidden', `we may not ${what}: ${told}`, {
    next: `kubectl -n ${namespace} auth can-i ${call.verb} ${call.resource}`,
  });
}

function notFound(call: KubeCall, what: string, status: KubeStatus, told: string): KubeError {
  if (/^namespaces? .*not found/i.test(told)) {
    return new KubeError('namespace-missing', `there is no namespace ${call.namespace}`, {
      next: `kubectl create namespace ${call.namespace}, or set session.k8s.namespace`,
    });
  }
  return new KubeError('not-found', `${what}: ${status.reason ?? told}`);
}
