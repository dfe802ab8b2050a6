import type { Agents } from './agents.ts';
import type { Dice } from './dice.ts';
import type { People } from './people.ts';
import type { World } from './world.ts';

/** Everybody who takes part in a run. */
export interface Cast {
  readonly world: World;
  readonly people: People;
  readonly agents: Agents;
}

export type Act = (cast: Cast, dice: Dice) => void | Promise<void>;

/** Whom somebody means: sessions by any of their names, identities of the city file, and now and then nobody. */
export function target({ world, people }: Cast, dice: Dice): string {
  const record = dice.maybe(world.recordsNow());
  const identity = dice.pick(world.text.agents).name;
  const name = record && dice.pick([record.sessionName, record.alias || record.sessionName, record.id]);
  const found = dice.weighted([
    [5, name ?? identity],
    [4, identity],
    [0.2, 'nobody'],
  ]);
  return people.nameOf(found) === found && dice.chance(0.1) ? identity : found;
}
