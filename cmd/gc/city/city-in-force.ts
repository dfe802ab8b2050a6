import { join } from 'node:path';
import type { City } from '../../../internal/config/city.ts';
import { loadCity } from '../../../internal/config/load-city.ts';
import type { Context } from '../context.ts';
import { cityRoot } from './access.ts';

/**
 * The config that the agents of a city run with: its file, or the last good one while the file is wrong. `undefined`:
 * there is none. Says nothing on stderr: agents' hooks ask here.
 */
export async function cityInForce(context: Context): Promise<City | undefined> {
  const quiet: Context = { ...context, err: { ...context.err, write: () => undefined } };
  const root = await cityRoot(quiet).catch(() => undefined); // nobody's city is an answer too
  if (root === undefined) return undefined;
  const loaded = await loadCity(root, { env: context.env });
  return loaded.kind === 'ok' ? loaded.city : lastGood(context, root);
}

async function lastGood(context: Context, root: string): Promise<City | undefined> {
  const [{ existsSync }, { openCityDatabase }, { readCityRecord }, { systemIds }] = await Promise.all([
    import('node:fs'),
    import('../../../internal/beads/sqlite/city-database.ts'),
    import('../../../internal/controller/city-record.ts'),
    import('../../../internal/platform/ids.ts'),
  ]);
  const file = join(root, '.gc', 'city.db');
  if (!existsSync(file)) return undefined;
  const db = openCityDatabase(file, context.clock, systemIds);
  try {
    return (await readCityRecord(db)).city;
  } finally {
    db.close();
  }
}
