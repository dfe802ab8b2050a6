import { realpathSync } from 'node:fs';
import { sep } from 'node:path';
import type { City } from '../config/city.ts';
import { type Place, placeNow } from './acting.ts';

type Rigs = Pick<City, 'rigs'>;

/** The rig that short names are taken from in the request at hand; `''`: none. */
export function rigHere(city: Rigs): string {
  const place = placeNow();
  return place ? rigOfPlace(city, place, realOr) : '';
}

/** The rig in whose folder a command runs, the innermost one; else the one whose session it runs in. */
export function rigOfPlace({ rigs }: Rigs, place: Place, realPath: (path: string) => string): string {
  const dir = realPath(place.dir);
  const [nearest] = rigs
    .map(({ name, path }) => ({ name, path: realPath(path) }))
    .filter(({ path }) => dir === path || dir.startsWith(path.endsWith(sep) ? path : path + sep))
    .sort((a, b) => b.path.length - a.path.length);
  if (nearest) return nearest.name;
  return rigs.some(({ name }) => name === place.rig) ? place.rig : '';
}

function realOr(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // it does not exist (any more): its spelling is all there is
  }
}
