import type { InteractionRow } from '../beads/sqlite/interaction-table.ts';
import type { RuleRow } from '../beads/sqlite/rule-table.ts';
import { codeOf, GcError, messageOf } from '../platform/errors.ts';
import { KeyedMutex } from '../platform/keyed-mutex.ts';
import { InteractionUnsupportedError } from '../runtime/errors.ts';
import { canInteract, type InteractionProvider, type PendingInteraction } from '../runtime/provider.ts';
import { displayName } from '../session/display.ts';
import { InteractionStore, type Observed, type Resolving } from '../session/interaction-store.ts';
import {
  type Asked,
  askedOf,
  choiceFor,
  isOfLife,
  lifeOf,
  type Resolution,
} from '../session/interactions.ts';
import type { RuleQuestion } from '../session/permission-rules.ts';
import type { SessionRecord } from '../session/record.ts';
import type { CityEngine } from './city-engine.ts';
import { RuleBook } from './rule-book.ts';
import { followed } from './rule-drafts.ts';
import { WAITS_FOR_KEY } from './session-facts.ts';

/** An agent that cannot be reached with its answer is tried again by the next looks; a command that waits is told. */
export interface Delivery {
  readonly row: InteractionRow;
  /** Why the agent does not have it yet; `undefined`: it has. */
  readonly delayed: string | undefined;
}

export interface QuestionBookOptions {
  readonly engine: CityEngine;
  /** The user's own rules cannot be read; `undefined`: they can. */
  readonly complain: (problem: string | undefined) => void;
  /** The agent was given a denial with no further words. */
  readonly denied: (record: SessionRecord, row: InteractionRow) => Promise<void>;
}

/**
 * Keeps what the sessions ask. Everything about one session goes one after the other: a look writes down what is asked, a
 * decision is committed before anything is pressed, and what came of it after.
 */
export class QuestionBook {
  readonly store: InteractionStore;
  readonly rules: RuleBook;
  readonly #options: QuestionBookOptions;
  readonly #turns = new KeyedMutex();

  constructor(options: QuestionBookOptions) {
    this.#options = options;
    const { db, env, clock, ids } = options.engine.parts;
    this.store = new InteractionStore(db);
    this.rules = new RuleBook({ store: this.store, env, clock, ids, complain: options.complain });
  }

  /**
   * One look at a session that lives. What was decided before and did not arrive is given now. `undefined`: it asks
   * nothing that waits for a person. @throws what the provider could not tell
   */
  look(record: SessionRecord, byRules: boolean): Promise<InteractionRow | undefined> {
    if (!this.#mayAsk(record)) return Promise.resolve(undefined);
    return this.#turns.run(record.sessionName, async () => {
      const row = await this.#observe(record);
      if (!row) return undefined;
      if (this.#isExpired(row)) return this.#expire(record, row);
      return byRules ? this.#answerByRule(record, row) : row;
    });
  }

  /** A start answers its own questions; one that it leaves to a person is among them. */
  #mayAsk(record: SessionRecord): boolean {
    const operation = this.#options.engine.executor.operations.get(record.sessionName);
    return operation === undefined || operation.kind === 'apply-live' || isLeftWithQuestion(record);
  }

  /** Decides for a person. The first decision counts, whoever it comes from. */
  async answer(
    record: SessionRecord,
    row: InteractionRow,
    resolution: Resolution,
    rule?: Omit<RuleRow, 'num' | 'madeMs'>,
  ): Promise<Resolving & { readonly delivery?: Delivery }> {
    return this.#turns.run(record.sessionName, async () => {
      const resolving = await this.store.resolve(row.num, resolution, rule);
      if (resolving.kind === 'lost') return resolving;
      return { ...resolving, delivery: await this.#deliver(record, resolving.row) };
    });
  }

  async #observe(record: SessionRecord): Promise<InteractionRow | undefined> {
    const pending = await this.#pending(record.sessionName);
    const asked = pending && askedOf(pending, isLeftWithQuestion(record));
    let seen = await this.#write(record, asked);
    if (seen.undelivered.length > 0) {
      for (const row of seen.undelivered)
        if (isOfLife(row, lifeOf(record, ''))) await this.#deliver(record, row);
      const next = await this.#pending(record.sessionName);
      seen = await this.#write(record, next && askedOf(next, isLeftWithQuestion(record)));
    }
    return seen.pending;
  }

  async #write(record: SessionRecord, asked: Asked | undefined): Promise<Observed> {
    const seen = await this.store.observe(lifeOf(record, displayName(record)), asked, {
      afterMs: asked && this.#onTimeout(asked) ? this.#options.engine.city.daemon.answerTimeoutMs : 0,
    });
    return seen;
  }

  async #pending(name: string): Promise<PendingInteraction | undefined> {
    try {
      return await this.provider().pending(name);
    } catch (error) {
      if (error instanceof InteractionUnsupportedError) return undefined;
      throw error;
    }
  }

  /** @throws InteractionUnsupportedError */
  provider(): InteractionProvider {
    const { provider } = this.#options.engine.parts;
    if (!canInteract(provider)) throw new InteractionUnsupportedError();
    return provider;
  }

  #isExpired(row: InteractionRow): boolean {
    return row.expiresMs !== undefined && row.expiresMs <= this.#options.engine.parts.clock.now();
  }

  /** Decided by time; also what ran out while nobody was there to see it. */
  async #expire(record: SessionRecord, row: InteractionRow): Promise<InteractionRow | undefined> {
    const choice = this.#onTimeout(row);
    if (!choice) return row;
    const by = { kind: 'city', id: 'gc', channel: 'timer' } as const;
    await this.#decided(record, row, { ...choice, by, cause: 'expired', scope: 'once', text: '' });
    return undefined;
  }

  #onTimeout(asked: Pick<InteractionRow, 'kind' | 'options' | 'source'>) {
    if (asked.kind !== 'permission') return undefined;
    const how = this.#options.engine.city.daemon.onAnswerTimeout;
    return choiceFor(asked, how) ?? choiceFor(asked, 'deny');
  }

  async #answerByRule(record: SessionRecord, row: InteractionRow): Promise<InteractionRow | undefined> {
    if (row.kind !== 'permission' || row.tool === '') return row;
    const verdict = await this.rules.decide(this.ruleQuestion(record, row));
    if (verdict.kind === 'none') return row;
    const choice = choiceFor(row, verdict.kind);
    if (!choice) return row;
    const { id, scope } = verdict.rule;
    const by = { kind: 'rule', id, channel: 'rule' } as const;
    await this.#decided(record, row, { ...choice, by, cause: 'rule', scope, text: '' });
    return undefined;
  }

  async #decided(record: SessionRecord, row: InteractionRow, resolution: Resolution): Promise<void> {
    const resolving = await this.store.resolve(row.num, resolution);
    // What the agent cannot be given now is tried again by the next look.
    if (resolving.kind === 'won') await this.#deliver(record, resolving.row);
  }

  ruleQuestion(record: SessionRecord, row: InteractionRow): RuleQuestion {
    const agent = this.#options.engine.city.agents.find((each) => each.qualifiedName === record.template);
    return {
      sessionId: record.id,
      epoch: record.continuationEpoch,
      names: [record.id, displayName(record), record.alias, record.sessionName].filter((name) => name !== ''),
      agent: record.template,
      rig: agent?.dir ?? '',
      workDirs: [record.workDir, followed(record.workDir)],
      tool: row.tool,
      input: row.input,
      isWhole: row.isWhole,
    };
  }

  /** The second step: it is given to the agent if that still asks exactly this, and what came of it is written down. */
  async #deliver(record: SessionRecord, row: InteractionRow): Promise<Delivery> {
    let now: PendingInteraction | undefined;
    try {
      now = await this.#pending(row.sessionName);
    } catch (error) {
      return { row, delayed: messageOf(error) };
    }
    if (now?.request_id !== row.fingerprint) {
      return this.#over(row, 'superseded', 'the question was gone before the answer could be given');
    }
    if (!(await this.store.sending(row)))
      return { row: (await this.store.find(row.num)) ?? row, delayed: undefined };
    try {
      await this.provider().respond(row.sessionName, {
        request_id: row.fingerprint,
        action: row.action,
        ...(row.text === '' ? {} : { text: row.text }),
      });
      if (row.verdict === 'deny' && row.text === '') await this.#options.denied(record, row);
      return await this.#over(row, 'applied', '');
    } catch (error) {
      return this.#undelivered(row, error);
    }
  }

  async #undelivered(row: InteractionRow, error: unknown): Promise<Delivery> {
    const code = codeOf(error) ?? '';
    if (GONE.has(code)) return this.#over(row, 'superseded', messageOf(error));
    const isRefused = error instanceof GcError && REFUSED.has(code);
    // Keys may have been pressed; a protocol's answer is known by its id and can be given again.
    if (row.source !== 'protocol' || isRefused) return this.#over(row, 'failed', messageOf(error));
    return { row, delayed: messageOf(error) };
  }

  async #over(
    row: InteractionRow,
    state: 'applied' | 'superseded' | 'failed',
    error: string,
  ): Promise<Delivery> {
    const ended = await this.store.ended(row.num, state, error);
    return { row: ended, delayed: undefined };
  }
}

const isLeftWithQuestion = (record: SessionRecord): boolean => (record.metadata[WAITS_FOR_KEY] ?? '') !== '';

const GONE = new Set([
  'interaction-changed',
  'already-answered',
  'no-pending-interaction',
  'no-such-question',
  'session-not-found',
]);
const REFUSED = new Set(['unknown-action', 'no-such-option', 'interaction-unsupported']);

/** Of a command beside no controller. */
export function bookOf(engine: CityEngine): QuestionBook {
  const complain = (problem: string | undefined) => {
    if (problem !== undefined) engine.parts.log(problem);
  };
  return new QuestionBook({ engine, complain, denied: async () => undefined });
}
