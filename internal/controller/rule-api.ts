import type { RuleTerms, SaidRule } from '../session/permission-rules.ts';

/** Standing answers to what agents ask: nobody has to be there for them. Every method throws a GcError. */
export interface RuleApi {
  list(): Promise<readonly PermissionRule[]>;
  /** @throws invalid-rule, agent-not-found, rig-not-found, session-not-found, answered-by-agent */
  add(rule: NewPermissionRule): Promise<PermissionRule>;
  /** @throws rule-not-found, answered-by-agent */
  remove(id: string): Promise<PermissionRule>;
}

export type NewPermissionRule = RuleTerms;

export type PermissionRule = SaidRule;
