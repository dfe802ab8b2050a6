import { instanceName, isPool, resolvedMax } from '../config/capacity.ts';
import type { Agent, City } from '../config/city.ts';
import { baseName, qualifiedName } from '../config/qualified-name.ts';
import { identityOfSession } from './session-name.ts';

export interface FoundAgent {
  readonly agent: Agent;
  /** The agent's own name, that of one of its instances, or of a named session. */
  readonly identity: string;
}

type AgentCity = Pick<City, 'agents' | 'namedSessions' | 'rigs' | 'workspace'>;

/**
 * The agent that a word means: in a rig one of that rig first; then a qualified name; a named session; the name of its
 * session; last a shorter name or an instance, when exactly one agent answers to it. Source: Gas City's agent resolution.
 */
export function findAgent(city: AgentCity, word: string, rig = ''): FoundAgent | undefined {
  const [only, second] = agentsMeant(city, word, rig);
  return second ? undefined : only;
}

/** All that a word may mean: several when it is too short. */
export function agentsMeant(city: AgentCity, word: string, rig = ''): readonly FoundAgent[] {
  const exact = (name: string): FoundAgent | undefined => {
    const agent = city.agents.find((candidate) => candidate.qualifiedName === name);
    return agent && { agent, identity: name };
  };
  const isBare = !word.includes('/');
  const found =
    (isBare && rig !== '' ? exact(`${rig}/${word}`) : undefined) ??
    exact(word) ??
    namedSession(city, word) ??
    exact(identityOfSession(city, word));
  if (found) return [found];
  return city.agents.flatMap((agent): readonly FoundAgent[] => {
    if (shorterNames(agent).includes(word)) return [{ agent, identity: agent.qualifiedName }];
    const identity = instanceOf(city, agent, word);
    return identity === undefined ? [] : [{ agent, identity }];
  });
}

/** `rig/binding.name` is also `binding.name`, `name` and `rig/name`. */
function shorterNames(agent: Agent): readonly string[] {
  return [baseName(agent.qualifiedName), agent.name, qualifiedName(agent.dir, '', agent.name)];
}

function namedSession(city: AgentCity, identity: string): FoundAgent | undefined {
  const named = city.namedSessions.find((session) => session.identity === identity);
  const agent =
    named && city.agents.find((candidate) => candidate.qualifiedName === named.templateQualifiedName);
  return agent && { agent, identity };
}

/** The identity of an instance, by its whole name or, without its rig and binding, by the last part of it. */
function instanceOf(city: AgentCity, agent: Agent, word: string): string | undefined {
  if (!isPool(city, agent)) return undefined;
  const last = baseName(word);
  const pooled = agent.namepoolNames.indexOf(last.slice(last.lastIndexOf('.') + 1)) + 1;
  const slot = pooled || Number(/-([1-9]\d{0,4})$/.exec(last)?.[1] ?? 0);
  if (slot < 1 || slot > (resolvedMax(city, agent) ?? Number.POSITIVE_INFINITY)) return undefined;
  const identity = instanceName(agent, slot);
  const bare = agent.namepoolNames[slot - 1] ?? `${agent.name}-${slot}`;
  return word === identity || word === bare ? identity : undefined;
}
