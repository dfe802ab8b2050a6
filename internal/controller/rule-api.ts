/** Standing answers to what agents ask: nobody has to be there for them. Every method throws a GcError. */
export interface RuleApi {
  list(): Promise<readonly PermissionRule[]>;
  /** @throws invalid-rule, agent-not-found, rig-not-found, session-not-found, answered-by-agent */
  add(rule: NewPermissionRule): Promise<PermissionRule>;
  /** @throws rule-not-found, answered-by-agent */
  remove(id: string): Promise<PermissionRule>;
}

/** Where a rule holds. `session`: for one life of its conversation; `project`: in one folder; `always`: for this user. */
export type RuleScope = 'session' | 'project' | 'city' | 'always';

export interface NewPermissionRule {
  readonly effect: 'allow' | 'deny';
  readonly scope: RuleScope;
  /** Only there; absent: everywhere in its scope. Qualified names. */
  readonly rig?: string;
  readonly agent?: string;
  readonly session?: string;
  /** Absolute, of a `project` rule. */
  readonly project?: string;
  /** The tool's name as the agent says it; `*`: any. */
  readonly tool: string;
  /** What the input must be; `*` stands for any run of characters. Absent: any. */
  readonly input?: string;
}

export interface PermissionRule extends NewPermissionRule {
  readonly id: string;
  /** Who made it, RFC 3339 when. */
  readonly by: string;
  readonly at: string;
}
