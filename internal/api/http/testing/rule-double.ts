import type { NewPermissionRule, PermissionRule, RuleApi } from '../../../controller/rule-api.ts';
import { GcError } from '../../../platform/errors.ts';

/** Rules in memory. */
export class RuleDouble implements RuleApi {
  readonly rules: PermissionRule[] = [];

  async list(): Promise<readonly PermissionRule[]> {
    return this.rules;
  }

  async add(rule: NewPermissionRule): Promise<PermissionRule> {
    const made = { id: `r${this.rules.length + 1}`, ...rule, by: 'human', at: '2026-01-02T03:04:05Z' };
    this.rules.push(made);
    return made;
  }

  async remove(id: string): Promise<PermissionRule> {
    const at = this.rules.findIndex((rule) => rule.id === id);
    const [gone] = at < 0 ? [] : this.rules.splice(at, 1);
    if (!gone) throw new GcError('rule-not-found', `there is no rule ${id}`, { next: 'gc rule list' });
    return gone;
  }
}
