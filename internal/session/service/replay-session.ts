import type { LogRecord } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ReplayRequest } from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { soundPage } from '../log/export.ts';
import { PAGE_BYTES } from '../log/session-log.ts';
import { refuseWhenInterrupted } from './error-table.ts';
import type { HostContext } from './host-context.ts';
import { logRecord } from './session-view.ts';

const REPLAY_PAGE = 500;

/**
 * What is committed, in order, up to the first damage. A session that nobody knows has no records.
 * Source: agentsessions.v1 Replay.
 */
export async function* replaySession(
  { store }: HostContext,
  { session, fromSeq, toSeq }: ReplayRequest,
  signal: AbortSignal,
): AsyncGenerator<LogRecord> {
  const head = (await store.head(session)).seq;
  const to = toSeq === 0n ? head : Math.min(head, Number(toSeq));
  let from = fromSeq <= 0n ? 1 : Number(fromSeq);
  while (from <= to) {
    refuseWhenInterrupted(signal);
    const page = await soundPage(store, session, { from, to, limit: REPLAY_PAGE, maxBytes: PAGE_BYTES });
    if (page.length === 0) return;
    for (const record of page) yield logRecord(record);
    from += page.length;
  }
}
