import type { SqliteDatabase } from '../../platform/sqlite.ts';
import { rowText } from './row-text.ts';

/**
 * What agents asked people, and what came of it. One row per occurrence of a question: the same one that is asked again
 * is another row. At most one row of a session stands open for a question, whichever process writes.
 */
const INTERACTIONS = `
CREATE TABLE interactions (
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL,
  session TEXT NOT NULL,
  session_name TEXT NOT NULL,
  generation INTEGER NOT NULL,
  instance TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  source TEXT NOT NULL CHECK (source IN ('screen', 'hook', 'protocol')),
  kind TEXT NOT NULL CHECK (kind IN ('permission', 'question', 'dialog')),
  fingerprint TEXT NOT NULL,
  tool TEXT NOT NULL,
  input TEXT NOT NULL,
  is_whole INTEGER NOT NULL,
  prompt TEXT NOT NULL,
  options TEXT NOT NULL CHECK (json_valid(options)),
  metadata TEXT NOT NULL CHECK (json_valid(metadata)),
  state TEXT NOT NULL CHECK (state IN ('pending', 'resolved', 'applied', 'superseded', 'failed', 'withdrawn')),
  asked_ms INTEGER NOT NULL,
  expires_ms INTEGER,
  resolved_ms INTEGER,
  sent_ms INTEGER,
  ended_ms INTEGER,
  verdict TEXT NOT NULL,
  choice TEXT NOT NULL,
  action TEXT NOT NULL,
  text TEXT NOT NULL,
  scope TEXT NOT NULL,
  by_kind TEXT NOT NULL,
  by_id TEXT NOT NULL,
  by_channel TEXT NOT NULL,
  cause TEXT NOT NULL,
  error TEXT NOT NULL
);
CREATE UNIQUE INDEX interactions_standing ON interactions (session_id, fingerprint) WHERE ended_ms IS NULL;
CREATE INDEX interactions_open ON interactions (num) WHERE ended_ms IS NULL;
CREATE INDEX interactions_of_session ON interactions (session_id, num);
CREATE INDEX interactions_ended ON interactions (ended_ms) WHERE ended_ms IS NOT NULL;
`;

/** Standing answers that hold in this city, or for one conversation of one of its sessions. */
const RULES = `
CREATE TABLE permission_rules (
  num INTEGER PRIMARY KEY AUTOINCREMENT,
  scope TEXT NOT NULL CHECK (scope IN ('session', 'city')),
  effect TEXT NOT NULL CHECK (effect IN ('allow', 'deny')),
  rig TEXT,
  agent TEXT,
  session TEXT,
  bound_session_id TEXT NOT NULL,
  bound_epoch INTEGER NOT NULL,
  tool TEXT NOT NULL,
  input TEXT,
  made_by TEXT NOT NULL,
  made_ms INTEGER NOT NULL
);
`;

export const INTERACTION_SCHEMA: string = INTERACTIONS + RULES;

/** Who noticed it: the agent's screen, a hook of its program, its own protocol. */
export type InteractionSource = 'screen' | 'hook' | 'protocol';

/** `dialog`: a question of its start. */
export type InteractionKind = 'permission' | 'question' | 'dialog';

/**
 * `resolved`: decided, and perhaps not yet given to the agent. `applied`: the agent has it. `superseded`: decided, and
 * the question was gone or another one by then. `failed`: decided, and the agent did not take it. `withdrawn`: nobody
 * decided here, and it is not asked any more.
 */
export type InteractionState = 'pending' | 'resolved' | 'applied' | 'superseded' | 'failed' | 'withdrawn';

/** `other`: neither lets the agent do what it asks for nor keeps it from that. */
export type OptionEffect = 'allow' | 'deny' | 'other';

export interface InteractionOption {
  readonly label: string;
  readonly effect: OptionEffect;
  /** It holds for more than this once, in the agent's own book. */
  readonly isLasting: boolean;
}

/** `canceled`: taken back without an answer. `''`: none yet. */
export type Verdict = '' | 'allow' | 'deny' | 'answered' | 'canceled';

export type ResolutionCause = '' | 'user' | 'rule' | 'expired' | 'interrupted' | 'closed' | 'superseded';

/** Times are milliseconds since the epoch. */
export interface InteractionRow {
  /** Its id for people is `q` and this. */
  readonly num: number;
  readonly sessionId: string;
  /** What people call the session. */
  readonly session: string;
  readonly sessionName: string;
  /** The life that asks. */
  readonly generation: number;
  readonly instance: string;
  /** The conversation that it belongs to. */
  readonly epoch: number;
  readonly source: InteractionSource;
  readonly kind: InteractionKind;
  /** What the provider calls it: another question has another one, the same one asked again may have the same. */
  readonly fingerprint: string;
  /** `''`: it is not about a tool. */
  readonly tool: string;
  readonly input: string;
  /** The input is all of it, not only what the screen had room for. */
  readonly isWhole: boolean;
  readonly prompt: string;
  readonly options: readonly InteractionOption[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly state: InteractionState;
  readonly askedMs: number;
  /** It is answered by itself then, also when nobody ran at that time. */
  readonly expiresMs: number | undefined;
  readonly resolvedMs: number | undefined;
  /** From here on the agent may have the answer. */
  readonly sentMs: number | undefined;
  readonly endedMs: number | undefined;
  readonly verdict: Verdict;
  /** For people: the label that was chosen, or the text. */
  readonly choice: string;
  /** For the provider. */
  readonly action: string;
  /** What is said with it. */
  readonly text: string;
  readonly scope: string;
  readonly byKind: string;
  readonly byId: string;
  readonly byChannel: string;
  readonly cause: ResolutionCause;
  readonly error: string;
}

export type InteractionPatch = Partial<
  Pick<
    InteractionRow,
    | 'state'
    | 'resolvedMs'
    | 'sentMs'
    | 'endedMs'
    | 'verdict'
    | 'choice'
    | 'action'
    | 'text'
    | 'scope'
    | 'byKind'
    | 'byId'
    | 'byChannel'
    | 'cause'
    | 'error'
  >
>;

const COLUMNS = {
  num: 'num',
  sessionId: 'session_id',
  session: 'session',
  sessionName: 'session_name',
  generation: 'generation',
  instance: 'instance',
  epoch: 'epoch',
  source: 'source',
  kind: 'kind',
  fingerprint: 'fingerprint',
  tool: 'tool',
  input: 'input',
  isWhole: 'is_whole',
  prompt: 'prompt',
  options: 'options',
  metadata: 'metadata',
  state: 'state',
  askedMs: 'asked_ms',
  expiresMs: 'expires_ms',
  resolvedMs: 'resolved_ms',
  sentMs: 'sent_ms',
  endedMs: 'ended_ms',
  verdict: 'verdict',
  choice: 'choice',
  action: 'action',
  text: 'text',
  scope: 'scope',
  byKind: 'by_kind',
  byId: 'by_id',
  byChannel: 'by_channel',
  cause: 'cause',
  error: 'error',
} as const satisfies Record<keyof InteractionRow, string>;

const { select: SELECT, insert: INSERT, sets } = rowText('interactions', COLUMNS);

type Times = 'expiresMs' | 'resolvedMs' | 'sentMs' | 'endedMs';
type Stored = Omit<InteractionRow, 'options' | 'metadata' | 'isWhole' | Times> & {
  readonly options: string;
  readonly metadata: string;
  readonly isWhole: number;
} & { readonly [K in Times]: number | null };

const rowOf = (stored: Stored): InteractionRow => ({
  ...stored,
  options: JSON.parse(stored.options) as readonly InteractionOption[],
  metadata: JSON.parse(stored.metadata) as Readonly<Record<string, string>>,
  isWhole: stored.isWhole === 1,
  expiresMs: stored.expiresMs ?? undefined,
  resolvedMs: stored.resolvedMs ?? undefined,
  sentMs: stored.sentMs ?? undefined,
  endedMs: stored.endedMs ?? undefined,
});

/** Synchronous access to the rows; the callers bring the transaction and the retry. */
export class InteractionTable {
  readonly #db: SqliteDatabase;

  constructor(db: SqliteDatabase) {
    this.#db = db;
  }

  /** Its number. @throws SqliteError when the same question of the session stands open */
  insert(row: Omit<InteractionRow, 'num'>): number {
    const { options, metadata, isWhole, expiresMs, resolvedMs, sentMs, endedMs, ...plain } = row;
    const { lastInsertRowid } = this.#db.prepare(INSERT).run({
      ...plain,
      options: JSON.stringify(options),
      metadata: JSON.stringify(metadata),
      isWhole: isWhole ? 1 : 0,
      expiresMs: expiresMs ?? null,
      resolvedMs: resolvedMs ?? null,
      sentMs: sentMs ?? null,
      endedMs: endedMs ?? null,
    });
    return Number(lastInsertRowid);
  }

  /** Changes it only while it is in one of these states; `false`: it is not any more. */
  update(num: number, from: readonly InteractionState[], patch: InteractionPatch): boolean {
    const states = from.map((state) => `'${state}'`).join(', ');
    const { changes } = this.#db
      .prepare(`UPDATE interactions SET ${sets(patch)} WHERE num = @num AND state IN (${states})`)
      .run({ ...patch, num });
    return changes === 1;
  }

  find(num: number): InteractionRow | undefined {
    return this.#rows('WHERE num = ?', num)[0];
  }

  /** Asked, or answered and not yet given to the agent; oldest first. */
  standing(): readonly InteractionRow[] {
    return this.#rows('WHERE ended_ms IS NULL ORDER BY num');
  }

  standingOf(sessionId: string): readonly InteractionRow[] {
    return this.#rows('WHERE session_id = ? AND ended_ms IS NULL ORDER BY num', sessionId);
  }

  /** The newest of that session with that fingerprint. */
  latest(sessionId: string, fingerprint: string): InteractionRow | undefined {
    return this.#rows(
      'WHERE session_id = ? AND fingerprint = ? ORDER BY num DESC LIMIT 1',
      sessionId,
      fingerprint,
    )[0];
  }

  /** Forgets what ended before. */
  prune(endedBefore: number): void {
    this.#db.prepare('DELETE FROM interactions WHERE ended_ms < ?').run(endedBefore);
  }

  #rows(where: string, ...values: readonly (string | number)[]): readonly InteractionRow[] {
    return this.#db
      .prepare<(string | number)[], Stored>(`${SELECT} ${where}`)
      .all(...values)
      .map(rowOf);
  }
}
