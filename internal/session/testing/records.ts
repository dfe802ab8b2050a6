import type { BeadStatus } from '../../beads/store.ts';
import type { SessionRecord } from '../record.ts';
import { toSessionRecord } from '../record-codec.ts';

/** The time at which tests of pure parts happen. */
export const NOW = Date.UTC(2026, 5, 1, 12, 0, 0);

let made = 0;

/** A session record with just these metadata keys. */
export function record(
  metadata: Readonly<Record<string, string>>,
  bead: {
    readonly id?: string;
    readonly status?: BeadStatus;
    readonly createdAt?: number;
    readonly title?: string;
  } = {},
): SessionRecord {
  made += 1;
  const present = Object.entries(metadata).filter(([, value]) => value !== '');
  return toSessionRecord({
    id: bead.id ?? `gc-${made}`,
    title: bead.title ?? 'a session',
    status: bead.status ?? 'open',
    issue_type: 'session',
    priority: undefined,
    created_at: new Date(bead.createdAt ?? NOW - 3_600_000).toISOString(),
    assignee: '',
    from: '',
    parent: '',
    ref: '',
    description: '',
    labels: ['gc:session'],
    metadata: Object.fromEntries(present),
    dependencies: [],
    revision: 1,
  });
}

/** The record after a patch, as the store would have it. */
export function patched(before: SessionRecord, patch: Readonly<Record<string, string>>): SessionRecord {
  return record(
    { ...before.metadata, ...patch },
    {
      id: before.id,
      status: before.closed ? 'closed' : 'open',
      createdAt: before.createdAt,
      title: before.title,
    },
  );
}
