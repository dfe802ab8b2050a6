import { isPool } from '../capacity.ts';
import type { City, ConfigProblem } from '../city.ts';

/**
 * What `config show` warns of besides the warnings of loading: an agent that is no pool, and that no named session runs,
 * has a session only when somebody makes one. Source: Gas City `config show`.
 */
export function adviceOf(city: City): readonly ConfigProblem[] {
  const named = new Set(city.namedSessions.map(({ templateQualifiedName }) => templateQualifiedName));
  return city.agents.flatMap((agent, index): ConfigProblem[] => {
    const { qualifiedName, maxActiveSessions, suspended, implicit, source } = agent;
    const isLonely = maxActiveSessions === 1 && !isPool(city, agent) && !named.has(qualifiedName);
    if (!isLonely || suspended || implicit) return [];
    return [
      {
        severity: 'warning',
        code: 'no-named-session',
        message: `agent "${qualifiedName}" has max_active_sessions = 1 and no named session: it never comes up by itself`,
        position: city.provenance.positionOf(`agents[${index}].max_active_sessions`) ?? source,
        hint: 'add a named session with this template, or make one with gc session new',
      },
    ];
  });
}
