import type { SqliteDatabase } from '../../platform/sqlite.ts';

/** Why something was done, or not done, to a session. */
export interface NewDecision {
  /** `''`: about the city as a whole. */
  readonly sessionId: string;
  /** `start`, `ended`, `wait`, `stop`, `drain`, `quarantine`, `adopt`, `keep`, `re-apply live` ... */
  readonly what: string;
  readonly why: string;
  /** What the decision saw. JSON values. */
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly lines?: readonly string[];
}

export interface Decision extends NewDecision {
  readonly id: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Older decisions about a session are dropped. */
export const DECISIONS_KEPT_PER_SESSION = 50;
const MAX_LINES = 50;
const MAX_LINE_LENGTH = 500;

interface DecisionRow {
  readonly id: number;
  readonly session_id: string;
  readonly at_ms: number;
  readonly what: string;
  readonly why: string;
  readonly inputs: string;
  readonly lines: string | null;
}

/** Synchronous access to the decision rows; the callers bring the transaction and the retry. */
export class DecisionTable {
  readonly #db: SqliteDatabase;

  constructor(db: SqliteDatabase) {
    this.#db = db;
  }

  /** A decision that repeats the session's newest one word for word is not written again; that one is returned. */
  insert(decision: NewDecision, nowMs: number): Decision {
    const newest = this.#rows(decision.sessionId, 1)[0];
    const inputs = JSON.stringify(decision.inputs);
    const lines = decision.lines ? JSON.stringify(boundedLines(decision.lines)) : null;
    if (
      newest &&
      newest.what === decision.what &&
      newest.why === decision.why &&
      newest.inputs === inputs &&
      newest.lines === lines
    ) {
      return toDecision(newest);
    }
    const { lastInsertRowid } = this.#db
      .prepare(
        'INSERT INTO decisions (session_id, at_ms, what, why, inputs, lines) VALUES (?, ?, ?, ?, ?, ?)',
      )
      .run(decision.sessionId, nowMs, decision.what, decision.why, inputs, lines);
    this.#db
      .prepare(
        `DELETE FROM decisions WHERE session_id = @session AND id <= (
           SELECT id FROM decisions WHERE session_id = @session ORDER BY id DESC LIMIT 1 OFFSET @kept)`,
      )
      .run({ session: decision.sessionId, kept: DECISIONS_KEPT_PER_SESSION });
    return toDecision({
      id: Number(lastInsertRowid),
      session_id: decision.sessionId,
      at_ms: nowMs,
      what: decision.what,
      why: decision.why,
      inputs,
      lines,
    });
  }

  /** The last `limit` decisions about a session, newest last. */
  last(sessionId: string, limit: number): readonly Decision[] {
    return this.#rows(sessionId, limit).map(toDecision).reverse();
  }

  #rows(sessionId: string, limit: number): readonly DecisionRow[] {
    return this.#db
      .prepare<[string, number], DecisionRow>(
        'SELECT * FROM decisions WHERE session_id = ? ORDER BY id DESC LIMIT ?',
      )
      .all(sessionId, limit);
  }
}

/** The end of a screen says most. */
function boundedLines(lines: readonly string[]): readonly string[] {
  return lines.slice(-MAX_LINES).map((line) => line.slice(0, MAX_LINE_LENGTH));
}

function toDecision(row: DecisionRow): Decision {
  return {
    id: row.id,
    sessionId: row.session_id,
    at: row.at_ms,
    what: row.what,
    why: row.why,
    inputs: JSON.parse(row.inputs) as Record<string, unknown>,
    ...(row.lines === null ? {} : { lines: JSON.parse(row.lines) as string[] }),
  };
}
