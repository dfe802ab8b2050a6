import { resolve } from 'node:path';
import type { NewPermissionRule } from '../../../internal/controller/rule-api.ts';
import type { RuleScope } from '../../../internal/session/permission-rules.ts';
import { withCity } from '../city/access.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { rulesText, ruleText } from '../output/rules-text.ts';
import { refuseAgents } from '../sessions/agent-side.ts';

export const runRuleList: CommandRun = async (context) => {
  const rules = await withCity(context, ({ api }) => api.rules.list());
  context.out.write(context.json ? `${JSON.stringify({ items: rules }, null, 2)}\n` : rulesText(rules));
  return 0;
};

export const runRuleAllow: CommandRun = (context, input) => add(context, input, 'allow');
export const runRuleDeny: CommandRun = (context, input) => add(context, input, 'deny');

async function add(context: Context, input: Input, effect: 'allow' | 'deny'): Promise<number> {
  refuseAgents(context.env, process.pid, `a rule that ${effect === 'allow' ? 'allows' : 'denies'}`);
  const wanted = ruleOf(context, input, effect);
  const rule = await withCity(context, ({ api }) => api.rules.add(wanted));
  context.out.write(context.json ? `${JSON.stringify(rule, null, 2)}\n` : `${rule.id}  ${ruleText(rule)}\n`);
  return 0;
}

export const runRuleRemove: CommandRun = async (context, input) => {
  refuseAgents(context.env, process.pid, 'removing a rule');
  const id = input.arg('rule');
  const rule = await withCity(context, ({ api }) => api.rules.remove(id));
  context.out.write(
    context.json ? `${JSON.stringify(rule, null, 2)}\n` : `removed ${rule.id}  ${ruleText(rule)}\n`,
  );
  return 0;
};

const SCOPES: readonly RuleScope[] = ['session', 'project', 'city', 'always'];

function ruleOf(context: Context, input: Input, effect: 'allow' | 'deny'): NewPermissionRule {
  const project = input.text('project');
  const tool = input.text('tool');
  if (tool === undefined)
    throw new UsageError('--tool is needed: the tool as gc pending names it, or * for any');
  const said = input.text('scope') ?? (project === undefined ? 'city' : 'project');
  const scope = SCOPES.find((each) => each === said);
  if (!scope) throw new UsageError(`--scope takes ${SCOPES.join(', ')}, not "${said}"`);
  const names = ['rig', 'agent', 'session', 'input'].flatMap((name) => {
    const value = input.text(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const folder = project ?? (scope === 'project' ? '.' : undefined);
  return {
    effect,
    scope,
    tool,
    ...Object.fromEntries(names),
    ...(folder === undefined ? {} : { project: resolve(context.cwd, folder) }),
  };
}
