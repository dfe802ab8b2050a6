import type { CityDatabase, CityTransaction } from '../beads/sqlite/city-database.ts';
import {
  type InteractionPatch,
  type InteractionRow,
  type InteractionState,
  InteractionTable,
} from '../beads/sqlite/interaction-table.ts';
import { type RuleRow, RuleTable } from '../beads/sqlite/rule-table.ts';
import { GcError } from '../platform/errors.ts';
import { answeredTold, askedTold, endedTold, type Told } from './interaction-events.ts';
import { type Asked, type Life, type Resolution, resolvedPatch, standingOf } from './interactions.ts';

/** What is over can be looked up, and a late answer is told who was first, for so long. */
const KEPT_MS = 14 * 24 * 3_600_000;
/** Equal to no instance token. */
const NO_LIFE = { instance: '\u0000' };
const OPEN: readonly InteractionState[] = ['pending', 'resolved'];

export interface Expiry {
  /** Milliseconds from the question on; 0: never. */
  readonly afterMs: number;
}

/** What stands open for a session after a look at it. */
export interface Observed {
  /** Nobody has decided it. */
  readonly pending: InteractionRow | undefined;
  /** Decided, and still to be given to the agent. */
  readonly undelivered: readonly InteractionRow[];
}

export type Resolving =
  | { readonly kind: 'won'; readonly row: InteractionRow; readonly rule: RuleRow | undefined }
  /** Somebody was first, or it is not asked any more: the row says who and why. */
  | { readonly kind: 'lost'; readonly row: InteractionRow };

/** The questions of a city's sessions. Each change is one transaction with the event and the fact that tell of it. */
export class InteractionStore {
  readonly #db: CityDatabase;
  readonly #table: InteractionTable;
  readonly #rules: RuleTable;

  constructor(db: CityDatabase) {
    this.#db = db;
    this.#table = new InteractionTable(db.connection);
    this.#rules = new RuleTable(db.connection);
  }

  /**
   * Writes down what one look at a session found: what it asks newly, and that it does not ask something any more. The
   * same look twice, or by two processes, writes nothing the second time.
   */
  async observe(life: Life, asked: Asked | undefined, expiry: Expiry): Promise<Observed> {
    const known = await this.#db.read(() => this.#observed(life, asked));
    if (known) return known;
    return this.#db.transaction((tx) => {
      this.#endOld(tx, life, asked);
      const standing = this.#table.standingOf(life.sessionId);
      if (asked && !standing.some((row) => row.fingerprint === asked.fingerprint)) {
        this.#table.prune(tx.now - KEPT_MS);
        const num = this.#table.insert(newRow(life, asked, tx.now, expiry));
        tell(tx, askedTold(this.#must(num)));
      }
      return observedOf(this.#table.standingOf(life.sessionId));
    });
  }

  /** `undefined`: something is to be written. */
  #observed(life: Life, asked: Asked | undefined): Observed | undefined {
    const rows = this.#table.standingOf(life.sessionId);
    const now = this.#db.clock.now();
    if (rows.some((row) => standingOf(row, life, asked, now).kind === 'end')) return undefined;
    if (asked && !rows.some((row) => row.fingerprint === asked.fingerprint)) return undefined;
    return observedOf(rows);
  }

  #endOld(tx: CityTransaction, life: Life, asked: Asked | undefined): void {
    for (const row of this.#table.standingOf(life.sessionId)) {
      const standing = standingOf(row, life, asked, tx.now);
      if (standing.kind === 'end') this.#end(tx, row, standing.patch);
    }
  }

  /** What its session cannot answer any more, because that life is over. */
  close(nums: readonly number[]): Promise<void> {
    return this.#db.transaction((tx) => {
      for (const num of nums) {
        const row = this.#table.find(num);
        const standing = row && standingOf(row, NO_LIFE, undefined, tx.now);
        if (row && standing?.kind === 'end') this.#end(tx, row, standing.patch);
      }
    });
  }

  /** Decides a question, once, whoever else tries. A rule that is made with it is there exactly when this is. */
  resolve(num: number, resolution: Resolution, rule?: Omit<RuleRow, 'num' | 'madeMs'>): Promise<Resolving> {
    return this.#db.transaction((tx) => {
      const won = this.#table.update(num, ['pending'], resolvedPatch(resolution, tx.now));
      const row = this.#must(num);
      if (!won) return { kind: 'lost', row };
      tell(tx, answeredTold(row));
      return { kind: 'won', row, rule: rule && this.#rules.insert({ ...rule, madeMs: tx.now }) };
    });
  }

  /** From here on the agent may have it. `false`: another process is giving it, or it is over. */
  sending(row: InteractionRow): Promise<boolean> {
    return this.#db.transaction((tx) => {
      const now = this.#table.find(row.num);
      if (now?.state !== 'resolved') return false;
      if (now.sentMs !== undefined && now.source !== 'protocol') return false;
      return this.#table.update(row.num, ['resolved'], { sentMs: tx.now });
    });
  }

  /** What became of giving it. */
  ended(num: number, state: 'applied' | 'superseded' | 'failed', error = ''): Promise<InteractionRow> {
    return this.#db.transaction((tx) => {
      const row = this.#must(num);
      if (row.state === 'resolved') this.#end(tx, row, { state, endedMs: tx.now, error });
      return this.#must(num);
    });
  }

  find(num: number): Promise<InteractionRow | undefined> {
    return this.#db.read(() => this.#table.find(num));
  }

  latest(sessionId: string, fingerprint: string): Promise<InteractionRow | undefined> {
    return this.#db.read(() => this.#table.latest(sessionId, fingerprint));
  }

  standing(): Promise<readonly InteractionRow[]> {
    return this.#db.read(() => this.#table.standing());
  }

  rules(): Promise<readonly RuleRow[]> {
    return this.#db.read(() => this.#rules.all());
  }

  /** One that says the same is there already: then that one is it. */
  addRule(rule: Omit<RuleRow, 'num' | 'madeMs'>): Promise<RuleRow> {
    return this.#db.transaction((tx) => {
      const known = this.#rules.all().find((row) => isSameRule(row, rule));
      return known ?? this.#rules.insert({ ...rule, madeMs: tx.now });
    });
  }

  /** `undefined`: there is none. */
  removeRule(num: number): Promise<RuleRow | undefined> {
    return this.#db.transaction(() => {
      const row = this.#rules.find(num);
      if (row) this.#rules.remove(num);
      return row;
    });
  }

  #end(tx: CityTransaction, row: InteractionRow, patch: InteractionPatch): void {
    if (this.#table.update(row.num, OPEN, patch)) tell(tx, endedTold(this.#must(row.num)));
  }

  #must(num: number): InteractionRow {
    const row = this.#table.find(num);
    if (!row) throw new GcError('internal', `question q${num} is not there`);
    return row;
  }
}

function tell(tx: CityTransaction, { event, decision }: Told): void {
  tx.recordEvent(event);
  tx.recordDecision(decision);
}

function observedOf(rows: readonly InteractionRow[]): Observed {
  return {
    pending: rows.find(({ state }) => state === 'pending'),
    undelivered: rows.filter(({ state }) => state === 'resolved'),
  };
}

function newRow(life: Life, asked: Asked, now: number, { afterMs }: Expiry): Omit<InteractionRow, 'num'> {
  return {
    ...life,
    ...asked,
    state: 'pending',
    askedMs: now,
    expiresMs: afterMs > 0 ? now + afterMs : undefined,
    resolvedMs: undefined,
    sentMs: undefined,
    endedMs: undefined,
    verdict: '',
    choice: '',
    action: '',
    text: '',
    scope: '',
    byKind: '',
    byId: '',
    byChannel: '',
    cause: '',
    error: '',
  };
}

const RULE_KEYS = [
  'scope',
  'effect',
  'rig',
  'agent',
  'session',
  'boundSessionId',
  'boundEpoch',
  'tool',
  'input',
] as const;

function isSameRule(row: RuleRow, rule: Omit<RuleRow, 'num' | 'madeMs'>): boolean {
  return RULE_KEYS.every((key) => row[key] === rule[key]);
}
