import { limitOf, resolvedMax } from '../config/capacity.ts';
import type { City } from '../config/city.ts';
import type { SessionRecord } from '../session/record.ts';
import type { Desired } from './model.ts';

/** How many sessions may be up at once. */
export interface StartLimits {
  /** By qualified name of the agent. */
  readonly agents: ReadonlyMap<string, { readonly max: number | undefined; readonly rig: string }>;
  readonly rigs: ReadonlyMap<string, number>;
  readonly city: number | undefined;
}

export const NO_LIMITS: StartLimits = { agents: new Map(), rigs: new Map(), city: undefined };

export function startLimits(city: City): StartLimits {
  return {
    agents: new Map(
      city.agents.map((agent) => [agent.qualifiedName, { max: resolvedMax(city, agent), rig: agent.dir }]),
    ),
    rigs: new Map(
      city.rigs.flatMap((rig) => {
        const max = limitOf(rig.maxActiveSessions);
        return max === undefined ? [] : [[rig.name, max] as const];
      }),
    ),
    city: limitOf(city.workspace.maxActiveSessions),
  };
}

interface Occupant {
  readonly template: string;
  readonly rig: string;
  /** It comes and goes with the work, or is on its way out. */
  readonly givesWay: boolean;
}

/**
 * The places that are taken while starts are decided. Which sessions are wanted within the limits is decided elsewhere;
 * one that is let go still has its place until its process is gone. A session that the file names, or that a person made,
 * waits only for those that will give way: it is never kept down by others of its kind. Local to one plan.
 */
export class Places {
  readonly #limits: StartLimits;
  readonly #taken: Occupant[];

  constructor(limits: StartLimits, records: readonly SessionRecord[], desired: ReadonlyMap<string, Desired>) {
    this.#limits = limits;
    const hasLimits =
      limits.city !== undefined ||
      limits.rigs.size > 0 ||
      [...limits.agents.values()].some(({ max }) => max !== undefined);
    const up = hasLimits ? records.filter((record) => record.lastWokeAt !== undefined) : [];
    this.#taken = up.map((record) => this.#occupant(record.template, desired.get(record.sessionName)));
  }

  take(desired: Desired): void {
    this.#taken.push(this.#occupant(desired.template, desired));
  }

  /** What it waits for, for people; `undefined`: there is a place for it. */
  waitsFor(desired: Desired): string | undefined {
    const { template, kind } = desired;
    const { max, rig = '' } = this.#limits.agents.get(template) ?? {};
    const scopes: readonly (readonly [string, number | undefined, readonly Occupant[]])[] = [
      [`agent ${template}`, max, this.#taken.filter((occupant) => occupant.template === template)],
      [`rig ${rig}`, this.#limits.rigs.get(rig), this.#taken.filter((occupant) => occupant.rig === rig)],
      ['the city', this.#limits.city, this.#taken],
    ];
    for (const [scope, limit, occupants] of scopes) {
      if (limit === undefined || occupants.length < limit) continue;
      if (kind === 'pool' || occupants.some(({ givesWay }) => givesWay))
        return `a place: max_active_sessions of ${scope} is ${limit}`;
    }
    return undefined;
  }

  #occupant(template: string, desired: Desired | undefined): Occupant {
    const rig = this.#limits.agents.get(template)?.rig ?? '';
    return { template, rig, givesWay: desired === undefined || desired.kind === 'pool' };
  }
}
