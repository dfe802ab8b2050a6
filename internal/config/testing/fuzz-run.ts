import { existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve, sep } from 'node:path';
import { problemReport } from '../document/format-problems.ts';
// Loaded now: later it would look like a read of something outside.
import '../document/yaml-document.ts';
import { loadCity } from '../load-city.ts';
import { type CityFiles, mutated, randomFrom, SEED_CITIES } from './mutate-city.ts';
import { readsDuring } from './watched-reads.ts';

/** A load that takes longer hangs. Generous: the machine may be busy. */
const HANG_MS = 30_000;

export interface FuzzOutcome {
  readonly loaded: number;
  readonly refused: number;
  /** One sentence per run that did what it must not. */
  readonly failures: readonly string[];
}

/** Files that the owner of a city writes: what they name outside of it is the owner's wish. */
const OWN_FILES = ['city.toml', 'city.yaml', 'more.toml'] as const;

/**
 * Loads `runs` damaged cities. Each must load, or be refused with an error that has a place, soon, and without a look at
 * anything outside of the city, its packs and the cache. `dir` is empty and private; `seed` repeats a run.
 */
export async function fuzzRun(dir: string, seed: number, runs: number): Promise<FuzzOutcome> {
  const failures: string[] = [];
  let loaded = 0;
  let refused = 0;
  for (let run = 0; run < runs; run += 1) {
    const random = randomFrom(seed + run);
    const base = SEED_CITIES[run % SEED_CITIES.length] ?? {};
    const files = { ...base, ...mutated(base, random) };
    const root = join(dir, 'city');
    rmSync(root, { recursive: true, force: true });
    writeFiles(root, files);
    const outcome = await loadOnce(root, join(dir, 'home'), files);
    if (outcome === 'loaded') loaded += 1;
    else if (outcome === 'refused') refused += 1;
    else failures.push(`seed ${seed + run}: ${outcome}`);
  }
  return { loaded, refused, failures };
}

export function writeFiles(root: string, files: CityFiles): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
}

/** `loaded`, `refused`, or what was wrong with the load. */
export async function loadOnce(root: string, home: string, files: CityFiles): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  try {
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no answer within ${HANG_MS} ms`)), HANG_MS);
    });
    const load = readsDuring(() => loadCity(root, { env: { HOME: home, GC_HOME: join(home, '.gc') } }));
    const { result, read } = await Promise.race([load, late]);
    const outside = [...read].find((path) => !isAllowed(path, root, home, files));
    if (outside !== undefined) return `read ${outside}`;
    if (result.kind === 'ok') return 'loaded';
    const errors = result.problems.filter(({ severity }) => severity === 'error');
    if (errors.length === 0) return 'refused without an error';
    const placeless = errors.find(
      ({ position, message }) => !position || position.line < 1 || message === '',
    );
    if (placeless) return `an error without a place: ${placeless.message}`;
    problemReport(result.problems, { baseDir: root, texts: result.texts });
    return 'refused';
  } catch (error) {
    return `threw ${error instanceof Error ? error.stack : String(error)}`;
  } finally {
    clearTimeout(timer);
  }
}

function isAllowed(path: string, root: string, home: string, files: CityFiles): boolean {
  const within = (folder: string) => {
    const real = existsSync(folder) ? realpathSync(folder) : folder;
    return [folder, real].some((each) => path === each || path.startsWith(each + sep));
  };
  if (within(root) || within(join(home, '.gc'))) return true;
  return OWN_FILES.some((name) =>
    (files[name] ?? '')
      .split(/["'\s,[\]{}=]+/)
      .filter((word) => word !== '' && word !== '/')
      .some((word) => within(resolve(root, word.replace(/^~/, home).replace(/^\/\//, './')))),
  );
}
