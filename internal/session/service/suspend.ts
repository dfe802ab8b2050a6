import type { Session, SuspendRequest } from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { changeableRow } from './city-sessions.ts';
import { type HostContext, required } from './host-context.ts';
import { unfinishedHarness } from './log-facts.ts';
import { suspendRecord } from './run-placed.ts';
import { currentSession } from './session-view.ts';

/** Notes that a session is cold; each call notes it again. Source: agentsessions.v1 Suspend. */
export async function suspend(context: HostContext, { session: uid }: SuspendRequest): Promise<Session> {
  required('session', uid);
  const row = await changeableRow(context, uid);
  await context.guard.hold(uid, async () => {
    const found = await context.facts.now(uid);
    const recorded = found.blockingApproval === undefined ? '' : unfinishedHarness(found);
    context.roster.recorded(row.harness, recorded);
    await context.store.append(uid, [suspendRecord(uid)], { expected: found.lastSeq, newIncarnation: true });
  });
  return await currentSession(context, uid);
}
