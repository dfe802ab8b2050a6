import { join } from 'node:path';
import { HttpCityApi } from '../../../internal/api/http/city-client.ts';
import type { City, Rig } from '../../../internal/config/city.ts';
import { didYouMean } from '../../../internal/config/document/nearest.ts';
import { editFile } from '../../../internal/config/edit/file-edit.ts';
import { loadCity } from '../../../internal/config/load-city.ts';
import { apiSocketPath } from '../../../internal/controller/control-socket-client.ts';
import { resolveCityPath } from '../../../internal/controller/registry.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { gcHome } from '../../../internal/platform/paths.ts';
import { cityRoot, isUnreachable } from '../city/access.ts';
import { NoCityError } from '../city/find-city.ts';
import { problemsError } from '../city/load-city.ts';
import type { Context } from '../context.ts';
import { defaultCityOf, knownRigs } from './rig-registry.ts';

/** The city of this command; in the folder of a rig that no city is around, the rig's default city. @throws NoCityError */
export async function rigCityRoot(context: Context): Promise<string> {
  const byRig = defaultCityOf(knownRigs(gcHome(context.env)), resolveCityPath(context.cwd));
  try {
    return await cityRoot(context);
  } catch (error) {
    if (!(error instanceof NoCityError) || byRig === undefined || context.cityOption !== undefined)
      throw error;
    return cityRoot(context, byRig);
  }
}

/** @throws GcError `rig-not-found` with the nearest name */
export function requireRig(city: Pick<City, 'rigs'>, name: string): Rig {
  const rig = city.rigs.find((candidate) => candidate.name === name);
  if (rig) return rig;
  const names = city.rigs.map((candidate) => candidate.name);
  const close = didYouMean(name, names);
  const known = close || (names.length > 0 ? `; available rigs: ${names.slice(0, 5).join(', ')}` : '');
  throw new GcError('rig-not-found', `rig "${name}" not found in the city file${known}`, {
    next: 'gc rig list',
  });
}

/**
 * Edits a file of the city and loads the whole city from what was written; the old bytes come back when it is wrong or
 * `accept` throws.
 * @throws ProblemsError `config-invalid`
 */
export async function editCityFile(
  context: Context,
  root: string,
  file: string,
  change: (text: string) => Promise<string>,
  accept: (city: City) => void = () => undefined,
): Promise<City> {
  const place = { gcDir: join(root, '.gc'), clock: context.clock };
  return editFile(place, file, change, async () => {
    const loaded = await loadCity(root, { env: context.env });
    if (loaded.kind === 'invalid') throw problemsError(context, root, loaded);
    accept(loaded.city);
    return loaded.city;
  });
}

/** Has a running controller read the city again at once; without one the next start does. */
export async function tellController(context: Context, root: string): Promise<void> {
  try {
    const reply = await new HttpCityApi(apiSocketPath(root, context.env), context.clock).reload();
    if (reply.kind === 'rejected') context.err.write(`gc: the controller did not take it: ${reply.error}\n`);
  } catch (error) {
    if (!isUnreachable(error)) throw error;
  }
}
