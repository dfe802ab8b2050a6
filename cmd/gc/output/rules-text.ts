import type { PermissionRule } from '../../../internal/controller/rule-api.ts';
import { onePlainLine } from './plain.ts';
import { scopeText } from './questions-text.ts';
import { padTo, widthOf } from './width.ts';

/** One line per rule, denials first: they count before all others. */
export function rulesText(rules: readonly PermissionRule[]): string {
  if (rules.length === 0) return 'No rules: whatever agents ask waits for a person.\n';
  const sorted = rules.toSorted((a, b) => Number(a.effect === 'allow') - Number(b.effect === 'allow'));
  const idColumns = Math.max(...rules.map(({ id }) => widthOf(id)));
  return sorted.map((rule) => `${padTo(rule.id, idColumns)}  ${ruleText(rule)}\n`).join('');
}

/** `deny   Bash: git push*   agent proj/worker, in this city   by human`. */
export function ruleText(rule: PermissionRule): string {
  const { effect, tool, input, rig, agent, session, scope, by } = rule;
  const what = input === undefined ? `${tool}: anything` : `${tool}: ${input}`;
  const where = [
    ...(agent === undefined ? [] : [`agent ${agent}`]),
    ...(rig === undefined ? [] : [`rig ${rig}`]),
    ...(session === undefined || scope === 'session' ? [] : [`session ${session}`]),
    scopeText(rule),
  ];
  return `${padTo(effect, 5)}  ${onePlainLine(what)}   ${onePlainLine(where.join(', '))}   by ${onePlainLine(by)}`;
}
