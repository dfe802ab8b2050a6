import { rfc3339 } from '../../../internal/platform/clock.ts';
import type { SessionRow } from '../../../internal/session/log/session-log.ts';
import type { SessionSummary } from '../../../internal/session/log/summary.ts';

/** One session of `gc log list --json`. `partial`: turns and bytes are those of the first `looked_at` records. */
export const summaryJson = (log: SessionSummary): unknown => ({
  uid: log.uid,
  name: log.name,
  title: log.title,
  project: log.project,
  harness: log.harness,
  model: log.model,
  state: log.state,
  records: log.records,
  turns: log.turns,
  bytes: log.bytes,
  looked_at: log.looked,
  partial: log.partial,
  started_at: rfc3339(log.startedAt),
  last_activity_at: rfc3339(log.lastActivityAt),
  ...(log.forkedFrom ? { forked_from: log.forkedFrom } : {}),
  ...(log.continues ? { continues: log.continues } : {}),
});

/** A session that a command made or changed. */
export const rowJson = ({ uid, name, project, harness, model, parentUid, forkSeq, lastSeq }: SessionRow) => ({
  uid,
  name,
  project,
  harness,
  model,
  ...(parentUid === '' ? {} : { parent_uid: parentUid, fork_seq: forkSeq }),
  last_seq: lastSeq,
});
