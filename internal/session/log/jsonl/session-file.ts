import { GcError, messageOf } from '../../../platform/errors.ts';
import type { NewSessionRow, SessionRow } from '../session-log.ts';

/** What is kept of a session beside its records. Times are nanoseconds since the epoch. */
export interface SessionMeta
  extends Pick<
    SessionRow,
    | 'uid'
    | 'project'
    | 'name'
    | 'harness'
    | 'model'
    | 'parentUid'
    | 'forkSeq'
    | 'createdAt'
    | 'updatedAt'
    | 'labels'
    | 'annotations'
    | 'origin'
    | 'identity'
    | 'deletedAt'
  > {
  /** The incarnation that was begun last, when no record of it may be there yet. */
  readonly fence: number;
}

/** The format of everything in the folder. */
const FORMAT = 1;

export function newMeta(row: NewSessionRow, now: bigint): SessionMeta {
  const { uid, project, name = '', harness = '', model = '' } = row;
  const { labels = {}, annotations = {}, origin = '', identity = '' } = row;
  return {
    uid,
    project,
    name,
    harness,
    model,
    parentUid: '',
    forkSeq: 0,
    createdAt: now,
    updatedAt: now,
    labels,
    annotations,
    origin,
    identity,
    fence: 0,
    deletedAt: undefined,
  };
}

export function encodeMeta(meta: SessionMeta): string {
  const { parentUid, forkSeq, createdAt, updatedAt, deletedAt, ...same } = meta;
  const written = {
    format: FORMAT,
    ...same,
    parent_uid: parentUid,
    fork_seq: forkSeq,
    created_at: String(createdAt),
    updated_at: String(updatedAt),
    ...(deletedAt === undefined ? {} : { deleted_at: String(deletedAt) }),
  };
  return `${JSON.stringify(written, undefined, 2)}\n`;
}

/** @throws GcError `log-format` for one of another version, `store-corrupt` when it makes no sense */
export function decodeMeta(text: string, path: string): SessionMeta {
  const read = asObject(parse(text, path));
  if (read['format'] !== FORMAT) {
    const found = JSON.stringify(read['format']) ?? 'none';
    throw new GcError('log-format', `${path} is of format ${found}; this gc knows format ${FORMAT}`, {
      next: 'use the gc that wrote it, or move its files away',
    });
  }
  const word = (key: string): string => {
    const value = read[key];
    return typeof value === 'string' ? value : '';
  };
  const count = (key: string): number => {
    const value = read[key];
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : 0;
  };
  return {
    uid: word('uid'),
    project: word('project'),
    name: word('name'),
    harness: word('harness'),
    model: word('model'),
    parentUid: word('parent_uid'),
    forkSeq: count('fork_seq'),
    createdAt: nanos(word('created_at')) ?? 0n,
    updatedAt: nanos(word('updated_at')) ?? 0n,
    labels: strings(read['labels']),
    annotations: strings(read['annotations']),
    origin: word('origin'),
    identity: word('identity'),
    fence: count('fence'),
    deletedAt: nanos(word('deleted_at')),
  };
}

function parse(text: string, path: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new GcError('store-corrupt', `${path} is not readable: ${messageOf(error)}`, {
      cause: error,
      next: `move it away; the records beside it stay, and the session is found by them`,
    });
  }
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function strings(value: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(asObject(value)).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  );
  return Object.fromEntries(entries);
}

function nanos(text: string): bigint | undefined {
  return /^[0-9]{1,20}$/.test(text) ? BigInt(text) : undefined;
}
