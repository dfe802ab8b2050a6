import { GcError, messageOf } from '../../platform/errors.ts';
import { type ServiceCode, ServiceError } from './sessions-host.ts';

/** What was being done when something failed: the same failure is answered differently. */
export type Doing = 'read' | 'replay' | 'decide' | 'turn';

interface Answer {
  readonly status: ServiceCode;
  /** Where it depends on what was being done. */
  readonly when?: Partial<Record<Doing, ServiceCode>>;
  /** Shown when the failure itself gives no advice. */
  readonly next?: string;
}

const AGAIN = 'read the session again and decide whether to repeat the call';

/**
 * Every failure from below, by its code, and what a caller is told. What is not here is INTERNAL.
 * Source: agentsessions.v1 error summary; the codes of a full, busy or damaged store are ours.
 */
const ANSWERS: Readonly<Record<string, Answer>> = {
  'log-conflict': { status: 'ABORTED', next: AGAIN },
  'stale-fence': { status: 'ABORTED', next: AGAIN },
  'session-not-found': { status: 'NOT_FOUND' },
  'session-deleted': { status: 'FAILED_PRECONDITION' },
  'session-exists': { status: 'ABORTED', next: 'call again' },
  'fork-beyond-head': { status: 'INVALID_ARGUMENT' },
  'log-corrupt': { status: 'FAILED_PRECONDITION', when: { read: 'INTERNAL', replay: 'DATA_LOSS' } },
  'not-canonical': { status: 'INVALID_ARGUMENT' },
  'record-too-large': { status: 'RESOURCE_EXHAUSTED' },
  'store-full': { status: 'RESOURCE_EXHAUSTED' },
  'store-busy': { status: 'UNAVAILABLE', next: 'call again' },
  'store-removed': { status: 'UNAVAILABLE' },
  'store-corrupt': { status: 'INTERNAL', when: { replay: 'DATA_LOSS' } },
  unplaceable: { status: 'FAILED_PRECONDITION' },
  'descriptor-mismatch': { status: 'FAILED_PRECONDITION' },
  'no-harness-registry': { status: 'FAILED_PRECONDITION' },
  'harness-unavailable': { status: 'UNAVAILABLE' },
  'turn-approval-blocked': { status: 'FAILED_PRECONDITION' },
  'turn-approval-unavailable': { status: 'FAILED_PRECONDITION' },
  'turn-invalid-log': { status: 'FAILED_PRECONDITION', when: { read: 'INTERNAL' } },
  'turn-incomplete-invocation': {
    status: 'FAILED_PRECONDITION',
    next: 'call Exec again with all inputs of the turn',
  },
  'turn-inherited-intent': {
    status: 'FAILED_PRECONDITION',
    next: 'fork at or after the result of the tool, or call Exec with new inputs',
  },
  'turn-missing-executor': { status: 'FAILED_PRECONDITION' },
  'turn-invalid-call': { status: 'FAILED_PRECONDITION' },
  'turn-forged-receipt': { status: 'FAILED_PRECONDITION' },
  'turn-harness-mismatch': { status: 'FAILED_PRECONDITION' },
  'turn-diverged': { status: 'INTERNAL', when: { decide: 'FAILED_PRECONDITION' } },
  'turn-harness-failed': {
    status: 'INTERNAL',
    next: 'call Resume to go on with the turn, or Exec with new inputs to leave it behind',
  },
  'turn-canceled': { status: 'INTERNAL' },
};

/** Answers anything thrown below the service. A ServiceError stays what it is. */
export function serviceErrorOf(error: unknown, doing: Doing): ServiceError {
  if (error instanceof ServiceError) return error;
  const answer = error instanceof GcError ? ANSWERS[error.code] : undefined;
  const status = answer?.when?.[doing] ?? answer?.status ?? 'INTERNAL';
  const next = (error instanceof GcError ? error.next : undefined) ?? answer?.next;
  return new ServiceError(status, messageOf(error), {
    cause: error,
    ...(next === undefined ? {} : { next }),
  });
}

/** What an aborted signal means for a call: its reason when the transport gave one. */
export function interruption(signal: AbortSignal): ServiceError {
  const reason: unknown = signal.reason;
  return reason instanceof ServiceError
    ? reason
    : new ServiceError('CANCELLED', 'the caller went away', { cause: reason });
}

/** @throws ServiceError CANCELLED or DEADLINE_EXCEEDED */
export function refuseWhenInterrupted(signal: AbortSignal): void {
  if (signal.aborted) throw interruption(signal);
}

/** Names of failures in operational logs; lower layers first, then the code itself. */
const KINDS: Readonly<Record<string, string>> = {
  'log-conflict': 'conflict',
  'stale-fence': 'fenced',
  unplaceable: 'unplaceable',
  'descriptor-mismatch': 'descriptor_mismatch',
  'harness-unavailable': 'harness_unavailable',
  'turn-diverged': 'replay_diverged',
};

export function errorKindOf(error: ServiceError): string {
  const below = error.cause instanceof GcError ? KINDS[error.cause.code] : undefined;
  if (below !== undefined) return below;
  switch (error.status) {
    case 'CANCELLED':
      return 'canceled';
    case 'ABORTED':
      return 'conflict';
    default:
      return error.status.toLowerCase();
  }
}
