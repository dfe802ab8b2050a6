import type { Dice } from './dice.ts';

export type AgentRole = 'always' | 'on_demand' | 'pool' | 'spare';

/** One agent of the city file. */
export interface AgentText {
  readonly name: string;
  readonly role: AgentRole;
  command: string;
  dependsOn: string[];
  idleTimeoutS: number | undefined;
  sleepAfterS: number | undefined;
  max: number | undefined;
  min: number;
  readonly drainTimeoutS: number;
  readonly nudge: string;
  readonly fresh: boolean;
  readonly processNames: boolean;
  suspended: boolean;
}

/** What the city file says, and can be edited to say. */
export interface CityText {
  readonly agents: AgentText[];
  readonly maxRestarts: number;
  readonly patrolS: number;
  cityMax: number | undefined;
  /** Nothing that could be read. */
  broken: boolean;
}

const NAMES = ['ant', 'bee', 'cat', 'dog', 'elk', 'fox'];

export function cityTextOf(dice: Dice): CityText {
  const count = dice.int(2, 5);
  const agents: AgentText[] = [];
  for (const name of NAMES.slice(0, count)) agents.push(agentText(name, dice, agents));
  if (agents.every((agent) => agent.role === 'spare')) agents.push(agentText('gnu', dice, agents, 'always'));
  return {
    agents,
    maxRestarts: dice.pick([0, 0, 3]),
    patrolS: dice.pick([10, 30, 30]),
    cityMax: dice.chance(0.1) ? dice.int(2, 4) : undefined,
    broken: false,
  };
}

export function agentText(
  name: string,
  dice: Dice,
  before: readonly AgentText[],
  role: AgentRole = dice.pick(['always', 'always', 'on_demand', 'pool', 'pool', 'spare']),
): AgentText {
  const isPool = role === 'pool';
  return {
    name,
    role,
    command: `run-${name}`,
    dependsOn: before.length > 0 && dice.chance(0.25) ? [dice.pick(before).name] : [],
    idleTimeoutS: role !== 'always' && dice.chance(0.4) ? dice.int(20, 90) : undefined,
    sleepAfterS: role === 'on_demand' ? dice.pick([20, 60, undefined]) : undefined,
    max: isPool ? dice.int(2, 4) : role === 'spare' ? dice.pick([undefined, 3]) : undefined,
    min: isPool && dice.chance(0.3) ? 1 : 0,
    drainTimeoutS: dice.int(5, 40),
    nudge: dice.chance(0.3) ? `begin, ${name}` : '',
    fresh: dice.chance(0.2),
    processNames: dice.chance(0.2),
    suspended: false,
  };
}

export function yamlOf(city: CityText): string {
  if (city.broken) return 'agents: [ this is { not\n';
  const max = city.cityMax === undefined ? '' : `, max_active_sessions: ${city.cityMax}`;
  const named = city.agents.filter(({ role }) => role === 'always' || role === 'on_demand');
  return [
    `workspace: { name: sim${max} }`,
    `daemon: { max_restarts: ${city.maxRestarts}, restart_window: 10m, shutdown_timeout: 2s, patrol_interval: ${city.patrolS}s, drift_drain_timeout: 15s }`,
    'agents:',
    ...city.agents.map(lineOf),
    ...(named.length > 0 ? ['named_sessions:'] : []),
    ...named.map(({ name, role }) => `  - { template: ${name}, mode: ${role} }`),
    '',
  ].join('\n');
}

function lineOf(agent: AgentText): string {
  const parts = [
    `name: ${agent.name}`,
    `start_command: ${agent.command}`,
    'ready_prompt_prefix: "> "',
    `drain_timeout: ${agent.drainTimeoutS}s`,
    ...(agent.dependsOn.length > 0 ? [`depends_on: [${agent.dependsOn.join(', ')}]`] : []),
    ...(agent.idleTimeoutS === undefined ? [] : [`idle_timeout: ${agent.idleTimeoutS}s`]),
    ...(agent.sleepAfterS === undefined ? [] : [`sleep_after_idle: ${agent.sleepAfterS}s`]),
    ...(agent.max === undefined ? [] : [`max_active_sessions: ${agent.max}`]),
    ...(agent.min === 0 ? [] : [`min_active_sessions: ${agent.min}`]),
    ...(agent.nudge === '' ? [] : [`nudge: "${agent.nudge}"`]),
    ...(agent.fresh ? ['wake_mode: fresh'] : []),
    ...(agent.processNames ? ['process_names: [agent]'] : []),
    ...(agent.suspended ? ['suspended: true'] : []),
  ];
  return `  - { ${parts.join(', ')} }`;
}
