import { event } from '../../protocol/events.ts';
import {
  ApprovalResultSchema,
  type Event,
  EventKind,
  EventSchema,
  type IdentityRef,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import {
  type ApproveRequest,
  type ApproveResponse,
  ApproveResponseSchema,
} from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { create } from '../../protocol/protobuf.ts';
import type { ApprovalState } from '../turn/log-view.ts';
import { changeableRow } from './city-sessions.ts';
import { type HostContext, required } from './host-context.ts';
import { currentSession, logRecord } from './session-view.ts';
import { ServiceError } from './sessions-host.ts';
import { timestampOfMs } from './timestamps.ts';

interface Decision {
  readonly approved: boolean;
  readonly reason: string;
  readonly identity: IdentityRef | undefined;
}

/**
 * Writes a person's answer into the log, once. It runs nothing: Resume does.
 * Source: agentsessions.v1 Approve.
 */
export async function approve(context: HostContext, request: ApproveRequest): Promise<ApproveResponse> {
  const { session: uid, approved, requestSeq, reason, identity } = request;
  required('session', uid);
  required('execution_id', request.executionId);
  required('tool_call_id', request.toolCallId);
  if (requestSeq <= 0n) throw new ServiceError('INVALID_ARGUMENT', 'request_seq is missing');
  if (approved === undefined) {
    throw new ServiceError('INVALID_ARGUMENT', 'approved is missing: say true or false');
  }
  await changeableRow(context, uid);
  const decision = await context.guard.hold(uid, () =>
    decide(context, request, { approved, reason, identity }),
  );
  return create(ApproveResponseSchema, {
    session: await currentSession(context, uid),
    decision: logRecord(decision),
  });
}

async function decide(
  { store, clock, facts }: HostContext,
  request: ApproveRequest,
  wanted: Decision,
): Promise<ChainedRecord> {
  const { session: uid, executionId, toolCallId, requestSeq } = request;
  const found = await facts.now(uid);
  const gate = found.approvals.find(
    (each) =>
      each.executionId === executionId && each.call.id === toolCallId && requestSeqOf(each) === requestSeq,
  );
  if (gate === undefined || gate.inherited) throw notAsked(gate);
  if (gate.state === 'decided' || gate.state === 'receipt') return repeated(gate.decision.record, wanted);
  if (found.pendingApproval?.callSeq !== gate.callSeq) {
    throw new ServiceError('FAILED_PRECONDITION', 'that question is closed: the session went on without it');
  }
  const at = timestampOfMs(clock.now());
  const answer = decisionEvent(request, wanted, at);
  const [record] = await store.append(uid, [answer], { expected: found.lastSeq, newIncarnation: true });
  if (record === undefined) throw new ServiceError('INTERNAL', 'the decision was not recorded');
  return record;
}

function notAsked(gate: ApprovalState | undefined): ServiceError {
  return gate === undefined
    ? new ServiceError('FAILED_PRECONDITION', 'the session never asked that', {
        next: 'read pending_approval of the session again',
      })
    : new ServiceError(
        'FAILED_PRECONDITION',
        'that question was asked by the session which this one was forked from',
        { next: 'answer it there' },
      );
}

function requestSeqOf(gate: ApprovalState): bigint | undefined {
  return gate.state === 'called' ? undefined : BigInt(gate.requestSeq);
}

/** The same answer again is the first one; another answer is refused. */
function repeated(decision: ChainedRecord, wanted: Decision): ChainedRecord {
  const { body, actor } = decision.event;
  const isSame =
    body.case === 'approvalResult' &&
    body.value.approved === wanted.approved &&
    body.value.reason === wanted.reason &&
    identityKey(actor) === identityKey(wanted.identity);
  if (isSame) return decision;
  throw new ServiceError(
    'FAILED_PRECONDITION',
    `that was answered before, in record ${decision.seq}, and not like this`,
  );
}

/** An identity that says nothing is none. */
function identityKey(identity: IdentityRef | undefined): string {
  const { principal = '', issuer = '', subject = '' } = identity ?? {};
  return JSON.stringify([principal, issuer, subject]);
}

function decisionEvent(
  { executionId, toolCallId, requestSeq }: ApproveRequest,
  { approved, reason, identity }: Decision,
  ts: { readonly seconds: bigint; readonly nanos: number },
): Event {
  const value = create(ApprovalResultSchema, {
    toolCallId,
    approved,
    reason,
    requestSeq,
  });
  const { kind, body } = event(executionId, EventKind.EVENT_APPROVAL_RESULT, {
    case: 'approvalResult',
    value,
  });
  return create(EventSchema, {
    executionId,
    kind,
    body,
    ts,
    ...(identity === undefined ? {} : { actor: identity }),
  });
}
