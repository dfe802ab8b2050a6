import type { RuleRow } from '../beads/sqlite/rule-table.ts';
import type { Clock } from '../platform/clock.ts';
import { rfc3339 } from '../platform/clock.ts';
import { GcError } from '../platform/errors.ts';
import type { Ids } from '../platform/ids.ts';
import type { Environment } from '../platform/paths.ts';
import type { InteractionStore } from '../session/interaction-store.ts';
import {
  decideByRules,
  type Rule,
  type RuleQuestion,
  type RuleVerdict,
} from '../session/permission-rules.ts';
import { readUserRules } from './user-rules.ts';

export interface RuleBookOptions {
  readonly store: InteractionStore;
  readonly env: Environment;
  readonly clock: Clock;
  readonly ids: Ids;
  /** The user's own rules cannot be read; `undefined`: they can. */
  readonly complain: (problem: string | undefined) => void;
}

/** Every standing answer that holds in a city: its own, and those of its user. */
export class RuleBook {
  readonly options: RuleBookOptions;

  constructor(options: RuleBookOptions) {
    this.options = options;
  }

  /**
   * What the rules say to a question now. While the user's own cannot be read, nothing is allowed: one of them may deny it.
   */
  async decide(question: RuleQuestion): Promise<RuleVerdict> {
    const city = (await this.options.store.rules()).map(ruleOfRow);
    const user = this.#userRules();
    return decideByRules(
      question,
      user ? [...city, ...user] : city.filter(({ effect }) => effect === 'deny'),
    );
  }

  /** @throws GcError `rules-unreadable` */
  async list(): Promise<readonly Rule[]> {
    const city = (await this.options.store.rules()).map(ruleOfRow);
    return [...city, ...readUserRules(this.options.env)];
  }

  #userRules(): readonly Rule[] | undefined {
    try {
      const rules = readUserRules(this.options.env);
      this.options.complain(undefined);
      return rules;
    } catch (error) {
      if (!(error instanceof GcError)) throw error;
      this.options.complain(error.next === undefined ? error.message : `${error.message} (${error.next})`);
      return undefined;
    }
  }
}

export function ruleOfRow(row: RuleRow): Rule {
  const { rig, agent, session, input } = row;
  return {
    id: `r${row.num}`,
    effect: row.effect,
    scope: row.scope,
    ...(rig === undefined ? {} : { rig }),
    ...(agent === undefined ? {} : { agent }),
    ...(session === undefined ? {} : { session }),
    tool: row.tool,
    ...(input === undefined ? {} : { input }),
    by: row.madeBy,
    at: rfc3339(row.madeMs),
    ...(row.boundSessionId === '' ? {} : { bound: { sessionId: row.boundSessionId, epoch: row.boundEpoch } }),
  };
}
