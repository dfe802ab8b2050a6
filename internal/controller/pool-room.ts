import { limitOf, resolvedMax } from '../config/capacity.ts';
import type { Agent, City } from '../config/city.ts';
import type { SessionRecord } from '../session/record.ts';
import { isUpOrAsked } from './pool-record.ts';

/**
 * How many more sessions the limits of agents, rigs and the city allow. Sessions that are no pool's slots take their
 * place first: named ones, those that people made, dependencies. Local to one decision.
 */
export class Room {
  readonly #city: City;
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
    const agents = new Map(city.agents.map((agent) => [agent.qualifiedName, agent]));
    for (const template of standingTemplates(city, others, called)) {
      const agent = agents.get(template);
      if (agent) this.take(agent);
    }
  }

  has(agent: Agent): boolean {
    const perAgent = this.#perAgent.get(agent.qualifiedName) ?? 0;
    const perRig = this.#perRig.get(agent.dir) ?? 0;
    return (
      perAgent < (resolvedMax(this.#city, agent) ?? Number.POSITIVE_INFINITY) &&
      perRig < (this.#rigLimits.get(agent.dir) ?? Number.POSITIVE_INFINITY) &&
      this.#all < (limitOf(this.#city.workspace.maxActiveSessions) ?? Number.POSITIVE_INFINITY)
    );
  }

  take(agent: Agent): void {
    this.#perAgent.set(agent.qualifiedName, (this.#perAgent.get(agent.qualifiedName) ?? 0) + 1);
    this.#perRig.set(agent.dir, (this.#perRig.get(agent.dir) ?? 0) + 1);
    this.#all += 1;
  }
}

/** The templates of all sessions that are up or to be up, one entry for each. */
function standingTemplates(
  city: City,
  others: readonly SessionRecord[],
  called: ReadonlySet<string>,
): readonly string[] {
  const upNamed = new Set(
    others.filter((record) => record.namedIdentity !== '' && isUpOrAsked(record)).map((r) => r.namedIdentity),
  );
  const named = city.namedSessions.filter(
    ({ mode, identity }) => mode === 'always' || called.has(identity) || upNamed.has(identity),
  );
  const unnamed = others.filter((record) => {
    if (record.namedIdentity !== '' || record.state === 'suspended') return false;
    return record.origin === 'manual' || isUpOrAsked(record);
  });
  return [...named.map((n) => n.templateQualifiedName), ...unnamed.map((record) => record.template)];
}
