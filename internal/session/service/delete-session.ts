import type { DeleteSessionRequest, Session } from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { refuseCitySession } from './city-sessions.ts';
import { type HostContext, knownRow, required } from './host-context.ts';
import { sessionOf } from './session-view.ts';
import { ServiceError } from './sessions-host.ts';

/**
 * Notes for good that a session is to go. It can be read on, is listed no more and takes nothing new; what it runs now is
 * ended. A repeat changes nothing.
 * Source: agentsessions.v1 says that the intent is durable and that nothing is contacted; the rest is ours.
 */
export async function deleteSession(context: HostContext, { uid }: DeleteSessionRequest): Promise<Session> {
  required('uid', uid);
  refuseCitySession(await knownRow(context, uid));
  const row = await context.store.markDeleted(uid);
  context.guard
    .turnOf(uid)
    ?.end(new ServiceError('FAILED_PRECONDITION', `session ${uid} was deleted while the turn ran`));
  return await sessionOf(context, row);
}
