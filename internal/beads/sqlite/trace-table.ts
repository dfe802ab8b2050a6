import type { SqliteDatabase } from '../../platform/sqlite.ts';

/** Which templates are watched, and what passes of a controller saw and decided of them. */
export const TRACE_SCHEMA = `
CREATE TABLE trace_arms (
  template TEXT NOT NULL,
  source TEXT NOT NULL CHECK (source IN ('manual', 'auto')),
  level TEXT NOT NULL CHECK (level IN ('baseline', 'detail')),
  armed_ms INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  PRIMARY KEY (template, source)
) WITHOUT ROWID;
CREATE TABLE trace_records (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  trace_id TEXT NOT NULL,
  tick INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  template TEXT NOT NULL,
  session TEXT NOT NULL,
  type TEXT NOT NULL,
  what TEXT NOT NULL,
  reason TEXT NOT NULL,
  inputs TEXT NOT NULL CHECK (json_valid(inputs))
);
CREATE INDEX trace_by_template ON trace_records (template, seq);
`;

export type TraceLevel = 'baseline' | 'detail';

export type TraceSource = 'manual' | 'auto';

/** Times are milliseconds since the epoch. */
export interface TraceArmRow {
  /** Qualified name of an agent. */
  readonly template: string;
  readonly source: TraceSource;
  readonly level: TraceLevel;
  readonly armedMs: number;
  readonly expiresMs: number;
}

export interface NewTraceRow {
  readonly traceId: string;
  readonly tick: number;
  readonly atMs: number;
  readonly template: string;
  /** Runtime name; `''`: about the template as a whole. */
  readonly session: string;
  readonly type: string;
  readonly what: string;
  readonly reason: string;
  /** JSON values. */
  readonly inputs: Readonly<Record<string, unknown>>;
}

export interface TraceRow extends NewTraceRow {
  readonly seq: number;
}

/** All given ones must match. */
export interface TraceQuery {
  readonly template?: string;
  readonly session?: string;
  readonly traceId?: string;
  readonly tick?: number;
  readonly type?: string;
  readonly reason?: string;
  /** Milliseconds since the epoch, inclusive. */
  readonly sinceMs?: number;
  readonly afterSeq?: number;
  /** The first so many of them. */
  readonly limit?: number;
  /** The last so many of them. */
  readonly last?: number;
}

/** Whatever is older than the newest so many is dropped. */
export const TRACE_RECORDS_KEPT = 20_000;
export const TRACE_KEPT_MS = 7 * 24 * 3_600_000;
const REASON_LIMIT_CHARS = 500;
const INPUTS_LIMIT_CHARS = 4_000;

const ARM_COLUMNS = 'template, source, level, armed_ms AS armedMs, expires_ms AS expiresMs';
const COLUMNS =
  'seq, trace_id AS traceId, tick, at_ms AS atMs, template, session, type, what, reason, inputs';

type Stored = Omit<TraceRow, 'inputs'> & { readonly inputs: string };

/** Synchronous access to the rows; the callers bring the transaction and the retry. */
export class TraceTable {
  readonly #db: SqliteDatabase;

  constructor(db: SqliteDatabase) {
    this.#db = db;
  }

  /** Those whose time is not over. */
  arms(nowMs: number): readonly TraceArmRow[] {
    return this.#db
      .prepare<[number], TraceArmRow>(
        `SELECT ${ARM_COLUMNS} FROM trace_arms WHERE expires_ms > ? ORDER BY template, source`,
      )
      .all(nowMs);
  }

  /** In place of the one that the template has from this source. */
  arm(row: TraceArmRow): void {
    this.#db
      .prepare(
        `INSERT OR REPLACE INTO trace_arms (template, source, level, armed_ms, expires_ms)
         VALUES (@template, @source, @level, @armedMs, @expiresMs)`,
      )
      .run(row);
  }

  /** Without a source those of both, without a template those of all. */
  disarm(template: string | undefined, source: TraceSource | undefined): void {
    this.#db
      .prepare(
        'DELETE FROM trace_arms WHERE (@template IS NULL OR template = @template) AND (@source IS NULL OR source = @source)',
      )
      .run({ template: template ?? null, source: source ?? null });
  }

  forgetExpired(nowMs: number): void {
    this.#db.prepare('DELETE FROM trace_arms WHERE expires_ms <= ?').run(nowMs);
  }

  insert(rows: readonly NewTraceRow[]): void {
    const insert = this.#db.prepare(
      `INSERT INTO trace_records (trace_id, tick, at_ms, template, session, type, what, reason, inputs)
       VALUES (@traceId, @tick, @atMs, @template, @session, @type, @what, @reason, @inputs)`,
    );
    for (const row of rows) {
      insert.run({ ...row, reason: cut(row.reason, REASON_LIMIT_CHARS), inputs: inputsText(row.inputs) });
    }
  }

  /** Drops what is too much or too old. */
  prune(nowMs: number, kept = TRACE_RECORDS_KEPT): void {
    const { first, last } = this.#ends();
    if (last !== undefined && first !== undefined && last - first >= kept)
      this.#db.prepare('DELETE FROM trace_records WHERE seq <= ?').run(last - kept);
    const oldest = this.oldest();
    if (oldest !== undefined && oldest < nowMs - TRACE_KEPT_MS)
      this.#db.prepare('DELETE FROM trace_records WHERE at_ms < ?').run(nowMs - TRACE_KEPT_MS);
  }

  /** Oldest first. */
  records(query: TraceQuery): readonly TraceRow[] {
    const { where, values } = conditions(query);
    const { last, limit = -1 } = query;
    const order = last === undefined ? 'ASC' : 'DESC';
    const rows = this.#db
      .prepare<[Record<string, unknown>], Stored>(
        `SELECT ${COLUMNS} FROM trace_records ${where} ORDER BY seq ${order} LIMIT @limit`,
      )
      .all({ ...values, limit: last ?? limit });
    return (last === undefined ? rows : rows.toReversed()).map(rowOf);
  }

  /** How often each reason was given, the most frequent first. */
  reasons(query: TraceQuery): Readonly<Record<string, number>> {
    const { where, values } = conditions(query);
    const rows = this.#db
      .prepare<[Record<string, unknown>], { reason: string; n: number }>(
        `SELECT reason, count(*) AS n FROM trace_records ${where} GROUP BY reason ORDER BY n DESC, reason`,
      )
      .all(values);
    return Object.fromEntries(rows.map(({ reason, n }) => [reason, n]));
  }

  count(): number {
    return this.#db.prepare<[], { n: number }>('SELECT count(*) AS n FROM trace_records').get()?.n ?? 0;
  }

  /** When the oldest record was written, milliseconds since the epoch. */
  oldest(): number | undefined {
    return this.#db
      .prepare<[], { at: number }>('SELECT at_ms AS at FROM trace_records ORDER BY seq LIMIT 1')
      .get()?.at;
  }

  #ends(): { readonly first?: number; readonly last?: number } {
    const row = this.#db
      .prepare<[], { first: number | null; last: number | null }>(
        'SELECT min(seq) AS first, max(seq) AS last FROM trace_records',
      )
      .get();
    if (!row || row.first === null || row.last === null) return {};
    return { first: row.first, last: row.last };
  }
}

const CONDITIONS = {
  template: 'template = @template',
  session: 'session = @session',
  traceId: 'trace_id = @traceId',
  tick: 'tick = @tick',
  type: 'type = @type',
  reason: 'reason = @reason',
  sinceMs: 'at_ms >= @sinceMs',
  afterSeq: 'seq > @afterSeq',
} as const satisfies Record<Exclude<keyof TraceQuery, 'limit' | 'last'>, string>;

function conditions(query: TraceQuery): {
  readonly where: string;
  readonly values: Record<string, unknown>;
} {
  const values: Record<string, unknown> = {};
  const parts: string[] = [];
  for (const [key, condition] of Object.entries(CONDITIONS)) {
    const value = Object.entries(query).find(([name]) => name === key)?.[1];
    if (value === undefined) continue;
    values[key] = value;
    parts.push(condition);
  }
  return { where: parts.length === 0 ? '' : `WHERE ${parts.join(' AND ')}`, values };
}

function rowOf(stored: Stored): TraceRow {
  return { ...stored, inputs: JSON.parse(stored.inputs) as Record<string, unknown> };
}

/** Too long a one is left out, and said to be. */
function inputsText(inputs: TraceRow['inputs']): string {
  const text = JSON.stringify(inputs);
  return text.length <= INPUTS_LIMIT_CHARS ? text : JSON.stringify({ left_out_characters: text.length });
}

const cut = (text: string, limit: number): string =>
  text.length <= limit ? text : `${text.slice(0, limit - 1)}…`;
