import { rfc3339 } from '../platform/clock.ts';
import { GcError } from '../platform/errors.ts';
import { displayName } from '../session/display.ts';
import { checkRule, type Rule } from '../session/permission-rules.ts';
import type { SessionRecord } from '../session/record.ts';
import type { CityEngine } from './city-engine.ts';
import { requireAgent } from './new-session.ts';
import { refuseSessions } from './question-actor.ts';
import type { QuestionBook } from './question-book.ts';
import type { NewPermissionRule, PermissionRule, RuleApi } from './rule-api.ts';
import { ruleOfRow } from './rule-book.ts';
import { cityRow, followed } from './rule-drafts.ts';
import type { SessionVerbs } from './session-verbs.ts';
import { addUserRule, removeUserRule } from './user-rules.ts';

export interface RuleDeskOptions {
  readonly engine: CityEngine;
  readonly verbs: SessionVerbs;
  readonly book: QuestionBook;
  readonly actor: () => string;
  readonly rulesChanged: () => void;
}

/** Standing answers: each is kept where its scope ends, in the city or with the user, and never where agents work. */
export class RuleDesk implements RuleApi {
  readonly #options: RuleDeskOptions;

  constructor(options: RuleDeskOptions) {
    this.#options = options;
  }

  async list(): Promise<readonly PermissionRule[]> {
    return (await this.#options.book.rules.list()).map(wireRule);
  }

  async add(asked: NewPermissionRule): Promise<PermissionRule> {
    const { engine, actor, book, rulesChanged } = this.#options;
    await this.#refuseAgents('a rule');
    checkRule(asked);
    const { record, names } = await this.#named(asked);
    const { effect, tool, input, scope, project } = asked;
    if (scope === 'session' && !record) {
      throw new GcError('session-not-active', `session ${asked.session} has never been started`, {
        next: 'a rule of scope city can name it',
      });
    }
    const rule = { effect, tool, ...(input === undefined ? {} : { input }), ...names, by: actor() };
    let made: Rule;
    if (scope === 'session' || scope === 'city') {
      made = ruleOfRow(
        await book.store.addRule(cityRow(scope, rule, scope === 'session' ? record : undefined)),
      );
    } else {
      const { env, clock, ids } = engine.parts;
      const at = rfc3339(clock.now());
      made = await addUserRule(
        { env, clock, ids },
        { ...rule, scope, ...(project === undefined ? {} : { project: followed(project) }), at },
      );
    }
    rulesChanged();
    return wireRule(made);
  }

  async remove(id: string): Promise<PermissionRule> {
    const { engine, book, rulesChanged } = this.#options;
    await this.#refuseAgents('a rule');
    const { env, clock, ids } = engine.parts;
    const [, kind, digits] = /^([ru])([1-9]\d{0,14})$/.exec(id) ?? [];
    let gone: Rule | undefined;
    if (kind === 'r') {
      const row = await book.store.removeRule(Number(digits));
      gone = row && ruleOfRow(row);
    } else if (kind === 'u') {
      gone = await removeUserRule({ env, clock, ids }, id);
    }
    if (!gone) throw new GcError('rule-not-found', `there is no rule ${id}`, { next: 'gc rule list' });
    rulesChanged();
    return wireRule(gone);
  }

  async #refuseAgents(what: string): Promise<void> {
    const { engine, actor } = this.#options;
    refuseSessions(actor(), await engine.parts.store.list('open'), what);
  }

  /** Names as rules compare them. @throws GcError `agent-not-found`, `rig-not-found`, `session-not-found` */
  async #named({ rig, agent, session }: NewPermissionRule): Promise<{
    readonly record: SessionRecord | undefined;
    readonly names: { readonly rig?: string; readonly agent?: string; readonly session?: string };
  }> {
    const { city } = this.#options.engine;
    if (rig !== undefined && !city.rigs.some(({ name }) => name === rig)) {
      throw new GcError('rig-not-found', `no rig "${rig}" in this city`, { next: 'gc rig list' });
    }
    const record = session === undefined ? undefined : await this.#session(session);
    const meant = agent === undefined ? undefined : requireAgent(city, agent, rig);
    return {
      record,
      names: {
        ...(rig === undefined ? {} : { rig }),
        ...(meant === undefined ? {} : { agent: meant.qualifiedName }),
        ...(session === undefined ? {} : { session: record ? displayName(record) : session }),
      },
    };
  }

  async #session(token: string): Promise<SessionRecord | undefined> {
    const found = await this.#options.verbs.target(token);
    return found.kind === 'session' ? found.record : undefined;
  }
}

function wireRule({ bound: _, ...rule }: Rule): PermissionRule {
  return rule;
}
