import { createHash } from 'node:crypto';
import { GcError } from '../../platform/errors.ts';
import { DEFAULT_ISSUE_TYPE, mergeMetadata, wholePriority } from '../bead-rules.ts';
import type { Bead, BeadComment, BeadStatus, Dependency, NewBead } from '../store.ts';
import { isObject, type RawBead, textOf } from './document.ts';

/** A bead but for what it takes to compute or to look up elsewhere. */
export type BeadFacts = Omit<Bead, 'revision' | 'dependencies'>;

/**
 * What the layout has no keys for is kept in metadata, the one place that every program which writes the file keeps.
 * These keys are no metadata of the bead to anybody else.
 */
const NOTES = 'gc.notes';
const COMMENTS = 'gc.comments';
const UPDATED_AT = 'gc.updated_at';
const CLOSED_AT = 'gc.closed_at';
const OWN_KEYS: ReadonlySet<string> = new Set([NOTES, COMMENTS, UPDATED_AT, CLOSED_AT]);

/** 48 bits: a whole number that JavaScript holds exactly. */
const REVISION_BYTES = 6;

export function toFacts(raw: RawBead): BeadFacts {
  const metadata = textsOf(raw['metadata']);
  const status = statusOf(raw['status']);
  const updatedAt = metadata.get(UPDATED_AT) ?? textOf(raw['updated_at']);
  const closedAt = status === 'closed' ? (metadata.get(CLOSED_AT) ?? '') : '';
  const notes = metadata.get(NOTES) ?? textOf(raw['notes']);
  return {
    id: textOf(raw['id']),
    title: textOf(raw['title']),
    status,
    issue_type: textOf(raw['issue_type']) || DEFAULT_ISSUE_TYPE,
    priority: typeof raw['priority'] === 'number' ? raw['priority'] : undefined,
    created_at: textOf(raw['created_at']),
    ...(updatedAt === '' ? {} : { updated_at: updatedAt }),
    ...(closedAt === '' ? {} : { closed_at: closedAt }),
    assignee: textOf(raw['assignee']),
    from: textOf(raw['from']),
    parent: textOf(raw['parent']),
    ref: textOf(raw['ref']),
    description: textOf(raw['description']),
    ...(notes === '' ? {} : { notes }),
    labels: listOf(raw['labels']),
    metadata: Object.fromEntries([...metadata].filter(([key, value]) => value !== '' && !OWN_KEYS.has(key))),
  };
}

/**
 * Another number after every change, whoever made it: other programs write here that count nothing, so it is made from
 * the bead itself.
 */
export function revisionOf(raw: RawBead, dependencies: readonly Dependency[]): number {
  const hash = createHash('sha256').update(JSON.stringify([raw, dependencies]));
  return hash.digest().readUIntBE(0, REVISION_BYTES);
}

/** @throws GcError `invalid-bead` */
export function newRaw(id: string, bead: NewBead, now: string): RawBead {
  refuseOwnKeys(bead.metadata);
  const metadata = {
    ...mergeMetadata({}, bead.metadata ?? {}),
    ...(bead.notes ? { [NOTES]: bead.notes } : {}),
    [UPDATED_AT]: now,
  };
  return {
    id,
    title: bead.title,
    status: 'open',
    issue_type: bead.issue_type || DEFAULT_ISSUE_TYPE,
    ...(bead.priority === undefined ? {} : { priority: wholePriority(bead.priority) }),
    created_at: now,
    ...filled('assignee', bead.assignee),
    ...filled('from', bead.from),
    ...filled('parent', bead.parent),
    ...filled('ref', bead.ref),
    ...(bead.needs?.length ? { needs: bead.needs } : {}),
    ...filled('description', bead.description),
    ...(bead.labels?.length ? { labels: bead.labels } : {}),
    metadata,
  };
}

/** The raw bead after a change of its facts. */
export function changedRaw(raw: RawBead, before: BeadFacts, after: BeadFacts, now: string): RawBead {
  const metadata = new Map(
    [...textsOf(raw['metadata'])].filter(([key]) => OWN_KEYS.has(key) || key in after.metadata),
  );
  for (const [key, value] of Object.entries(after.metadata)) metadata.set(key, value);
  setOwn(metadata, NOTES, after.notes ?? '');
  if (after.status !== 'closed') metadata.delete(CLOSED_AT);
  else if (before.status !== 'closed') metadata.set(CLOSED_AT, now);
  metadata.set(UPDATED_AT, now);
  const { notes: _notes, ...kept } = raw;
  return {
    ...kept,
    title: after.title,
    ...(after.status === before.status ? {} : { status: after.status }),
    issue_type: after.issue_type,
    ...(after.priority === undefined ? {} : { priority: after.priority }),
    ...changed('assignee', raw, after.assignee),
    ...changed('parent', raw, after.parent),
    ...changed('description', raw, after.description),
    ...(after.labels.length > 0 || 'labels' in raw ? { labels: after.labels } : {}),
    metadata: Object.fromEntries(metadata),
  };
}

/** The same facts, changed now: what it waits for is another, or somebody said something. */
export function touchedRaw(raw: RawBead, now: string, comments?: readonly BeadComment[]): RawBead {
  const metadata = textsOf(raw['metadata']);
  metadata.set(UPDATED_AT, now);
  if (comments) metadata.set(COMMENTS, JSON.stringify(comments));
  return { ...raw, metadata: Object.fromEntries(metadata) };
}

/** Oldest first. */
export function commentsOf(raw: RawBead): readonly BeadComment[] {
  const text = textsOf(raw['metadata']).get(COMMENTS);
  if (text === undefined) return [];
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? value.filter(isObject).map(toComment) : [];
  } catch {
    return []; // another program wrote something of its own there
  }
}

/** @throws GcError `invalid-bead` */
export function refuseOwnKeys(metadata: Readonly<Record<string, string>> | undefined): void {
  const taken = Object.keys(metadata ?? {}).find((key) => OWN_KEYS.has(key));
  if (taken === undefined) return;
  throw new GcError('invalid-bead', `the metadata key ${taken} is used by the bead file itself`, {
    next: 'choose another key',
  });
}

const toComment = (raw: RawBead): BeadComment => ({
  author: textOf(raw['author']),
  text: textOf(raw['text']),
  created_at: textOf(raw['created_at']),
});

/** A state that is none of ours is work that nobody should begin. */
function statusOf(value: unknown): BeadStatus {
  if (value === 'open' || value === 'closed' || value === 'in_progress') return value;
  return textOf(value) === '' ? 'open' : 'in_progress';
}

/** Values that are not text become the text of their JSON. */
function textsOf(value: unknown): Map<string, string> {
  const entries = isObject(value) ? Object.entries(value) : [];
  return new Map(
    entries.map(([key, each]) => [key, typeof each === 'string' ? each : (JSON.stringify(each) ?? '')]),
  );
}

const listOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];

function setOwn(metadata: Map<string, string>, key: string, value: string): void {
  if (value === '') metadata.delete(key);
  else metadata.set(key, value);
}

const filled = (key: string, text: string | undefined): RawBead => (text ? { [key]: text } : {});

/** An empty value is written only over one that is there. */
const changed = (key: string, raw: RawBead, text: string): RawBead =>
  text !== '' || key in raw ? { [key]: text } : {};
