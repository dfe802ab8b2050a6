import { existsSync, realpathSync, statSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { GcError } from '../../../internal/platform/errors.ts';
import type { Environment } from '../../../internal/platform/paths.ts';

/** In the order in which one folder is searched. */
export const CITY_FILES = ['city.yaml', 'city.yml', 'city.toml'] as const;

export interface CityPlace {
  /** Absolute, symlinks resolved. */
  readonly root: string;
  /** Said on stderr when the person could be surprised by which city was taken. */
  readonly note?: string;
}

export interface CitySearch {
  readonly env: Environment;
  readonly cwd: string;
  readonly home: string | undefined;
  /** `--city`. */
  readonly option: string | undefined;
  /** A path argument of the command; it goes before everything else. */
  readonly path?: string | undefined;
  /** The cities of the supervisor's list; asked only as the last resort. */
  readonly registered: () => Promise<readonly { readonly path: string; readonly name: string }[]>;
}

export class NoCityError extends GcError {
  constructor(message: string, next = 'gc init <path>, or gc --city <path> ...') {
    super('no-city', message, { next });
  }
}

/**
 * The city that a command works on: its path argument, `--city`, `GC_CITY` (also `GC_CITY_PATH`, `GC_CITY_ROOT`),
 * upward from `GC_DIR` and from the working directory, else the only registered one. Source: Gas City's order, except
 * that a wrong `GC_CITY` is said and that the only registered city is taken. @throws NoCityError
 */
export async function findCity(search: CitySearch): Promise<CityPlace> {
  if (search.path !== undefined) return fromPath(resolve(search.cwd, search.path), search);
  if (search.option !== undefined) return fromPath(resolve(search.cwd, search.option), search);
  const notes: string[] = [];
  for (const key of ['GC_CITY', 'GC_CITY_PATH', 'GC_CITY_ROOT']) {
    const value = search.env[key];
    if (!value) continue;
    const path = resolve(search.cwd, value);
    if (isCity(path) || isLegacyCity(path)) return { root: realpathSync(path) };
    notes.push(`${key}=${value} is not a city; ignored`);
  }
  const starts = [search.env['GC_DIR'], search.cwd].filter((dir) => dir !== undefined && dir !== '');
  for (const start of starts) {
    const root = upward(resolve(search.cwd, start ?? ''), search);
    if (root !== undefined) return place(root, notes);
  }
  const registered = await search.registered();
  const only = registered.length === 1 ? registered[0] : undefined;
  if (only)
    return place(only.path, [...notes, `using ${only.name} (${only.path}), the only registered city`]);
  throw notHere(registered, notes);
}

/** @throws NoCityError when the path and the folders above it hold no city */
function fromPath(path: string, search: CitySearch): CityPlace {
  const root = isCity(path) || isLegacyCity(path) ? path : upward(path, search);
  if (root !== undefined) return place(root, []);
  const what = existsSync(path)
    ? `${path} is not a city (no city.yaml or city.toml in it)`
    : `no folder ${path}`;
  throw new NoCityError(`not in a city directory: ${what}`, `gc init ${path}`);
}

/** Walks up to a folder with a city file; one with only `.gc` counts when no better one is found. */
function upward(start: string, search: CitySearch): string | undefined {
  const ceilings = ceilingsOf(search);
  let legacy: string | undefined;
  for (let dir = realOr(start); ; dir = dirname(dir)) {
    if (ceilings.has(dir)) return legacy;
    if (isCity(dir)) return dir;
    if (legacy === undefined && isLegacyCity(dir)) legacy = dir;
    if (dirname(dir) === dir) return legacy;
  }
}

/** Folders that are never a city themselves and end the walk. */
function ceilingsOf({ env, home }: CitySearch): ReadonlySet<string> {
  const listed = (env['GC_CEILING_DIRECTORIES'] ?? '').split(delimiter).filter((dir) => dir !== '');
  const all = listed.length > 0 ? listed : home ? [home] : [];
  return new Set(all.map((dir) => realOr(resolve(dir))));
}

export function isCity(dir: string): boolean {
  return CITY_FILES.some((name) => isFile(join(dir, name)));
}

/** A folder whose city file was removed, but that holds the state of a city. */
function isLegacyCity(dir: string): boolean {
  return existsSync(join(dir, '.gc', 'city.db')) || existsSync(join(dir, '.gc', 'controller.lock'));
}

function place(root: string, notes: readonly string[]): CityPlace {
  const real = realOr(root);
  return notes.length > 0 ? { root: real, note: notes.join('; ') } : { root: real };
}

function notHere(
  registered: readonly { readonly path: string; readonly name: string }[],
  notes: readonly string[],
): NoCityError {
  const known = registered.map((city) => city.name).join(', ');
  const why = [...notes, ...(known ? [`several cities are registered (${known})`] : [])];
  const message = 'not in a city directory (no city.yaml, city.toml or .gc/ found)';
  return new NoCityError(
    why.length > 0 ? `${message}; ${why.join('; ')}` : message,
    registered.length > 1 ? 'gc --city <path> ..., paths: gc cities' : undefined,
  );
}

function realOr(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // it does not exist (any more): its spelling is all there is
  }
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;
