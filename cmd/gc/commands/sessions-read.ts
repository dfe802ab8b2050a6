import { protoJson } from '../../../internal/protocol/canonical-json.ts';
import { LogRecordSchema } from '../../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import {
  GetSessionRequestSchema,
  ListSessionsRequestSchema,
  ReplayRequestSchema,
  type Session,
  SessionSchema,
} from '../../../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import { create, type JsonValue } from '../../../internal/protocol/protobuf.ts';
import type { CommandRun } from '../cli/spec.ts';
import { screenOf } from '../log/screen.ts';
import { askedCall } from '../sessions/asked-call.ts';
import { wireRecordLine } from '../sessions/record-text.ts';
import { sessionArg } from '../sessions/request.ts';
import { withSessions } from '../sessions/server.ts';
import { renderSessions, sessionBoard, sessionDetail, sessionLine } from '../sessions/session-text.ts';

export const runSessionsList: CommandRun = (context, input) => {
  const project = input.text('project') ?? '';
  const pageSize = input.count('page-size', 1) ?? 0;
  const screen = screenOf(context);
  return withSessions(context, input, async (host) => {
    const all: Session[] = [];
    let pageToken = '';
    do {
      const request = create(ListSessionsRequestSchema, { project, pageSize, pageToken });
      const page = await host.listSessions(request, context.signal);
      if (context.json || screen) all.push(...page.sessions);
      else context.out.write(page.sessions.map(sessionLine).join(''));
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    if (context.json) {
      const sessions = all.map((session): JsonValue => protoJson(SessionSchema, session));
      context.out.write(`${JSON.stringify({ sessions }, null, 2)}\n`);
    } else if (screen) context.out.write(renderSessions(all, screen));
    return 0;
  });
};

export const runSessionsGet: CommandRun = (context, input) => {
  const request = create(GetSessionRequestSchema, { uid: sessionArg(input) });
  const screen = screenOf(context);
  return withSessions(context, input, async (host) => {
    const session = await host.getSession(request, context.signal);
    if (context.json) {
      context.out.write(`${JSON.stringify(protoJson(SessionSchema, session), null, 2)}\n`);
    } else if (screen) {
      const asked = session.pendingApproval;
      const asks = asked ? await askedCall(host, session, asked, context.signal) : '';
      context.out.write(sessionBoard(session, screen, asks));
    } else context.out.write(sessionDetail(session));
    return 0;
  });
};

export const runSessionsReplay: CommandRun = (context, input) => {
  const request = create(ReplayRequestSchema, {
    session: sessionArg(input),
    fromSeq: BigInt(input.count('from', 1) ?? 1),
    toSeq: BigInt(input.count('to', 1) ?? 0),
  });
  return withSessions(context, input, async (host) => {
    for await (const record of host.replay(request, context.signal)) {
      context.out.write(
        context.json ? `${JSON.stringify(protoJson(LogRecordSchema, record))}\n` : wireRecordLine(record),
      );
      await context.out.flush();
    }
    return 0;
  });
};
