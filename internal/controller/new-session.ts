import { agentsMeant, type FoundAgent } from '../agent/find-agent.ts';
import { supportsMultiple } from '../config/capacity.ts';
import type { Agent, City } from '../config/city.ts';
import { didYouMean } from '../config/document/nearest.ts';
import { GcError } from '../platform/errors.ts';
import { adhocName, checkAlias, plainTitle, qualifiedAlias } from '../session/names.ts';
import type { SessionRecord } from '../session/record.ts';
import type { NewSession } from '../session/record-codec.ts';
import { START_ANYWAY_KEY } from './admission.ts';
import type { NewSessionRequest } from './city-api.ts';
import type { CityEngine } from './city-engine.ts';
import { configuredNames, isSuspended } from './desired-state.ts';
import { rigHere } from './rig-here.ts';
import { refuseWithoutRoom } from './room-waits.ts';
import { sightOf } from './session-facts.ts';
import { refuseUnseen } from './verb-context.ts';

/**
 * The agent that a person means, by any name that means one agent, in the rig at hand or alone. The name of a session is none: what is done to the
 * agent happens to all of its sessions. @throws GcError `agent-not-found`, `ambiguous-agent`, `not-an-agent`
 */
export function requireAgent(city: City, name: string, rig = rigHere(city)): Agent {
  const meant = nearest(agentsMeant(city, name), rig);
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

/** Of several that a short name may mean, the one of the own rig. */
function nearest(meant: readonly FoundAgent[], rig: string): readonly FoundAgent[] {
  const own = rig === '' ? [] : meant.filter(({ agent }) => agent.dir === rig);
  return own.length === 1 ? own : meant;
}

/**
 * Writes the record of a session that a person asks for; it is started by whoever starts sessions.
 * @param controlled a controller starts it, once it can tell what runs
 */
export async function createManualSession(
  engine: CityEngine,
  request: NewSessionRequest,
  controlled: boolean,
): Promise<SessionRecord> {
  const { city } = engine;
  const { store, ids } = engine.parts;
  const agent = requireAgent(city, request.template);
  // As it was typed: in the agent's folder `human` would still answer to `human`.
  if (request.alias) checkAlias(request.alias);
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
  if (!controlled) {
    const sight = sightOf({ survey: await engine.look(), effects: new Map() }, alias);
    refuseUnseen(sight, `a session of ${agent.qualifiedName}`);
  }
  const session: NewSession = {
    template: agent.qualifiedName,
    // Source: Gas City: one of several that has a name is an instance of its agent by that name.
    ...(several && alias !== '' ? { agentName: alias } : {}),
    title: plainTitle(request.title ?? ''),
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
  const has = named + manual;
  if (has < max) return;
  throw new GcError(
    'max-sessions',
    `agent "${agent.qualifiedName}" may have ${max} ${max === 1 ? 'session' : 'sessions'} and has ${has}`,
    { next: `gc agent scale ${agent.qualifiedName} --max ${has + 1}, or close one: gc session list` },
  );
}

function sessionBase(agent: Agent): string {
  return agent.name.replace(/[^a-zA-Z0-9_-]+/g, '-').replace(/^[^a-zA-Z0-9]+/, '') || 'session';
}
