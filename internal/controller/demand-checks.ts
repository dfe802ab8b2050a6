import type { Agent, City } from '../config/city.ts';
import { scaleCheckOf, workQueryOf } from '../config/default-commands.ts';
import { poolAgents, type ScaleCount } from './pools.ts';
import type { ScaleCheck } from './scale-checks.ts';
import { holdsWorkBeads } from './work-facts.ts';

/** The commands of a city that tell whether there is work, and whom each answer concerns. */
export interface DemandChecks {
  readonly checks: readonly ScaleCheck[];
  /** Agents whose sessions a command counts. */
  readonly counted: readonly Agent[];
  /** Agents whose work query is asked. */
  readonly queried: readonly Agent[];
}

/** The key of an agent's work query among the checks; its scale check has the agent's own name. */
export function queryKey({ qualifiedName }: Pick<Agent, 'qualifiedName'>): string {
  return `${qualifiedName} work_query`;
}

/**
 * Scale checks of pools, and of agents with one session that sleeps on demand: such a check asks for that session. Work
 * queries where one is written, or where this city's database does not hold the work. Source: Gas City, which asks the
 * queries of all agents; what the default ones would find is in this city's own database.
 */
export function demandChecks(city: City): DemandChecks {
  const hasBeads = holdsWorkBeads(city);
  const onDemand = new Set(
    city.namedSessions.flatMap(({ mode, templateQualifiedName }) =>
      mode === 'on_demand' ? [templateQualifiedName] : [],
    ),
  );
  const pools = new Set(poolAgents(city));
  const counted = city.agents.filter((agent) => {
    if (pools.has(agent)) return agent.scaleCheck !== '' || !hasBeads;
    return agent.scaleCheck !== '' && onDemand.has(agent.qualifiedName);
  });
  const queried = city.agents.filter((agent) => {
    const isAsked = agent.workQuery !== '' || (!hasBeads && onDemand.has(agent.qualifiedName));
    return isAsked && (pools.has(agent) || onDemand.has(agent.qualifiedName));
  });
  return {
    counted,
    queried,
    checks: [
      ...counted.map(
        (agent): ScaleCheck => ({
          key: agent.qualifiedName,
          agent,
          command: scaleCheckOf(agent),
          answers: 'count',
        }),
      ),
      ...queried.map(
        (agent): ScaleCheck => ({
          key: queryKey(agent),
          agent,
          command: workQueryOf(agent),
          answers: 'work',
        }),
      ),
    ],
  };
}

/** It said that there is something to do. */
export function asksForWork(count: ScaleCount): boolean {
  return count.kind === 'count' && count.count > 0;
}
