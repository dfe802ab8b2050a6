import { GcError } from '../platform/errors.ts';
import type { Bead, BeadPatch, BeadQuery } from './store.ts';

export const DEFAULT_ISSUE_TYPE = 'task';
export const DEFAULT_DEPENDENCY_TYPE = 'blocks';

/** Infrastructure, not work. Source: Gas City's `Ready`; a convoy only holds work, as we see it. */
export const NOT_WORK: readonly string[] = [
  'convoy',
  'merge-request',
  'gate',
  'molecule',
  'message',
  'session',
  'agent',
  'role',
  'rig',
];
export const BLOCKING_DEPENDENCIES: readonly string[] = ['blocks', 'waits-for', 'conditional-blocks'];

/** Nothing was filtered by. @throws GcError `query-needs-filter` unless the query says that it means everything. */
export function refuseUnfiltered(query: BeadQuery): void {
  if (query.allowScan === true) return;
  throw new GcError('query-needs-filter', 'a bead query needs a filter: status, type, label, assignee ...', {
    next: 'add a filter, or allow a scan of all beads',
  });
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
    parent: patch.parent ?? bead.parent,
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
    a.parent === b.parent &&
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

/** @throws GcError `invalid-bead` */
export function wholePriority(priority: number): number {
  if (Number.isSafeInteger(priority)) return priority;
  throw new GcError('invalid-bead', `bead priority must be a whole number, not ${priority}`);
}
