import { GcError } from '../../platform/errors.ts';
import type { Bead, BeadPatch, BeadStatus, Dependency, NewBead } from '../store.ts';

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

export const DEFAULT_ISSUE_TYPE = 'task';
export const DEFAULT_DEPENDENCY_TYPE = 'blocks';

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

/** The bead after the patch, at the same revision; the very same object when nothing changes. */
export function applyPatch(bead: Bead, patch: BeadPatch): Bead {
  const metadata = patch.metadata ? mergeMetadata(bead.metadata, patch.metadata) : bead.metadata;
  const removed = new Set(patch.removeLabels);
  const added = [...bead.labels, ...(patch.addLabels ?? [])];
  const { notes: noted, ...rest } = bead;
  const notes = patch.notes ?? noted ?? '';
  const next: Bead = {
    ...rest,
    ...(notes === '' ? {} : { notes }),
    title: patch.title ?? bead.title,
    status: patch.status ?? bead.status,
    issue_type: patch.issue_type ?? bead.issue_type,
    priority: patch.priority === undefined ? bead.priority : wholePriority(patch.priority),
    assignee: patch.assignee ?? bead.assignee,
    description: patch.description ?? bead.description,
    labels: added.filter((label) => !removed.has(label)),
    metadata,
  };
  return sameBead(bead, next) ? bead : next;
}

/** Later values win; an empty one removes its key. The same object when nothing changes. */
export function mergeMetadata(
  current: Readonly<Record<string, string>>,
  patch: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const changed = Object.entries(patch).filter(([key, value]) => (current[key] ?? '') !== value);
  if (changed.length === 0) return current;
  const next = new Map(Object.entries(current));
  for (const [key, value] of changed) {
    if (value === '') next.delete(key);
    else next.set(key, value);
  }
  return Object.fromEntries(next);
}

function sameBead(a: Bead, b: Bead): boolean {
  return (
    a.title === b.title &&
    a.status === b.status &&
    a.issue_type === b.issue_type &&
    a.priority === b.priority &&
    a.notes === b.notes &&
    a.assignee === b.assignee &&
    a.description === b.description &&
    a.metadata === b.metadata &&
    a.labels.length === b.labels.length &&
    a.labels.every((label, index) => label === b.labels[index])
  );
}

/** `id` or `type:id`. */
export function parseNeed(need: string): { readonly dependsOn: string; readonly type: string } {
  const colon = need.indexOf(':');
  if (colon === -1) return { dependsOn: need, type: DEFAULT_DEPENDENCY_TYPE };
  return { type: need.slice(0, colon) || DEFAULT_DEPENDENCY_TYPE, dependsOn: need.slice(colon + 1) };
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

function wholePriority(priority: number): number {
  if (Number.isSafeInteger(priority)) return priority;
  throw new GcError('invalid-bead', `bead priority must be a whole number, not ${priority}`);
}
