import type { Agent, City } from './city.ts';
import { qualifiedInstanceName } from './qualified-name.ts';

/** How many sessions an agent may have, and what they are called. Source: Gas City's capacity rules. */
type Sized = Pick<Agent, 'maxActiveSessions' | 'namepoolNames'>;
type Named = Pick<Agent, 'name' | 'dir' | 'binding' | 'namepoolNames'>;

/** Sessions that nobody named may work for it. */
export function allowsGeneric(agent: Pick<Agent, 'maxActiveSessions'>): boolean {
  return agent.maxActiveSessions !== 0;
}

/** It may have more than one session at a time, whoever made them. */
export function supportsMultiple(agent: Sized): boolean {
  return agent.namepoolNames.length > 0 || agent.maxActiveSessions !== 1;
}

/** Its sessions are numbered, or named from its name pool. */
export function supportsExpansion(agent: Sized): boolean {
  const { maxActiveSessions: max } = agent;
  return agent.namepoolNames.length > 0 || max === undefined || max < 0 || max > 1;
}

/** As `supportsExpansion`; one session at most is a pool too, where work or a floor asks for it and no named session is there. */
export function isPool(city: Pick<City, 'namedSessions'>, agent: Agent): boolean {
  if (supportsExpansion(agent)) return true;
  if (agent.maxActiveSessions !== 1 || (agent.scaleCheck === '' && agent.minActiveSessions === 0))
    return false;
  return city.namedSessions.every((named) => named.templateQualifiedName !== agent.qualifiedName);
}

/** The agent's own limit, else its rig's, else the city's; `undefined`: none. */
export function resolvedMax(
  city: Pick<City, 'rigs' | 'workspace'>,
  agent: Pick<Agent, 'maxActiveSessions' | 'dir'>,
): number | undefined {
  const rig = city.rigs.find((candidate) => candidate.name === agent.dir);
  const written =
    agent.maxActiveSessions ?? rig?.maxActiveSessions ?? city.workspace.maxActiveSessions ?? undefined;
  return limitOf(written);
}

/** A limit as it is written; below 0 there is none. */
export function limitOf(written: number | undefined): number | undefined {
  return written === undefined || written < 0 ? undefined : written;
}

/** The identity of the session in a slot, the first being 1: its name from the pool, else `<agent>-<slot>`. */
export function instanceName(agent: Named, slot: number): string {
  return qualifiedInstanceName(agent, agent.namepoolNames[slot - 1] ?? `${agent.name}-${slot}`);
}
