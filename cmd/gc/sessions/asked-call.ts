import type { ApprovalRef } from '../../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import {
  ReplayRequestSchema,
  type Session,
} from '../../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import { create } from '../../../internal/protocol/protobuf.ts';
import type { SessionsHost } from '../../../internal/session/service/sessions-host.ts';
import { onePlainLine } from '../output/plain.ts';
import { uidOf } from './request.ts';

/** Between a call and the request for it stands at most what went wrong meanwhile: more is not looked through. */
const LOOK_BACK = 16n;

/** What the call that waits for a person would do, whole: who answers must see all of it. */
export async function askedCall(
  host: SessionsHost,
  session: Session,
  asked: ApprovalRef,
  signal: AbortSignal,
): Promise<string> {
  const { toolCallId, requestSeq } = asked;
  const fromSeq = requestSeq > LOOK_BACK ? requestSeq - LOOK_BACK : 1n;
  const request = create(ReplayRequestSchema, { session: uidOf(session), fromSeq, toSeq: requestSeq });
  let found = `call ${toolCallId}`;
  for await (const { event } of host.replay(request, signal)) {
    if (event?.body.case !== 'tool' || event.body.value.id !== toolCallId) continue;
    const { tool, args } = event.body.value;
    found = `${tool} ${JSON.stringify(args ?? {})}`;
  }
  return onePlainLine(found);
}
