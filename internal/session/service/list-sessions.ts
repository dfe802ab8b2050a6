import {
  type ListSessionsRequest,
  type ListSessionsResponse,
  ListSessionsResponseSchema,
} from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { create } from '../../protocol/protobuf.ts';
import { refuseWhenInterrupted } from './error-table.ts';
import type { HostContext } from './host-context.ts';
import { pageSize, parseSessionToken, sessionToken } from './page-token.ts';
import { listedSession } from './session-view.ts';

/** Newest first. Source: agentsessions.v1 ListSessions; that a damaged session hides only itself is ours. */
export async function listSessions(
  context: HostContext,
  request: ListSessionsRequest,
  signal: AbortSignal,
): Promise<ListSessionsResponse> {
  const size = pageSize(request.pageSize);
  const after = request.pageToken === '' ? undefined : parseSessionToken(request.pageToken);
  const rows = await context.store.list({
    project: request.project || context.project,
    limit: size + 1,
    ...(after === undefined ? {} : { after }),
  });
  const shown = rows.slice(0, size);
  const last = shown.at(-1);
  const sessions = [];
  for (const row of shown) {
    refuseWhenInterrupted(signal);
    sessions.push(await listedSession(context, row));
  }
  const nextPageToken = rows.length > size && last !== undefined ? sessionToken(last) : '';
  return create(ListSessionsResponseSchema, { sessions, nextPageToken });
}
