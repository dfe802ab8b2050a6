import { DEFAULT_ISSUE_TYPE, mergeMetadata, wholePriority } from '../bead-rules.ts';
import type { Bead, BeadStatus, Dependency, NewBead } from '../store.ts';

export interface BeadRow {
  readonly num: number;
  readonly id: string;
  readonly title: string;
  readonly status: BeadStatus;
  readonly issue_type: string;
  readonly priority: number | null;
  readonly created_at: string;
  readonly updated_at: string | null;
  readonly closed_at: string | null;
  readonly assignee: string;
  readonly sender: string;
  readonly parent: string;
  readonly ref: string;
  readonly description: string;
  readonly notes: string;
  readonly labels: string;
  readonly metadata: string;
  readonly revision: number;
  /** JSON array of `[depends_on_id, type]`, `null` when the bead has none. */
  readonly needs: string | null;
}

export function toBead(row: BeadRow): Bead {
  return {
    id: row.id,
    title: row.title,
    status: row.status,
    issue_type: row.issue_type,
    priority: row.priority ?? undefined,
    created_at: row.created_at,
    ...(row.updated_at === null ? {} : { updated_at: row.updated_at }),
    ...(row.closed_at === null ? {} : { closed_at: row.closed_at }),
    assignee: row.assignee,
    from: row.sender,
    parent: row.parent,
    ref: row.ref,
    description: row.description,
    ...(row.notes === '' ? {} : { notes: row.notes }),
    labels: JSON.parse(row.labels) as string[],
    metadata: JSON.parse(row.metadata) as Record<string, string>,
    dependencies: row.needs === null ? [] : toDependencies(row.id, row.needs),
    revision: row.revision,
  };
}

function toDependencies(id: string, needs: string): readonly Dependency[] {
  const pairs = JSON.parse(needs) as [string, string][];
  return pairs.map(([dependsOn, type]) => ({ issue_id: id, depends_on_id: dependsOn, type }));
}

type NewBeadFields = Omit<BeadRow, 'num' | 'id' | 'needs' | 'created_at' | 'updated_at' | 'closed_at'>;

/** Fills in what was not given. @throws GcError `invalid-bead` when a value is of the wrong kind. */
export function newBeadFields(bead: NewBead): NewBeadFields {
  return {
    title: bead.title,
    status: 'open',
    issue_type: bead.issue_type || DEFAULT_ISSUE_TYPE,
    priority: bead.priority === undefined ? null : wholePriority(bead.priority),
    assignee: bead.assignee ?? '',
    sender: bead.from ?? '',
    parent: bead.parent ?? '',
    ref: bead.ref ?? '',
    description: bead.description ?? '',
    notes: bead.notes ?? '',
    labels: JSON.stringify(bead.labels ?? []),
    metadata: JSON.stringify(mergeMetadata({}, bead.metadata ?? {})),
    revision: 1,
  };
}
