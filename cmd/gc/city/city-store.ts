import { join } from 'node:path';
import { type CityDatabase, openCityDatabase } from '../../../internal/beads/sqlite/city-database.ts';
import { gcHome } from '../../../internal/platform/paths.ts';
import type { Context } from '../context.ts';
import { findCity } from './find-city.ts';

export interface CityStore {
  /** The city's folder. */
  readonly root: string;
  readonly db: CityDatabase;
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
    return await work({ root, db });
  } finally {
    db.close();
  }
}
