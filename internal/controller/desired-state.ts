import { sessionNameIn } from '../agent/session-name.ts';
import type { Agent, City, NamedSession } from '../config/city.ts';
import type { ConfiguredName } from '../session/names.ts';
import type { SessionRecord } from '../session/record.ts';
import type { Desired } from './model.ts';
import type { PoolSlot } from './pools.ts';
import type { ResolveRequest, TemplateResolver } from './template-resolve.ts';

/**
 * What the city asks for: its named sessions, what they depend on, the slots of its pools, and the sessions that people
 * made. Resolving is done once per config; sessions that could not be resolved are tried again each time, because what they lacked may be there.
 */
export class DesiredBook {
  readonly #city: City;
  readonly #resolver: TemplateResolver;
  readonly #resolved = new Map<string, Desired>();
  #last:
    | {
        readonly records: readonly SessionRecord[];
        readonly slots: readonly PoolSlot[];
        readonly desired: ReadonlyMap<string, Desired>;
      }
    | undefined;

  constructor(city: City, resolver: TemplateResolver) {
    this.#city = city;
    this.#resolver = resolver;
  }

  forget(): void {
    this.#resolved.clear();
    this.#last = undefined;
  }

  /** By session name. */
  async desired(
    records: readonly SessionRecord[],
    slots: readonly PoolSlot[] = [],
  ): Promise<ReadonlyMap<string, Desired>> {
    if (this.#last?.records === records && this.#last.slots === slots) return this.#last.desired;
    const desired = new Map<string, Desired>();
    for (const request of desiredRequests(this.#city, records, slots)) {
      desired.set(request.sessionName, await this.#resolve(request));
    }
    const allResolved = [...desired.values()].every((d) => d.resolution === 'resolved');
    this.#last = allResolved ? { records, slots, desired } : undefined;
    return desired;
  }

  async #resolve(request: ResolveRequest): Promise<Desired> {
    const key = JSON.stringify([
      request.sessionName,
      request.identity,
      request.kind,
      request.mode,
      request.agent.qualifiedName,
    ]);
    const known = this.#resolved.get(key);
    if (known) return known;
    const resolved = await this.#resolver.resolve(request);
    if (resolved.resolution === 'resolved') this.#resolved.set(key, resolved);
    return resolved;
  }
}

/** Which sessions a city asks for. Pure. Agents without a named session, a dependent, work or a person's wish have none. */
export function desiredRequests(
  city: City,
  records: readonly SessionRecord[],
  slots: readonly PoolSlot[] = [],
): readonly ResolveRequest[] {
  const agents = new Map(city.agents.map((agent) => [agent.qualifiedName, agent]));
  const requests = new Map<string, ResolveRequest>();
  const add = (request: ResolveRequest) => {
    if (!requests.has(request.sessionName)) requests.set(request.sessionName, request);
  };
  for (const named of city.namedSessions) {
    const agent = agents.get(named.templateQualifiedName);
    if (agent) add(namedRequest(city, named, agent, records));
  }
  for (const record of records) {
    const agent = agents.get(record.template);
    if (agent && isManual(record)) add(manualRequest(city, record, agent));
  }
  for (const slot of slots) add(poolRequest(city, slot));
  for (const agent of neededAgents(agents, requests)) add(dependencyRequest(city, agent));
  return [...requests.values()];
}

/** Names that the config gives away, whether they have a record or not. */
export function configuredNames(city: City): readonly ConfiguredName[] {
  return city.namedSessions.map((named) => ({
    identity: named.identity,
    sessionName: sessionNameIn(city, named.identity),
  }));
}

/** A canonical record keeps the runtime name it has. */
function namedRequest(
  city: City,
  named: NamedSession,
  agent: Agent,
  records: readonly SessionRecord[],
): ResolveRequest {
  const canonical = records.find(
    (record) => record.namedIdentity === named.identity && record.sessionName !== '',
  );
  return {
    agent,
    sessionName: canonical?.sessionName ?? sessionNameIn(city, named.identity),
    identity: named.identity,
    kind: 'named',
    mode: named.mode,
    suspended: isSuspended(city, agent),
    source: named.source,
  };
}

function manualRequest(city: City, record: SessionRecord, agent: Agent): ResolveRequest {
  return {
    agent,
    sessionName: record.sessionName,
    identity: record.alias || record.sessionName,
    kind: 'manual',
    mode: '',
    suspended: isSuspended(city, agent),
    source: agent.source,
  };
}

function poolRequest(city: City, { agent, slot, identity, sessionName }: PoolSlot): ResolveRequest {
  return {
    agent,
    sessionName,
    identity,
    kind: 'pool',
    mode: '',
    slot,
    suspended: isSuspended(city, agent),
    source: agent.source,
  };
}

/** A dependency that no named session covers gets one session, as long as something needs it. */
function dependencyRequest(city: City, agent: Agent): ResolveRequest {
  return {
    agent,
    sessionName: sessionNameIn(city, agent.qualifiedName),
    identity: agent.qualifiedName,
    kind: 'dependency',
    mode: '',
    suspended: isSuspended(city, agent),
    source: agent.source,
  };
}

function neededAgents(
  agents: ReadonlyMap<string, Agent>,
  requests: ReadonlyMap<string, ResolveRequest>,
): readonly Agent[] {
  // A pool's slots come and go: they cover nothing.
  const standing = [...requests.values()].filter((request) => request.kind !== 'pool');
  const covered = new Set(standing.map((request) => request.agent.qualifiedName));
  const open = [...requests.values()].flatMap((request) => request.agent.dependsOn);
  const needed: Agent[] = [];
  for (let name = open.shift(); name !== undefined; name = open.shift()) {
    const agent = agents.get(name);
    if (!agent || covered.has(name)) continue;
    covered.add(name);
    needed.push(agent);
    open.push(...agent.dependsOn);
  }
  return needed;
}

function isManual(record: SessionRecord): boolean {
  return record.origin === 'manual' && record.sessionName !== '' && !record.dependencyOnly;
}

export function isSuspended(city: City, agent: Agent): boolean {
  if (city.workspace.suspended || agent.suspended) return true;
  return city.rigs.some((rig) => rig.suspended && rig.name === agent.dir);
}
