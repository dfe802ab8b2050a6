import { join } from 'node:path';
import { openWork } from '../../../internal/beads/open-work.ts';
import { type CityDatabase, openCityDatabase } from '../../../internal/beads/sqlite/city-database.ts';
import type { WorkBeads } from '../../../internal/beads/work.ts';
import { recordedWork } from '../../../internal/beads/work-choice.ts';
import { gcHome } from '../../../internal/platform/paths.ts';
import type { Context } from '../context.ts';
import { findCity } from './find-city.ts';

export interface CityStore {
  /** The city's folder. */
  readonly root: string;
  readonly db: CityDatabase;
  /** Where the city's tasks and its mail are. */
  readonly work: WorkBeads;
}

/**
 * Opens the store of the city that is meant, without its configuration and its controller: agents ask at every turn.
 * @throws NoCityError
 */
export async function withCityStore<T>(context: Context, work: (store: CityStore) => Promise<T>): Promise<T> {
  const { root, note } = await findCity({
    env: context.env,
    cwd: context.cwd,
    home: context.env['HOME'],
    option: context.cityOption,
    registered: async () => {
      const { readRegisteredCities } = await import('../../../internal/controller/registry.ts');
      return readRegisteredCities(gcHome(context.env));
    },
  });
  if (note) context.err.write(`gc: ${note}\n`);
  const db = openCityDatabase(join(root, '.gc', 'city.db'), context.clock);
  try {
    return await work({ root, db, work: await workOf(context, root, db) });
  } finally {
    db.close();
  }
}

/** As it was chosen when the city was made or started; before that, the first command chooses. */
async function workOf(context: Context, root: string, db: CityDatabase): Promise<WorkBeads> {
  const opening = { city: db, path: context.env['PATH'] ?? '' };
  const recorded = await recordedWork(db);
  if (!recorded) {
    const { firstWork } = await import('./first-work.ts');
    return firstWork(context, root, opening);
  }
  const asked = context.env['GC_BEADS'] ?? '';
  if (asked !== '' && asked !== recorded.provider && !context.env['GC_SESSION_NAME']) {
    context.err.write(
      `gc: the work of this city is kept in ${recorded.provider}; GC_BEADS=${asked} counts at gc start\n`,
    );
  }
  return openWork(opening, recorded.provider);
}
