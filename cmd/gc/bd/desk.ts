import { realpathSync } from 'node:fs';
import { beadJson } from '../../../internal/beads/bead-json.ts';
import { leftBehind } from '../../../internal/beads/open-work.ts';
import type { Bead } from '../../../internal/beads/store.ts';
import { type WorkChange, WorkStore } from '../../../internal/beads/work-store.ts';
import { commandActor } from '../../../internal/events/event-types.ts';
import { SESSION_BEAD_TYPE } from '../../../internal/session/record.ts';
import { type CityStore, withCityStore } from '../city/city-store.ts';
import type { Input } from '../cli/input.ts';
import type { Context } from '../context.ts';
import { concernsController, pokeController } from './poke.ts';
import { readPrefixes } from './read-prefixes.ts';
import { chooseScope, type Scope } from './scope.ts';

/** What every verb works with: the words, the store, and what is printed. */
export class Desk {
  readonly context: Context;
  readonly input: Input;
  readonly actor: string;
  readonly work: WorkStore;
  readonly #store: CityStore;

  constructor(context: Context, input: Input, store: CityStore) {
    this.context = context;
    this.input = input;
    this.#store = store;
    this.actor = input.text('actor') || context.env['BEADS_ACTOR'] || commandActor(context.env);
    this.work = new WorkStore(store.work, { actor: this.actor, recordTypes: new Set([SESSION_BEAD_TYPE]) });
  }

  async scope(): Promise<Scope> {
    const { context, input } = this;
    const rigOption = input.text('rig');
    const allRigs = input.flag('all-rigs');
    const { root, db, work } = this.#store;
    const prefixes = await readPrefixes(context, root, db);
    return chooseScope(
      { ...prefixes, city: work.cityPrefix ?? prefixes.city },
      {
        rigOption,
        allRigs,
        envRig: context.env['GC_RIG'],
        cwd: realOr(context.cwd),
      },
    );
  }

  json(data: unknown): void {
    this.context.out.write(`${JSON.stringify(data, null, 2)}\n`);
  }

  /** The beads as an array, or what `text` makes of each. */
  print(beads: readonly Bead[], text: (bead: Bead) => string): void {
    if (this.context.json) this.json(beads.map(beadJson));
    else this.context.out.write(beads.map(text).join(''));
  }

  /** To a person, after the work was moved to another store: what the old one still holds. */
  async sayWhatIsElsewhere(): Promise<void> {
    const { json, err, env } = this.context;
    if (json || env['GC_SESSION_NAME']) return;
    const left = await leftBehind(this.#store.db);
    if (left !== undefined) err.write(`gc: ${left}\n`);
  }

  /** Wakes the controller when it may have to act. */
  async announce(changes: readonly WorkChange[]): Promise<void> {
    if (changes.some(concernsController)) await pokeController(this.#store.root, this.context.env);
  }

  /** Announces what was changed and says it: `Closed bead: <id>`. */
  async changed(changes: readonly WorkChange[], done: string): Promise<void> {
    await this.announce(changes);
    const beads = changes.flatMap(({ before, after }) => after ?? before ?? []);
    if (this.context.json || !this.input.flag('quiet'))
      this.print(beads, ({ id }) => `${done} bead: ${id}\n`);
  }
}

/**
 * Opens the store of the city that is meant. Without the API client, the controller's parts and the configuration: this
 * runs in the loops of agents. @throws NoCityError
 */
export async function withDesk<T>(
  context: Context,
  input: Input,
  work: (desk: Desk) => Promise<T>,
): Promise<T> {
  return withCityStore(context, (store) => work(new Desk(context, input, store)));
}

function realOr(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // removed while somebody stands in it
  }
}
