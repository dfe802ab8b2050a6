import { instanceName, resolvedMax, supportsExpansion } from '../config/capacity.ts';
import type { Agent, City } from '../config/city.ts';
import { baseName } from '../config/qualified-name.ts';

export interface FoundAgent {
  readonly agent: Agent;
  /** The agent's own name, that of one of its instances, or of a named session. */
  readonly identity: string;
}

type AgentCity = Pick<City, 'agents' | 'namedSessions' | 'rigs' | 'workspace'>;

/**
 * The agent that a word means: in a rig one of that rig first; then a qualified name; a named session; an instance of a
 * qualified name; last a bare name or instance, when exactly one agent answers to it. Source: Gas City's agent resolution.
 */
export function findAgent(city: AgentCity, word: string, rig = ''): FoundAgent | undefined {
  const exact = (name: string): FoundAgent | undefined => {
    const agent = city.agents.find(({ qualifiedName }) => qualifiedName === name);
    return agent && { agent, identity: name };
  };
  const isBare = !word.includes('/');
  const found =
    (isBare && rig !== '' ? exact(`${rig}/${word}`) : undefined) ?? exact(word) ?? namedSession(city, word);
  if (found) return found;
  const candidates = city.agents.flatMap((agent): readonly FoundAgent[] => {
    if (isBare && agent.name === word) return [{ agent, identity: agent.qualifiedName }];
    const identity = instanceOf(city, agent, word);
    return identity === undefined ? [] : [{ agent, identity }];
  });
  return candidates.length === 1 ? candidates[0] : undefined;
}

function namedSession(city: AgentCity, identity: string): FoundAgent | undefined {
  const named = city.namedSessions.find((session) => session.identity === identity);
  const agent =
    named && city.agents.find(({ qualifiedName }) => qualifiedName === named.templateQualifiedName);
  return agent && { agent, identity };
}

/** The identity of an instance, by its whole name or, without its rig and binding, by the last part of it. */
function instanceOf(city: AgentCity, agent: Agent, word: string): string | undefined {
  if (!supportsExpansion(agent)) return undefined;
  const last = baseName(word);
  const pooled = agent.namepoolNames.indexOf(last.slice(last.lastIndexOf('.') + 1)) + 1;
  const slot = pooled || Number(/-([1-9]\d{0,4})$/.exec(last)?.[1] ?? 0);
  if (slot < 1 || slot > (resolvedMax(city, agent) ?? Number.POSITIVE_INFINITY)) return undefined;
  const identity = instanceName(agent, slot);
  const bare = agent.namepoolNames[slot - 1] ?? `${agent.name}-${slot}`;
  return word === identity || word === bare ? identity : undefined;
}
