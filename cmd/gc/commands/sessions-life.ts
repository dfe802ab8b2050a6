import { protoJson } from '../../../internal/protocol/canonical-json.ts';
import {
  CancelRequestSchema,
  DeleteSessionRequestSchema,
  ResumeRequestSchema,
  type Session,
  SessionSchema,
  SuspendRequestSchema,
} from '../../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import { create } from '../../../internal/protocol/protobuf.ts';
import type { SessionsHost } from '../../../internal/session/service/sessions-host.ts';
import type { Input } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import { pendingText } from '../sessions/pending.ts';
import { sessionArg } from '../sessions/request.ts';
import { withSessions } from '../sessions/server.ts';
import { stateLine } from '../sessions/session-text.ts';

type Act = (host: SessionsHost, session: string, signal: AbortSignal, input: Input) => Promise<Session>;

/** One call on one session, told by where the session stands afterwards. */
const acting =
  (act: Act): CommandRun =>
  (context, input) => {
    const uid = sessionArg(input);
    return withSessions(context, input, async (host) => {
      const session = await act(host, uid, context.signal, input);
      context.out.write(
        context.json
          ? `${JSON.stringify(protoJson(SessionSchema, session), null, 2)}\n`
          : stateLine(session) + (await pendingText(context, host, session)),
      );
      return 0;
    });
  };

export const runSessionsSuspend = acting((host, session, signal) =>
  host.suspend(create(SuspendRequestSchema, { session }), signal),
);

export const runSessionsResume = acting((host, session, signal) =>
  host.resume(create(ResumeRequestSchema, { session }), signal),
);

export const runSessionsCancel = acting((host, session, signal, input) => {
  const [executionId, reason] = [input.text('execution') ?? '', input.text('reason') ?? ''];
  return host.cancel(create(CancelRequestSchema, { session, executionId, reason }), signal);
});

export const runSessionsDelete = acting((host, uid, signal) =>
  host.deleteSession(create(DeleteSessionRequestSchema, { uid }), signal),
);
