import type { SqliteDatabase } from '../../platform/sqlite.ts';

/**
 * What the city has to tell its session logs: rows are written with the change that they tell of, and go away once they
 * stand in the log. Beside them how far each conversation was read.
 */
export const OUTBOX_SCHEMA = `
CREATE TABLE log_outbox (
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  log_uid TEXT NOT NULL,
  source TEXT NOT NULL,
  body TEXT NOT NULL CHECK (json_valid(body)),
  UNIQUE (log_uid, source)
);

CREATE TABLE log_cursors (
  log_uid TEXT NOT NULL,
  file TEXT NOT NULL,
  cursor TEXT NOT NULL CHECK (json_valid(cursor)),
  PRIMARY KEY (log_uid, file)
) WITHOUT ROWID;
`;

export interface OutboxDraft {
  /** The log that is told. */
  readonly logUid: string;
  /** Unique in that log for ever: a row that is delivered twice is told once. */
  readonly source: string;
  /** A JSON object. */
  readonly body: Readonly<Record<string, unknown>>;
}

export interface OutboxRow {
  /** Its place in the order of delivery. */
  readonly num: number;
  readonly logUid: string;
  readonly source: string;
  readonly body: unknown;
}

interface Stored {
  readonly num: number;
  readonly log_uid: string;
  readonly source: string;
  readonly body: string;
}

/** Synchronous access to the rows; the callers bring the transaction and the retry. */
export class OutboxTable {
  readonly #db: SqliteDatabase;

  constructor(db: SqliteDatabase) {
    this.#db = db;
  }

  /** A row that waits already under the same source is left as it is. */
  insert(draft: OutboxDraft): void {
    this.#db
      .prepare('INSERT OR IGNORE INTO log_outbox (log_uid, source, body) VALUES (?, ?, ?)')
      .run(draft.logUid, draft.source, JSON.stringify(draft.body));
  }

  /** The oldest rows. */
  next(limit: number): readonly OutboxRow[] {
    return this.#db
      .prepare<[number], Stored>('SELECT num, log_uid, source, body FROM log_outbox ORDER BY num LIMIT ?')
      .all(limit)
      .map(({ num, log_uid, source, body }) => ({
        num,
        logUid: log_uid,
        source,
        body: JSON.parse(body) as unknown,
      }));
  }

  /** Forgets the rows up to `num`: they were delivered. */
  delivered(num: number): void {
    this.#db.prepare('DELETE FROM log_outbox WHERE num <= ?').run(num);
  }

  /** `undefined`: nothing was read of that file. */
  cursor(logUid: string, file: string): unknown {
    const row = this.#db
      .prepare<[string, string], { cursor: string }>(
        'SELECT cursor FROM log_cursors WHERE log_uid = ? AND file = ?',
      )
      .get(logUid, file);
    return row && (JSON.parse(row.cursor) as unknown);
  }

  /** The log that a file was read into; `undefined`: none. */
  logOf(file: string): string | undefined {
    return this.#db
      .prepare<[string], { log_uid: string }>('SELECT log_uid FROM log_cursors WHERE file = ? LIMIT 1')
      .get(file)?.log_uid;
  }

  /** The file that was read into a log for the life that began at `since`, milliseconds since the epoch. */
  fileOf(logUid: string, since: number): string | undefined {
    return this.#db
      .prepare<[string, number], { file: string }>(
        "SELECT file FROM log_cursors WHERE log_uid = ? AND json_extract(cursor, '$.since') = ? LIMIT 1",
      )
      .get(logUid, since)?.file;
  }

  keepCursor(logUid: string, file: string, cursor: unknown): void {
    this.#db
      .prepare(
        `INSERT INTO log_cursors (log_uid, file, cursor) VALUES (?, ?, ?)
         ON CONFLICT (log_uid, file) DO UPDATE SET cursor = excluded.cursor WHERE cursor <> excluded.cursor`,
      )
      .run(logUid, file, JSON.stringify(cursor));
  }
}
