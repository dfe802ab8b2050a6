import { agentsMeant } from '../agent/find-agent.ts';
import { supportsMultiple } from '../config/capacity.ts';
import type { Agent, City } from '../config/city.ts';
import { didYouMean } from '../config/document/nearest.ts';
import { GcError } from '../platform/errors.ts';
import { adhocName, qualifiedAlias } from '../session/names.ts';
import type { SessionRecord } from '../session/record.ts';
import type { NewSession } from '../session/record-codec.ts';
import { START_ANYWAY_KEY } from './admission.ts';
import type { NewSessionRequest } from './city-api.ts';
import type { CityEngine } from './city-engine.ts';
import { configuredNames, isSuspended } from './desired-state.ts';
import { refuseWithoutRoom } from './room-waits.ts';

/**
 * The agent that a person means, by any name that means one agent. The name of a session is none: what is done to the
 * agent happens to all of its sessions. @throws GcError `agent-not-found`, `ambiguous-agent`, `not-an-agent`
 */
export function requireAgent(city: City, name: string): Agent {
  const meant = agentsMeant(city, name);
  const [only, second] = meant;
  if (!only) {
    const known = city.agents.map((agent) => agent.qualifiedName);
    throw new GcError('agent-not-found', `agent "${name}" not found${didYouMean(name, known)}`, {
      next: 'gc agent list',
    });
  }
  if (second) {
    const names = meant.map(({ agent }) => agent.qualifiedName).join(', ');
    throw new GcError('ambiguous-agent', `agent "${name}" is ambiguous: ${names}`, {
      next: 'use the full name',
    });
  }
  const { agent, identity } = only;
  if (identity === agent.qualifiedName) return agent;
  throw new GcError('not-an-agent', `"${name}" is a session of agent "${agent.qualifiedName}"`, {
    next: `name the agent: ${agent.qualifiedName}; gc session --help has what can be done to one session`,
  });
}

/** Writes the record of a session that a person asks for; it is started by whoever starts sessions. */
export async function createManualSession(
  engine: CityEngine,
  request: NewSessionRequest,
): Promise<SessionRecord> {
  const { city } = engine;
  const { store, ids } = engine.parts;
  const agent = requireAgent(city, request.template);
  if (isSuspended(city, agent)) {
    throw new GcError('agent-suspended', `agent "${agent.qualifiedName}" is suspended`, {
      next: `gc agent resume ${agent.qualifiedName}`,
    });
  }
  refuseAboveMax(city, agent, await store.list('open'));
  // Its own name comes with its record; where it runs does not depend on it but for hybrid cities.
  if (!request.force)
    refuseWithoutRoom(
      engine,
      request.alias ?? '',
      `a session of ${agent.qualifiedName}`,
      `gc session new ${request.template} --force`,
    );
  const several = supportsMultiple(agent);
  const alias = request.alias ? qualifiedAlias(request.alias, agent.dir, several) : '';
  const explicit = several && alias === '';
  const session: NewSession = {
    template: agent.qualifiedName,
    title: request.title ?? '',
    sessionName: explicit ? adhocName(sessionBase(agent), ids) : '',
    sessionNameExplicit: explicit,
    alias,
    origin: 'manual',
    provider: '',
    workDir: '',
    command: '',
    instanceToken: ids.hex(16),
    state: 'creating',
    stateReason: 'asked for by a person',
    pendingCreateClaim: true,
  };
  const record = await store.create(session, { configured: configuredNames(city) });
  return request.force ? store.apply(record.id, { [START_ANYWAY_KEY]: 'yes' }) : record;
}

function refuseAboveMax(city: City, agent: Agent, records: readonly SessionRecord[]): void {
  const max = agent.maxActiveSessions;
  if (max === undefined || max < 0) return;
  const named = city.namedSessions.filter(
    (n) => n.templateQualifiedName === agent.qualifiedName && n.mode === 'always',
  ).length;
  const manual = records.filter(
    (r) => r.template === agent.qualifiedName && r.origin === 'manual' && r.state !== 'suspended',
  ).length;
  if (named + manual < max) return;
  throw new GcError(
    'max-sessions',
    `agent "${agent.qualifiedName}" may have ${max} sessions and has ${named + manual}`,
    {
      next: 'close one (gc session list), or raise max_active_sessions',
    },
  );
}

function sessionBase(agent: Agent): string {
  return agent.name.replace(/[^a-zA-Z0-9_-]+/g, '-').replace(/^[^a-zA-Z0-9]+/, '') || 'session';
}
