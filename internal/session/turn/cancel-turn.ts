import { executionEnd, lifecycle, toolResult } from '../../protocol/events.ts';
import {
  type Event,
  EventKind,
  EventSchema,
  type IdentityRef,
  Lifecycle_Kind,
} from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { create } from '../../protocol/protobuf.ts';
import { LogConflictError } from '../log/errors.ts';
import { approvalRequest } from './live-effects.ts';
import type { ApprovalState, LogView } from './log-view.ts';
import { readLogView } from './read-log-view.ts';
import { deniedResult, failedResult } from './tool-results.ts';
import { type TurnContext, TurnError } from './turn.ts';

/** Others may append meanwhile; so often in a row they do not. */
const MAX_ATTEMPTS = 16;

const MS_PER_SECOND = 1_000;
const NANOS_PER_MS = 1_000_000;

export type CancelOutcome =
  | { readonly kind: 'canceled'; readonly executionId: string }
  /** It has an end already. */
  | { readonly kind: 'ended'; readonly executionId: string }
  /** There is no turn, or the newest is another one. */
  | { readonly kind: 'not-latest' };

export interface CancelContext extends Pick<TurnContext, 'uid' | 'log' | 'clock'> {
  readonly observer?: TurnContext['observer'];
  /** Absent: a new incarnation begins, so that whoever still runs the turn, here or elsewhere, has to stop. */
  readonly fence?: number;
  /** Who wants it; a question that was open is recorded as answered by them. */
  readonly actor?: IdentityRef;
}

/**
 * Ends the newest turn for good: LIFECYCLE_CANCEL with the reason, then END CANCELED, in one step. A call that waits for a
 * person is answered first, with no; one that was approved and not carried out gets a failed result. So nothing is left
 * open, a later answer finds the question closed, and the records keep to the grammar of gated calls.
 * Source: ours; agentsessions.v1 names the events and leaves the call out.
 * @param executionId absent: whichever is the newest
 * @throws TurnError `invalid-log`; StaleFenceError
 */
export async function cancelTurn(
  context: CancelContext,
  reason: string,
  executionId?: string,
): Promise<CancelOutcome> {
  const { uid, log, observer, fence } = context;
  for (let attempt = 1; ; attempt += 1) {
    const view = await readLogView(log, uid);
    const { latest, lastSeq } = view;
    if (!latest || (executionId !== undefined && latest.id !== executionId)) return { kind: 'not-latest' };
    if (latest.end) return { kind: 'ended', executionId: latest.id };
    try {
      const records = await log.append(uid, cancelEvents(context, view, latest.id, reason), {
        expected: lastSeq,
        durability: 'full',
        ...(fence === undefined ? { newIncarnation: true } : { fence }),
      });
      for (const record of records) observer?.record(record);
      return { kind: 'canceled', executionId: latest.id };
    } catch (error) {
      if (!(error instanceof LogConflictError) || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

function cancelEvents(
  context: CancelContext,
  view: LogView,
  executionId: string,
  reason: string,
): readonly Event[] {
  const { openApproval, lastSeq } = view;
  return [
    ...(openApproval ? settlement(context, openApproval, lastSeq, reason) : []),
    lifecycle(Lifecycle_Kind.LIFECYCLE_CANCEL, { detail: reason }),
    executionEnd(executionId, 'CANCELED'),
  ];
}

/** What closes an open question: request, decision and receipt, as far as they are missing. */
function settlement(
  context: CancelContext,
  gate: ApprovalState,
  lastSeq: number,
  reason: string,
): readonly Event[] {
  const { executionId, call } = gate;
  switch (gate.state) {
    case 'called': {
      const requestSeq = lastSeq + 1;
      return [
        approvalRequest(executionId, call.id),
        ...denial(context, { executionId, callId: call.id, requestSeq, decisionSeq: lastSeq + 2 }, reason),
      ];
    }
    case 'undecided': {
      const { requestSeq } = gate;
      return denial(context, { executionId, callId: call.id, requestSeq, decisionSeq: lastSeq + 1 }, reason);
    }
    case 'decided': {
      const receipt = { requestSeq: gate.requestSeq, decisionSeq: gate.decision.seq };
      const result = gate.decision.result.approved
        ? failedResult(call, new TurnError('canceled', 'the turn was canceled'), receipt)
        : deniedResult(call.id, receipt);
      return [toolResult(executionId, result)];
    }
    case 'receipt':
      return [];
  }
}

interface Denial {
  readonly executionId: string;
  readonly callId: string;
  readonly requestSeq: number;
  readonly decisionSeq: number;
}

function denial({ clock, actor }: CancelContext, denied: Denial, reason: string): readonly Event[] {
  const { executionId, callId, requestSeq } = denied;
  const now = clock.now();
  const seconds = Math.floor(now / MS_PER_SECOND);
  const decision = create(EventSchema, {
    executionId,
    kind: EventKind.EVENT_APPROVAL_RESULT,
    body: {
      case: 'approvalResult',
      value: { toolCallId: callId, approved: false, reason, requestSeq: BigInt(requestSeq) },
    },
    ts: { seconds: BigInt(seconds), nanos: Math.trunc(now - seconds * MS_PER_SECOND) * NANOS_PER_MS },
    ...(actor === undefined ? {} : { actor }),
  });
  return [decision, toolResult(executionId, deniedResult(callId, denied))];
}
