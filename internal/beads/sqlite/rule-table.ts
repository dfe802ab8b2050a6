import type { SqliteDatabase } from '../../platform/sqlite.ts';

/** A standing answer that is kept in the city. Its id for people is `r` and its number. */
export interface RuleRow {
  readonly num: number;
  readonly scope: 'session' | 'city';
  readonly effect: 'allow' | 'deny';
  readonly rig: string | undefined;
  readonly agent: string | undefined;
  readonly session: string | undefined;
  /** Of a `session` rule: the record it holds for, and the conversation. `''` and 0 otherwise. */
  readonly boundSessionId: string;
  readonly boundEpoch: number;
  readonly tool: string;
  readonly input: string | undefined;
  readonly madeBy: string;
  /** Milliseconds since the epoch. */
  readonly madeMs: number;
}

const SELECT = `SELECT num, scope, effect, rig, agent, session, bound_session_id AS boundSessionId,
  bound_epoch AS boundEpoch, tool, input, made_by AS madeBy, made_ms AS madeMs FROM permission_rules`;

type Optional = 'rig' | 'agent' | 'session' | 'input';
type Stored = Omit<RuleRow, Optional> & { readonly [K in Optional]: string | null };

const rowOf = (stored: Stored): RuleRow => ({
  ...stored,
  rig: stored.rig ?? undefined,
  agent: stored.agent ?? undefined,
  session: stored.session ?? undefined,
  input: stored.input ?? undefined,
});

/** Synchronous access to the rows; the callers bring the transaction and the retry. */
export class RuleTable {
  readonly #db: SqliteDatabase;

  constructor(db: SqliteDatabase) {
    this.#db = db;
  }

  insert(row: Omit<RuleRow, 'num'>): RuleRow {
    const { rig, agent, session, input, ...plain } = row;
    const { lastInsertRowid } = this.#db
      .prepare(
        `INSERT INTO permission_rules
         (scope, effect, rig, agent, session, bound_session_id, bound_epoch, tool, input, made_by, made_ms)
         VALUES (@scope, @effect, @rig, @agent, @session, @boundSessionId, @boundEpoch, @tool, @input, @madeBy, @madeMs)`,
      )
      .run({
        ...plain,
        rig: rig ?? null,
        agent: agent ?? null,
        session: session ?? null,
        input: input ?? null,
      });
    return { ...row, num: Number(lastInsertRowid) };
  }

  all(): readonly RuleRow[] {
    return this.#db.prepare<[], Stored>(`${SELECT} ORDER BY num`).all().map(rowOf);
  }

  find(num: number): RuleRow | undefined {
    return this.#db.prepare<[number], Stored>(`${SELECT} WHERE num = ?`).all(num).map(rowOf)[0];
  }

  remove(num: number): void {
    this.#db.prepare('DELETE FROM permission_rules WHERE num = ?').run(num);
  }
}
