import { SessionSchema } from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { create } from '../../protocol/protobuf.ts';
import { rememberingLog } from '../log/remembered-records.ts';
import { approve } from './approve.ts';
import { cancel } from './cancel.ts';
import { createSession } from './create-session.ts';
import { deleteSession } from './delete-session.ts';
import { type Doing, refuseWhenInterrupted } from './error-table.ts';
import { exec } from './exec.ts';
import { fork } from './fork.ts';
import { type HostContext, required, type SessionsHostOptions } from './host-context.ts';
import { listSessions } from './list-sessions.ts';
import { LogFacts } from './log-facts.ts';
import { operation, streamOperation } from './operation-log.ts';
import { replaySession } from './replay-session.ts';
import { resume } from './resume.ts';
import { SessionGuard } from './session-guard.ts';
import { currentSession, sessionOf } from './session-view.ts';
import type { CallSignal, SessionsHost } from './sessions-host.ts';
import { suspend } from './suspend.ts';

/** The one host of sessions in this process: two on one store are kept apart by the log alone. */
export function createSessionsHost(options: SessionsHostOptions): SessionsHost {
  const { store } = options;
  const context: HostContext = {
    ...options,
    turnLog: rememberingLog(store),
    guard: new SessionGuard(),
    facts: new LogFacts(store),
  };
  const call = async <T>(
    name: string,
    doing: Doing,
    uid: string,
    signal: CallSignal,
    work: () => Promise<T>,
  ): Promise<T> =>
    await operation(context, { component: 'session', name, doing, uid }, async () => {
      refuseWhenInterrupted(signal);
      return await work();
    });
  return {
    createSession: ({ session = create(SessionSchema) }, signal) =>
      call('create_session', 'decide', '', signal, async () =>
        sessionOf(context, await createSession(context, session)),
      ),
    getSession: ({ uid }, signal) =>
      call('get_session', 'read', uid, signal, async () => {
        required('uid', uid);
        return await currentSession(context, uid);
      }),
    listSessions: (request, signal) =>
      call('list_sessions', 'read', '', signal, () => listSessions(context, request, signal)),
    deleteSession: (request, signal) =>
      call('delete_session', 'read', request.uid, signal, () => deleteSession(context, request)),
    exec: (request, signal) =>
      streamOperation(
        context,
        { component: 'session', name: 'exec', doing: 'turn', uid: request.session },
        () => exec(context, request, signal),
      ),
    replay: (request, signal) =>
      streamOperation(
        context,
        { component: 'session', name: 'replay', doing: 'replay', uid: request.session },
        () => replaySession(context, request, signal),
      ),
    approve: (request, signal) =>
      call('approve', 'decide', request.session, signal, () => approve(context, request)),
    cancel: (request, signal) =>
      call('cancel', 'decide', request.session, signal, () => cancel(context, request)),
    suspend: (request, signal) =>
      call('suspend', 'decide', request.session, signal, () => suspend(context, request)),
    resume: (request, signal) =>
      call('resume', 'turn', request.session, signal, () => resume(context, request.session, signal)),
    fork: (request, signal) =>
      call('fork', 'turn', request.session, signal, () => fork(context, request, signal)),
  };
}
