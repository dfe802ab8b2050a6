import { withCity } from '../city/access.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import { renderTable } from '../output/table.ts';

export const runAgentList: CommandRun = async (context) => {
  const { agents, sessions } = await withCity(context, ({ api }) => api.status());
  if (context.json) {
    context.out.write(`${JSON.stringify(agents, null, 2)}\n`);
    return 0;
  }
  if (agents.length === 0) {
    context.out.write('No agents in the city file.\n');
    return 0;
  }
  const rows = agents.map((agent) => {
    const own = sessions.filter((session) => session.template === agent.qualified_name);
    const state = agent.suspended ? 'suspended' : agent.running ? 'running' : 'stopped';
    return [agent.qualified_name, agent.scope, state, String(own.length)];
  });
  context.out.write(renderTable(['NAME', 'SCOPE', 'STATE', 'SESSIONS'], rows));
  return 0;
};

export const runAgentSuspend: CommandRun = async (context, input) => {
  const agent = input.arg('agent');
  await withCity(context, ({ api }) => api.setAgentSuspended(agent, true));
  context.out.write(`Suspended agent '${agent}'\n`);
  return 0;
};

export const runAgentResume: CommandRun = async (context, input) => {
  const agent = input.arg('agent');
  await withCity(context, ({ api }) => api.setAgentSuspended(agent, false));
  context.out.write(`Resumed agent '${agent}'\n`);
  return 0;
};

export const runAgentScale: CommandRun = async (context, input) => {
  const agent = input.arg('agent');
  const min = input.count('min');
  const max = mostIn(input);
  if (min === undefined && max === undefined) {
    throw new UsageError('nothing to change', `gc agent scale ${agent} --min 1 --max 5`);
  }
  const request = { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) };
  const reply = await withCity(context, ({ api }) => api.upkeep.scale(agent, request));
  if (context.json) context.out.write(`${JSON.stringify(reply, null, 2)}\n`);
  else {
    const most = reply.max < 0 ? 'unlimited' : String(reply.max);
    const how = reply.changed ? 'Scaled agent' : 'Nothing to change for agent';
    context.out.write(`${how} '${reply.agent}': min ${reply.min}, max ${most}\n`);
  }
  return 0;
};

/** @throws UsageError */
function mostIn(input: Input): number | undefined {
  const word = input.text('max');
  return word === 'unlimited' || word === '-1' ? -1 : input.count('max');
}
