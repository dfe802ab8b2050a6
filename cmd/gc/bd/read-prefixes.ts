import { realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { CityDatabase } from '../../../internal/beads/sqlite/city-database.ts';
import type { City } from '../../../internal/config/city.ts';
import type { Environment } from '../../../internal/platform/paths.ts';
import { CITY_FILES } from '../city/find-city.ts';
import type { Context } from '../context.ts';
import type { Prefixes } from './scope.ts';

/** The city's own state under which the prefixes are remembered. */
const STATE_KEY = 'work.prefixes';
const FORMAT = 1;
const OTHER_FILES = ['pack.toml', 'pack.yaml', 'pack.yml'];

/** What was read from the city file, and the state of the files it was read from. */
interface Remembered {
  readonly format: number;
  readonly home: string;
  readonly files: readonly (readonly [path: string, stamp: string])[];
  readonly prefixes: Prefixes;
}

/**
 * The prefixes of a city. Reading a whole configuration costs more than everything else that a look at the work does,
 * so the answer is kept in the database until one of its files changes. While the city file is wrong the last good
 * answer counts, as it does for what runs. @throws ProblemsError `config-invalid` when there is none
 */
export async function readPrefixes(context: Context, root: string, city: CityDatabase): Promise<Prefixes> {
  const remembered = decode(await city.state(STATE_KEY));
  if (remembered && isCurrent(remembered, context.env)) return remembered.prefixes;
  const startedAt = context.clock.now();
  const { loadCity } = await import('../../../internal/config/load-city.ts');
  const loaded = await loadCity(root, { env: context.env });
  if (loaded.kind === 'invalid') {
    if (remembered) return remembered.prefixes;
    const { problemsError } = await import('../city/load-city.ts');
    throw problemsError(context, root, loaded);
  }
  const prefixes = prefixesOf(loaded.city);
  const paths = watched(root, loaded.watch);
  // Changed while it was read: nobody knows which half was seen.
  if (paths.some((path) => changedAt(path) >= startedAt)) return prefixes;
  const value: Remembered = {
    format: FORMAT,
    home: context.env['HOME'] ?? '',
    files: paths.map((path) => [path, stampOf(path)] as const),
    prefixes,
  };
  await city.commit({ state: { [STATE_KEY]: JSON.stringify(value) } });
  return prefixes;
}

export function prefixesOf(city: Pick<City, 'workspace' | 'rigs'>): Prefixes {
  return {
    city: city.workspace.prefix,
    rigs: city.rigs.map(({ name, path, prefix }) => ({ name, path: realOr(path), prefix })),
  };
}

/** Files that are not there yet but would count, too. */
const watched = (root: string, files: readonly string[]): readonly string[] => [
  ...new Set([...[...CITY_FILES, ...OTHER_FILES].map((name) => join(root, name)), ...files]),
];

function isCurrent({ home, files }: Remembered, env: Environment): boolean {
  return home === (env['HOME'] ?? '') && files.every(([path, stamp]) => stampOf(path) === stamp);
}

function stampOf(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false });
  return found ? `${found.ino}.${found.size}.${found.mtimeMs}` : '-';
}

const changedAt = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;

/** `undefined` for what another version wrote. */
function decode(text: string): Remembered | undefined {
  if (text === '') return undefined;
  const value = JSON.parse(text) as Remembered;
  return value.format === FORMAT ? value : undefined;
}

function realOr(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // no such folder (yet): nobody can be in it
  }
}
