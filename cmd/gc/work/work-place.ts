import type { WorkBeads } from '../../../internal/beads/work.ts';
import { commandActor } from '../../../internal/events/event-types.ts';
import { readPrefixes } from '../bd/read-prefixes.ts';
import { chooseScope, type Scope } from '../bd/scope.ts';
import { withCityStore } from '../city/city-store.ts';
import type { Input } from '../cli/input.ts';
import type { Context } from '../context.ts';

/** A city's work for a command that changes several beads at once. */
export interface WorkPlace {
  readonly root: string;
  readonly work: WorkBeads;
  readonly actor: string;
  /** Whose work is meant where nothing says so. */
  scope(): Promise<Scope>;
}

/** @throws NoCityError */
export async function withWork<T>(
  context: Context,
  input: Input,
  run: (place: WorkPlace) => Promise<T>,
): Promise<T> {
  return withCityStore(context, ({ root, db, work }) =>
    run({
      root,
      work,
      actor: context.env['BEADS_ACTOR'] || commandActor(context.env),
      async scope() {
        const prefixes = await readPrefixes(context, root, db);
        return chooseScope(
          { ...prefixes, city: work.cityPrefix ?? prefixes.city },
          {
            rigOption: input.text('rig'),
            allRigs: false,
            envRig: context.env['GC_RIG'],
            cwd: context.cwd,
          },
        );
      },
    }),
  );
}
