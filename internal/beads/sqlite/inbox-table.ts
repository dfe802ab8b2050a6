import type { SqliteDatabase } from '../../platform/sqlite.ts';
import { rowText } from './row-text.ts';

/**
 * One row per message to a session. Its number is its place in the queue. Rows of which the outcome is known stay for a
 * while: a sender that repeats its request is told what came of the first one.
 */
export const INBOX_SCHEMA = `
CREATE TABLE nudges (
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  agent TEXT NOT NULL,
  session_name TEXT NOT NULL,
  bound_session_id TEXT NOT NULL,
  template TEXT NOT NULL,
  sender TEXT NOT NULL,
  source TEXT NOT NULL,
  delivery TEXT NOT NULL CHECK (delivery IN ('wait-idle', 'immediate', 'queue')),
  message TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('queued', 'leased', 'typed', 'accepted', 'refused', 'expired', 'dead')),
  attempts INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  owner TEXT NOT NULL,
  lease_until_ms INTEGER NOT NULL,
  deliver_after_ms INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  last_attempt_ms INTEGER NOT NULL,
  last_error TEXT NOT NULL,
  evidence TEXT NOT NULL,
  ended_ms INTEGER
);
CREATE INDEX nudges_waiting ON nudges (session_name, num) WHERE ended_ms IS NULL;
CREATE INDEX nudges_in_hand ON nudges (session_name, num) WHERE state IN ('leased', 'typed');
CREATE INDEX nudges_urgent ON nudges (session_name, num) WHERE state = 'queued' AND delivery = 'immediate';
CREATE INDEX nudges_bound ON nudges (bound_session_id) WHERE bound_session_id <> '' AND ended_ms IS NULL;
CREATE INDEX nudges_expiring ON nudges (expires_ms) WHERE ended_ms IS NULL;
CREATE INDEX nudges_ended ON nudges (session_name, ended_ms) WHERE ended_ms IS NOT NULL;
CREATE INDEX nudges_kept ON nudges (ended_ms) WHERE ended_ms IS NOT NULL;
`;

export type NudgeDelivery = 'wait-idle' | 'immediate' | 'queue';

export type NudgeState = 'queued' | 'leased' | 'typed' | 'accepted' | 'refused' | 'expired' | 'dead';

/** Times are milliseconds since the epoch; 0: never. */
export interface NudgeRow {
  readonly num: number;
  readonly id: string;
  /** What people call the session. */
  readonly agent: string;
  /** Whoever has this runtime name gets it. */
  readonly sessionName: string;
  /** Only the session with this record id gets it; `''`: the name's current one. */
  readonly boundSessionId: string;
  readonly template: string;
  readonly sender: string;
  readonly source: string;
  readonly delivery: NudgeDelivery;
  /** `''` once it was accepted. */
  readonly message: string;
  readonly state: NudgeState;
  /** Every try, also one that found the agent busy. */
  readonly attempts: number;
  /** Tries that went wrong for another reason. */
  readonly failures: number;
  /** Grows with every lease: who holds an older one has lost it. */
  readonly fence: number;
  /** Who holds the lease; `''`: nobody. */
  readonly owner: string;
  readonly leaseUntilMs: number;
  readonly deliverAfterMs: number;
  readonly createdMs: number;
  readonly expiresMs: number;
  readonly lastAttemptMs: number;
  readonly lastError: string;
  /** What the screen showed right before the text was typed, JSON; `''` before that. */
  readonly evidence: string;
  /** When the outcome was known; `undefined` while it is not. */
  readonly endedMs: number | undefined;
}

export type NewNudgeRow = Omit<NudgeRow, 'num'>;

/** What changes in the life of a row. */
export type NudgePatch = Partial<
  Pick<
    NudgeRow,
    | 'delivery'
    | 'message'
    | 'state'
    | 'attempts'
    | 'failures'
    | 'fence'
    | 'owner'
    | 'leaseUntilMs'
    | 'deliverAfterMs'
    | 'expiresMs'
    | 'lastAttemptMs'
    | 'lastError'
    | 'evidence'
    | 'endedMs'
  >
>;

const COLUMNS = {
  num: 'num',
  id: 'id',
  agent: 'agent',
  sessionName: 'session_name',
  boundSessionId: 'bound_session_id',
  template: 'template',
  sender: 'sender',
  source: 'source',
  delivery: 'delivery',
  message: 'message',
  state: 'state',
  attempts: 'attempts',
  failures: 'failures',
  fence: 'fence',
  owner: 'owner',
  leaseUntilMs: 'lease_until_ms',
  deliverAfterMs: 'deliver_after_ms',
  createdMs: 'created_ms',
  expiresMs: 'expires_ms',
  lastAttemptMs: 'last_attempt_ms',
  lastError: 'last_error',
  evidence: 'evidence',
  endedMs: 'ended_ms',
} as const satisfies Record<keyof NudgeRow, string>;

const { select: SELECT, insert: INSERT, sets } = rowText('nudges', COLUMNS);

type Stored = Omit<NudgeRow, 'endedMs'> & { readonly endedMs: number | null };

const rowOf = (stored: Stored): NudgeRow => ({ ...stored, endedMs: stored.endedMs ?? undefined });

/** Synchronous access to the rows; the callers bring the transaction and the retry. */
export class InboxTable {
  readonly #db: SqliteDatabase;

  constructor(db: SqliteDatabase) {
    this.#db = db;
  }

  insert(row: NewNudgeRow): void {
    this.#db.prepare(INSERT).run({ ...row, endedMs: row.endedMs ?? null });
  }

  find(id: string): NudgeRow | undefined {
    return this.#rows('WHERE id = ?', id)[0];
  }

  update(num: number, patch: NudgePatch): void {
    const changed = sets(patch);
    if (changed === '') return;
    const values = 'endedMs' in patch ? { ...patch, endedMs: patch.endedMs ?? null } : patch;
    this.#db.prepare(`UPDATE nudges SET ${changed} WHERE num = @num`).run({ ...values, num });
  }

  /** The oldest of which the outcome is not known. */
  waiting(sessionName: string, limit: number): readonly NudgeRow[] {
    return this.#rows('WHERE ended_ms IS NULL AND session_name = ? ORDER BY num LIMIT ?', sessionName, limit);
  }

  /** The oldest that nobody has in hand. */
  queued(sessionName: string): NudgeRow | undefined {
    return this.#rows(
      `WHERE ended_ms IS NULL AND session_name = ? AND state = 'queued' ORDER BY num LIMIT 1`,
      sessionName,
    )[0];
  }

  /** Those that somebody has in hand. */
  inHand(sessionName: string): readonly NudgeRow[] {
    return this.#rows(`WHERE session_name = ? AND state IN ('leased', 'typed') ORDER BY num`, sessionName);
  }

  /** The oldest one that does not wait its turn. */
  urgent(sessionName: string): NudgeRow | undefined {
    return this.#rows(
      `WHERE session_name = ? AND state = 'queued' AND delivery = 'immediate' ORDER BY num LIMIT 1`,
      sessionName,
    )[0];
  }

  waitingCount(sessionName: string): number {
    const row = this.#db
      .prepare<[string], { n: number }>(
        'SELECT count(*) AS n FROM nudges WHERE ended_ms IS NULL AND session_name = ?',
      )
      .get(sessionName);
    return row?.n ?? 0;
  }

  /** Of one session, or of all: those that ended otherwise than by being accepted or refused, newest first. */
  buried(sessionName: string, limit: number): readonly NudgeRow[] {
    return this.#rows(
      `WHERE session_name = ? AND ended_ms IS NOT NULL AND state IN ('dead', 'expired') ORDER BY ended_ms DESC, num DESC LIMIT ?`,
      sessionName,
      limit,
    );
  }

  /** The names that something waits for; costs one step per name, however much waits. */
  namesWaiting(): readonly string[] {
    return this.#names('ended_ms IS NULL');
  }

  namesEnded(): readonly string[] {
    return this.#names('ended_ms IS NOT NULL');
  }

  boundIds(): readonly string[] {
    return this.#db
      .prepare<[], { id: string }>(
        `SELECT DISTINCT bound_session_id AS id FROM nudges WHERE bound_session_id <> '' AND ended_ms IS NULL`,
      )
      .all()
      .map(({ id }) => id);
  }

  /** Those that only this session may get and that nobody has in hand. */
  bound(sessionId: string): readonly NudgeRow[] {
    return this.#rows(
      `WHERE bound_session_id = ? AND bound_session_id <> '' AND ended_ms IS NULL AND state = 'queued' ORDER BY num`,
      sessionId,
    );
  }

  /** When the next one expires; `undefined`: none waits. */
  nextExpiry(): number | undefined {
    const row = this.#db
      .prepare<[], { at: number | null }>('SELECT min(expires_ms) AS at FROM nudges WHERE ended_ms IS NULL')
      .get();
    return row?.at ?? undefined;
  }

  /** Those whose time has run out and that nobody has in hand. */
  overdue(nowMs: number, limit: number): readonly NudgeRow[] {
    return this.#rows(
      `WHERE ended_ms IS NULL AND expires_ms <= ? AND (state = 'queued' OR lease_until_ms <= ?) ORDER BY expires_ms LIMIT ?`,
      nowMs,
      nowMs,
      limit,
    );
  }

  /** Moves every deadline of what waits. */
  shift(ms: number): void {
    this.#db
      .prepare(
        `UPDATE nudges SET expires_ms = expires_ms + @ms, deliver_after_ms = deliver_after_ms + @ms,
         lease_until_ms = lease_until_ms + @ms WHERE ended_ms IS NULL`,
      )
      .run({ ms });
  }

  /** Forgets what ended before: what was buried is kept until `buriedBefore`. */
  prune(endedBefore: number, buriedBefore: number): void {
    this.#db
      .prepare(
        `DELETE FROM nudges WHERE ended_ms IS NOT NULL AND ended_ms < ?
         AND (ended_ms < ? OR state IN ('accepted', 'refused'))`,
      )
      .run(endedBefore, buriedBefore);
  }

  #names(where: string): readonly string[] {
    const sql = `WITH RECURSIVE names (name) AS (
        SELECT min(session_name) FROM nudges WHERE ${where}
        UNION ALL
        SELECT (SELECT min(session_name) FROM nudges WHERE ${where} AND session_name > names.name)
        FROM names WHERE names.name IS NOT NULL
      ) SELECT name FROM names WHERE name IS NOT NULL`;
    return this.#db
      .prepare<[], { name: string }>(sql)
      .all()
      .map(({ name }) => name);
  }

  #rows(where: string, ...values: readonly (string | number)[]): readonly NudgeRow[] {
    return this.#db
      .prepare<(string | number)[], Stored>(`${SELECT} ${where}`)
      .all(...values)
      .map(rowOf);
  }
}
