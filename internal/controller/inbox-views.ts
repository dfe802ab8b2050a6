import type { NudgeRow } from '../beads/sqlite/inbox-table.ts';
import { rfc3339 } from '../platform/clock.ts';
import { displayName } from '../session/display.ts';
import type { InboxView } from '../session/inbox-store.ts';
import type { SessionRecord } from '../session/record.ts';
import type { NudgeItem, NudgeQueue } from './city-api.ts';

/** What waits for one session, as people and programs see it. */
export function nudgeQueue(view: InboxView, record: SessionRecord | undefined): NudgeQueue {
  const { waiting, buried } = view;
  const items = (rows: readonly NudgeRow[]) => rows.map(nudgeItem);
  return {
    agent: record ? displayName(record) : ((waiting[0] ?? buried[0])?.agent ?? view.sessionName),
    session: view.sessionName,
    session_id: record?.id ?? '',
    pending: items(waiting.filter((row) => row.state === 'queued')),
    in_flight: items(waiting.filter((row) => row.state !== 'queued')),
    dead: items(buried),
    waiting: view.waitingCount,
  };
}

function nudgeItem(row: NudgeRow): NudgeItem {
  const due = Math.max(row.deliverAfterMs, row.createdMs);
  return {
    id: row.id,
    agent: row.agent,
    session_id: row.boundSessionId,
    source: row.source,
    sender: row.sender,
    message: row.message,
    state: row.state,
    created_at: rfc3339(row.createdMs),
    deliver_after: rfc3339(due),
    expires_at: rfc3339(row.expiresMs),
    attempts: row.attempts,
    ...(row.lastAttemptMs > 0 ? { last_attempt_at: rfc3339(row.lastAttemptMs) } : {}),
    ...(row.lastError === '' ? {} : { last_error: row.lastError }),
    ...(row.owner === '' ? {} : { lease_until: rfc3339(row.leaseUntilMs) }),
    ...(row.endedMs === undefined ? {} : { dead_at: rfc3339(row.endedMs) }),
  };
}
