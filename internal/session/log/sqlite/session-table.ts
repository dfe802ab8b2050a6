import type { SqliteDatabase } from '../../../platform/sqlite.ts';
import type { ThreadStatement } from '../../../platform/sqlite-thread.ts';
import type { ListOptions, NewSessionRow, SessionRow, StoredComputeState } from '../session-log.ts';
import { nanos } from '../unique-nanos.ts';

/** As stored; integers as bigint. */
interface Row {
  readonly session: string;
  readonly fence: bigint;
  readonly project: string;
  readonly name: string;
  readonly harness: string;
  readonly model: string;
  readonly parent_uid: string;
  readonly fork_seq: bigint;
  readonly compute_state: string;
  readonly created_at: bigint;
  readonly updated_at: bigint;
  readonly labels: string;
  readonly annotations: string;
  readonly origin: string;
  readonly identity: string;
  readonly last_seq: bigint;
  readonly deleted_at: bigint | null;
}

export interface InsertedSession extends NewSessionRow {
  readonly fence: number;
  readonly computeState: StoredComputeState;
  readonly parentUid?: string;
  readonly forkSeq?: number;
}

const SELECT = `SELECT s.*, g.deleted_at,
    COALESCE((SELECT MAX(seq) FROM events e WHERE e.session = s.session), 0) AS last_seq
  FROM sessions s LEFT JOIN gascity_deleted g ON g.session = s.session`;

/** Created later than every session of its project, whatever the clock says. */
const INSERT = `INSERT INTO sessions (session, fence, project, name, harness, model, parent_uid, fork_seq, compute_state,
    labels, annotations, origin, identity, created_at, updated_at)
  SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, at, at FROM (
    SELECT MAX(?, COALESCE((SELECT MAX(created_at) + 1 FROM sessions WHERE project = ?), 0)) AS at)`;

const KEYSET = '(s.created_at < ? OR (s.created_at = ? AND s.session > ?))';

/** The rows of `sessions`. All synchronous. */
export class SessionTable {
  readonly #db: SqliteDatabase;
  readonly #get;
  readonly #state;
  readonly #insert;
  readonly #touch;
  readonly #rename;
  readonly #delete;

  constructor(db: SqliteDatabase) {
    this.#db = db;
    this.#get = db.prepare<[string], Row>(`${SELECT} WHERE s.session = ?`).safeIntegers();
    this.#state = db
      .prepare<[string], readonly [number, string, number | null]>(
        `SELECT s.fence, s.compute_state, g.deleted_at IS NOT NULL
         FROM sessions s LEFT JOIN gascity_deleted g ON g.session = s.session WHERE s.session = ?`,
      )
      .raw();
    this.#insert = db.prepare(INSERT);
    this.#touch = db.prepare<[number, string, bigint, string]>(
      'UPDATE sessions SET fence = ?, compute_state = ?, updated_at = MAX(updated_at + 1, ?) WHERE session = ?',
    );
    this.#rename = db.prepare<[string, bigint, string]>(
      'UPDATE sessions SET name = ?, updated_at = MAX(updated_at + 1, ?) WHERE session = ?',
    );
    this.#delete = db.prepare<[string, bigint]>(
      'INSERT OR IGNORE INTO gascity_deleted (session, deleted_at) VALUES (?, ?)',
    );
  }

  get(uid: string): SessionRow | undefined {
    const row = this.#get.get(uid);
    return row && sessionOf(row);
  }

  /** What an append has to know. */
  state(
    uid: string,
  ): { readonly fence: number; readonly state: StoredComputeState; readonly deleted: boolean } | undefined {
    const found = this.#state.get(uid);
    if (!found) return undefined;
    const [fence, state, deleted] = found;
    return { fence, state: state as StoredComputeState, deleted: deleted === 1 };
  }

  insert(row: InsertedSession, now: bigint): void {
    this.#insert.run(...insertSession(row, now).values);
  }

  touch(uid: string, fence: number, state: StoredComputeState, nowMs: number): void {
    this.#touch.run(fence, state, nanos(nowMs), uid);
  }

  rename(uid: string, name: string, nowMs: number): void {
    this.#rename.run(name, nanos(nowMs), uid);
  }

  markDeleted(uid: string, nowMs: number): void {
    this.#delete.run(uid, nanos(nowMs));
  }

  list({ project, after, limit, includeDeleted = false }: ListOptions): readonly SessionRow[] {
    const conditions = [
      ...(project === undefined ? [] : ['s.project = ?']),
      ...(after ? [KEYSET] : []),
      ...(includeDeleted ? [] : ['g.session IS NULL']),
    ];
    const where = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`;
    const values = [
      ...(project === undefined ? [] : [project]),
      ...(after ? [after.createdAt, after.createdAt, after.uid] : []),
      limit,
    ];
    return this.#db
      .prepare<unknown[], Row>(`${SELECT} ${where} ORDER BY s.created_at DESC, s.session LIMIT ?`)
      .safeIntegers()
      .all(...values)
      .map(sessionOf);
  }

  /** Everything of a session but its records. */
  removeRow(uid: string): void {
    for (const table of ['sessions', 'gascity_times', 'gascity_sources', 'gascity_deleted'])
      this.#db.prepare(`DELETE FROM ${table} WHERE session = ?`).run(uid);
  }

  /** Removes records from the end. @returns how many */
  removeRecords(uid: string, limit: number): number {
    return this.#db
      .prepare(
        `DELETE FROM events WHERE rowid IN
           (SELECT rowid FROM events WHERE session = ? ORDER BY seq DESC LIMIT ?)`,
      )
      .run(uid, limit).changes;
  }
}

/** The statement that adds a row. */
export function insertSession(row: InsertedSession, now: bigint): ThreadStatement {
  const { uid, fence, project, computeState } = row;
  return {
    sql: INSERT,
    values: [
      ...[uid, fence, project, row.name ?? '', row.harness ?? '', row.model ?? ''],
      ...[row.parentUid ?? '', row.forkSeq ?? 0, computeState],
      ...[mapText(row.labels), mapText(row.annotations), row.origin ?? '', row.identity ?? ''],
      ...[now, project],
    ],
  };
}

function sessionOf(row: Row): SessionRow {
  return {
    uid: row.session,
    project: row.project,
    name: row.name,
    harness: row.harness,
    model: row.model,
    parentUid: row.parent_uid,
    forkSeq: Number(row.fork_seq),
    computeState: row.compute_state as StoredComputeState,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    labels: mapOf(row.labels),
    annotations: mapOf(row.annotations),
    origin: row.origin,
    identity: row.identity,
    lastSeq: Number(row.last_seq),
    fence: Number(row.fence),
    deletedAt: row.deleted_at ?? undefined,
  };
}

function mapText(map: Readonly<Record<string, string>> | undefined): string {
  return map === undefined || Object.keys(map).length === 0 ? '' : JSON.stringify(map);
}

/** Another program may have written it: what is no map of strings counts as none. */
function mapOf(text: string): Readonly<Record<string, string>> {
  if (text === '') return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
    return Object.fromEntries(
      Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    );
  } catch {
    return {};
  }
}
