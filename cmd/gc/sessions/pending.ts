import type { Session } from '../../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import type { SessionsHost } from '../../../internal/session/service/sessions-host.ts';
import type { Context } from '../context.ts';
import { askedCall } from './asked-call.ts';
import { uidOf } from './request.ts';

/** What a session waits for, and how it is answered; '' when it waits for nobody. */
export async function pendingText(context: Context, host: SessionsHost, session: Session): Promise<string> {
  const asked = session.pendingApproval;
  if (!asked) return '';
  const { executionId, toolCallId, requestSeq } = asked;
  if (!context.out.isTTY)
    return `pending execution=${executionId} tool_call=${toolCallId} request_seq=${requestSeq}\n`;
  const uid = uidOf(session);
  const asks = await askedCall(host, session, asked, context.signal);
  return `waits for you: ${asks}\n  ${context.gc} sessions approve ${uid}\n  ${context.gc} sessions deny ${uid}\n`;
}
