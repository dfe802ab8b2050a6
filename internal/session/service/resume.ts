import type { Session } from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { changeableRow } from './city-sessions.ts';
import { type HostContext, required } from './host-context.ts';
import { recoverPlaced } from './run-placed.ts';
import { currentSession } from './session-view.ts';

/** Goes on with a turn that was cut off or that a person has answered. Source: agentsessions.v1 Resume. */
export async function resume(context: HostContext, uid: string, signal: AbortSignal): Promise<Session> {
  required('session', uid);
  await changeableRow(context, uid);
  await recoverPlaced(
    context,
    { uid, observer: { record: () => undefined, delta: () => undefined } },
    signal,
  );
  return await currentSession(context, uid);
}
