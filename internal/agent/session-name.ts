import type { City } from '../config/city.ts';
import { decodeIdentity, nameSession } from '../config/session-naming.ts';

/**
 * The session name of an identity: the one function that makes session names. Without a template the identity with `/`
 * as `--` and `.` as `__`; the city is not part of it, because each city has its own server or host.
 * Source: Gas City `internal/agent`.
 * @throws TemplateError when the template cannot be rendered; a loaded city's can.
 */
export function sessionNameFor(cityName: string, sessionTemplate: string, qualifiedName: string): string {
  return nameSession(cityName, sessionTemplate, qualifiedName);
}

/** The session name of an identity in a city. */
export function sessionNameIn(city: Pick<City, 'workspace'>, qualifiedName: string): string {
  return sessionNameFor(city.workspace.name, city.workspace.sessionTemplate, qualifiedName);
}

/**
 * The identity behind a session name: exact for the agents and named sessions of the city, whose names do not collide,
 * else the best guess.
 */
export function identityOfSession(
  city: Pick<City, 'workspace' | 'agents' | 'namedSessions'>,
  sessionName: string,
): string {
  const identities = [
    ...city.namedSessions.map((session) => session.identity),
    ...city.agents.map((agent) => agent.qualifiedName),
  ];
  return (
    identities.find((identity) => sessionNameIn(city, identity) === sessionName) ??
    decodeIdentity(sessionName)
  );
}
