import { GcError, messageOf } from '../../../internal/platform/errors.ts';
import { protoJson } from '../../../internal/protocol/canonical-json.ts';
import type { ApprovalRef } from '../../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import {
  ApproveRequestSchema,
  type ApproveResponse,
  ApproveResponseSchema,
  GetSessionRequestSchema,
  ResumeRequestSchema,
  type Session,
} from '../../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import { create, type MessageInitShape } from '../../../internal/protocol/protobuf.ts';
import type { SessionsHost } from '../../../internal/session/service/sessions-host.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { refuseAgents } from '../sessions/agent-side.ts';
import { pendingText } from '../sessions/pending.ts';
import { sessionArg } from '../sessions/request.ts';
import { withSessions } from '../sessions/server.ts';
import { stateLine } from '../sessions/session-text.ts';

type Tuple = Pick<ApprovalRef, 'executionId' | 'toolCallId' | 'requestSeq'>;

export const runSessionsApprove: CommandRun = (context, input) => answer(context, input, true);
export const runSessionsDeny: CommandRun = (context, input) => answer(context, input, false);

/** Finds what the session waits for, decides it, and lets the session go on. */
async function answer(context: Context, input: Input, approved: boolean): Promise<number> {
  const uid = sessionArg(input);
  const given = tupleOf(input);
  refuseAgents(context.env, process.pid, approved ? 'approving' : 'denying');
  return withSessions(context, input, async (host) => {
    const { signal } = context;
    const tuple = given ?? (await pendingOf(host, uid, signal));
    const request = {
      session: uid,
      ...tuple,
      approved,
      reason: input.text('reason') ?? '',
      identity: identityOf(context, input),
    };
    const reply = await host.approve(create(ApproveRequestSchema, request), signal);
    if (!context.json) {
      context.out.write(`${approved ? 'approved' : 'denied'} ${uid} seq=${reply.decision?.seq ?? 0n}\n`);
      await context.out.flush();
    }
    const session = await goOn(context, host, uid, reply);
    context.out.write(
      context.json
        ? replyJson({ ...reply, session })
        : stateLine(session) + (await pendingText(context, host, session)),
    );
    return 0;
  });
}

/** All of the tuple or none of it. @throws UsageError */
function tupleOf(input: Input): Tuple | undefined {
  const executionId = input.text('execution');
  const toolCallId = input.text('tool-call');
  const requestSeq = input.count('request-seq', 1);
  const given = [executionId, toolCallId, requestSeq].filter((each) => each !== undefined).length;
  if (given === 0) return undefined;
  if (executionId === undefined || toolCallId === undefined || requestSeq === undefined) {
    throw new UsageError(
      '--execution, --tool-call and --request-seq belong together',
      'give all three, or none: then what the session waits for is answered',
    );
  }
  return { executionId, toolCallId, requestSeq: BigInt(requestSeq) };
}

async function pendingOf(host: SessionsHost, uid: string, signal: AbortSignal): Promise<Tuple> {
  const { pendingApproval } = await host.getSession(create(GetSessionRequestSchema, { uid }), signal);
  if (pendingApproval) {
    const { executionId, toolCallId, requestSeq } = pendingApproval;
    return { executionId, toolCallId, requestSeq };
  }
  throw new GcError('nothing-to-answer', `session ${uid} waits for nobody's answer`, {
    next: `if it was answered and has not gone on: gc sessions resume ${uid}`,
  });
}

/** The log says who answered; the name is what they say of themselves. */
function identityOf(
  { env }: Context,
  input: Input,
): NonNullable<MessageInitShape<typeof ApproveRequestSchema>['identity']> {
  const principal = input.text('actor') ?? (env['USER'] || env['LOGNAME'] || 'human');
  const [issuer, subject] = [input.text('identity-issuer') ?? '', input.text('identity-subject') ?? ''];
  return { principal, issuer, subject };
}

async function goOn(
  context: Context,
  host: SessionsHost,
  uid: string,
  reply: ApproveResponse,
): Promise<Session> {
  try {
    return await host.resume(create(ResumeRequestSchema, { session: uid }), context.signal);
  } catch (error) {
    if (context.json) context.out.write(replyJson(reply));
    throw new GcError(
      'resume-failed',
      `the decision is committed (record ${reply.decision?.seq ?? 0n}), but the session did not go on: ${messageOf(error)}`,
      { cause: error, next: `gc sessions resume ${uid}` },
    );
  }
}

const replyJson = (reply: ApproveResponse): string =>
  `${JSON.stringify(protoJson(ApproveResponseSchema, reply), null, 2)}\n`;
