import { limitOf, resolvedMax } from '../config/capacity.ts';
import type { Agent, City } from '../config/city.ts';
import type { SessionRecord } from '../session/record.ts';
import { isSuspended } from './desired-state.ts';
import { isUpOrAsked } from './pool-record.ts';
import { isIdleAsleep } from './sleep-policy.ts';

/**
 * How many more sessions the limits of agents, rigs and the city allow. Sessions that are no pool's slots take their
 * place first: named ones and those that people made. A session takes a place for each dependency that is not up for
 * another one as well: counted by itself, a dependency could take the place of the session that it is there for. Local to
 * one decision.
 */
export class Room {
  readonly #city: City;
  readonly #agents: ReadonlyMap<string, Agent>;
  /** By template: how many more sessions come up when somebody depends on it. */
  readonly #asDependency: ReadonlyMap<string, number>;
  /** Templates whose sessions have their places because somebody depends on them. */
  readonly #needed = new Set<string>();
  readonly #perAgent = new Map<string, number>();
  readonly #perRig = new Map<string, number>();
  readonly #rigLimits: ReadonlyMap<string, number>;
  #all = 0;

  constructor(city: City, others: readonly SessionRecord[], called: ReadonlySet<string>) {
    this.#city = city;
    this.#rigLimits = new Map(
      city.rigs.flatMap((rig) => {
        const limit = limitOf(rig.maxActiveSessions);
        return limit === undefined ? [] : [[rig.name, limit] as const];
      }),
    );
    this.#agents = new Map(city.agents.map((agent) => [agent.qualifiedName, agent]));
    const { standing, resting } = othersOf(city, others, called);
    this.#asDependency = asDependency(city, standing, resting);
    for (const template of standing) {
      const agent = this.#agents.get(template);
      if (agent) this.take(agent);
    }
  }

  /** Whether the agent may have one more session, with what that depends on. A dependency is not bound by its own limit. */
  has(agent: Agent): boolean {
    const perAgent = this.#perAgent.get(agent.qualifiedName) ?? 0;
    const all = [agent, ...this.#lacking(agent)];
    return (
      perAgent < (resolvedMax(this.#city, agent) ?? Number.POSITIVE_INFINITY) &&
      all.every(({ dir }) => this.#rigHas(dir, all.filter((other) => other.dir === dir).length)) &&
      this.#all + all.length <= (limitOf(this.#city.workspace.maxActiveSessions) ?? Number.POSITIVE_INFINITY)
    );
  }

  take(agent: Agent): void {
    for (const dependency of this.#lacking(agent)) {
      this.#needed.add(dependency.qualifiedName);
      this.#count(dependency);
    }
    this.#count(agent);
  }

  #rigHas(rig: string, sessions: number): boolean {
    const limit = this.#rigLimits.get(rig) ?? Number.POSITIVE_INFINITY;
    return (this.#perRig.get(rig) ?? 0) + sessions <= limit;
  }

  /** Sessions that it depends on, directly or through others, and that have no place yet: each as its agent. */
  #lacking(agent: Agent): readonly Agent[] {
    const found: Agent[] = [];
    const seen = new Set([agent.qualifiedName]);
    const open = [...agent.dependsOn];
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      const dependency = this.#agents.get(name);
      if (!dependency || seen.has(name) || this.#needed.has(name)) continue;
      seen.add(name);
      const sessions = isSuspended(this.#city, dependency) ? 0 : (this.#asDependency.get(name) ?? 1);
      for (let i = 0; i < sessions; i += 1) found.push(dependency);
      open.push(...dependency.dependsOn);
    }
    return found;
  }

  #count(agent: Agent): void {
    this.#perAgent.set(agent.qualifiedName, (this.#perAgent.get(agent.qualifiedName) ?? 0) + 1);
    this.#perRig.set(agent.dir, (this.#perRig.get(agent.dir) ?? 0) + 1);
    this.#all += 1;
  }
}

interface Others {
  /** Templates of sessions that are up or to be up for a reason of their own, one entry for each. */
  readonly standing: readonly string[];
  /** The same of those that come up when somebody depends on them. */
  readonly resting: readonly string[];
}

function othersOf(city: City, records: readonly SessionRecord[], called: ReadonlySet<string>): Others {
  const upNamed = new Set(
    records
      .filter((record) => record.namedIdentity !== '' && isUpOrAsked(record))
      .map((record) => record.namedIdentity),
  );
  const isStanding = ({ mode, identity }: City['namedSessions'][number]) =>
    mode === 'always' || called.has(identity) || upNamed.has(identity);
  const unnamed = records.filter(
    (record) => record.namedIdentity === '' && !record.dependencyOnly && record.state !== 'suspended',
  );
  const isUp = (record: SessionRecord) =>
    isUpOrAsked(record) || (record.origin === 'manual' && !isIdleAsleep(record));
  const asleep = unnamed.filter((record) => !isUp(record) && record.origin === 'manual');
  const named = (standing: boolean) =>
    city.namedSessions.filter((session) => isStanding(session) === standing);
  return {
    standing: [
      ...named(true).map((session) => session.templateQualifiedName),
      ...unnamed.filter(isUp).map((record) => record.template),
    ],
    resting: [
      ...named(false).map((session) => session.templateQualifiedName),
      ...asleep.map((record) => record.template),
    ],
  };
}

/** A template that no session covers gets one of its own for those that depend on it. */
function asDependency(
  { agents }: City,
  standing: readonly string[],
  resting: readonly string[],
): ReadonlyMap<string, number> {
  const covered = new Set(standing);
  return new Map(
    agents.map(({ qualifiedName }) => {
      const sleepers = resting.filter((template) => template === qualifiedName).length;
      return [qualifiedName, sleepers > 0 || covered.has(qualifiedName) ? sleepers : 1];
    }),
  );
}
