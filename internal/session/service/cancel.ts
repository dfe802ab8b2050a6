import { unreachable } from '../../platform/errors.ts';
import type { CancelRequest, Session } from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { cancelTurn } from '../turn/cancel-turn.ts';
import { changeableRow } from './city-sessions.ts';
import { type HostContext, required } from './host-context.ts';
import { type RunningTurn, TurnCanceled } from './session-guard.ts';
import { currentSession } from './session-view.ts';
import { ServiceError } from './sessions-host.ts';

/**
 * Ends the turn that runs here, or closes one that was cut off earlier and that nobody wants to go on with. Its end is in
 * the log when this returns.
 * Source: agentsessions.v1 names the call and leaves it out; what it does is ours.
 */
export async function cancel(context: HostContext, request: CancelRequest): Promise<Session> {
  const { session: uid, executionId, reason } = request;
  required('session', uid);
  await changeableRow(context, uid);
  const turn = context.guard.turnOf(uid);
  const isOver = turn !== undefined && (await endRunning(turn, executionId, reason));
  if (!isOver) await context.guard.hold(uid, () => closeUnfinished(context, request));
  return await currentSession(context, uid);
}

/** Whether the turn ended because of this; it may have ended by itself first. */
async function endRunning(turn: RunningTurn, executionId: string, reason: string): Promise<boolean> {
  if (executionId !== '' && turn.executionId !== executionId) {
    throw new ServiceError('FAILED_PRECONDITION', `execution ${executionId} is not the one that runs`, {
      next: 'leave execution_id empty to cancel whatever runs',
    });
  }
  turn.end(new TurnCanceled(reason));
  const failure = await turn.over;
  if (failure instanceof TurnCanceled) return true;
  if (failure !== undefined && failure === turn.endedBy()) throw failure;
  return false;
}

async function closeUnfinished(context: HostContext, request: CancelRequest): Promise<void> {
  const { session: uid, executionId, reason } = request;
  const { store, clock } = context;
  const outcome = await cancelTurn({ uid, log: store, clock }, reason, executionId || undefined);
  switch (outcome.kind) {
    case 'canceled':
      return;
    case 'ended':
      throw new ServiceError('FAILED_PRECONDITION', `execution ${outcome.executionId} has ended already`);
    case 'not-latest':
      throw new ServiceError(
        'FAILED_PRECONDITION',
        executionId === ''
          ? `session ${uid} has no turn to cancel`
          : `execution ${executionId} is not the newest one of ${uid}`,
      );
    default:
      return unreachable(outcome);
  }
}
