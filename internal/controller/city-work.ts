import { hasDatabaseWork, openWork, settleWork } from '../beads/open-work.ts';
import type { CityDatabase } from '../beads/sqlite/city-database.ts';
import type { WorkBeads } from '../beads/work.ts';
import { chooseWork, DEFAULT_WORK, recordedWork, type WorkChoice } from '../beads/work-choice.ts';
import type { City } from '../config/city.ts';
import { type LoadResult, loadCity } from '../config/load-city.ts';
import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import { GcError } from '../platform/errors.ts';
import type { Environment } from '../platform/paths.ts';
import type { CityRecord } from './city-record.ts';
import { problemText } from './config-reload.ts';

export interface CityFacts {
  /** Absolute. */
  readonly cityDir: string;
  readonly env: Environment;
  readonly role: 'controller' | 'visitor';
  /** Read and checked already; otherwise it is read here. */
  readonly city?: City;
}

export interface CityWithWork {
  /** `beads.provider` is what is in force, whoever said it. */
  readonly city: City;
  /** Why the city file as it is now is not in force. */
  readonly error?: string;
  readonly choice: WorkChoice;
  /** Reads the city file again. Where work is stays as it is until the city is opened anew. */
  load(): Promise<LoadResult>;
}

/**
 * The config, and where the city's work is: a controller decides, a visitor follows what was decided.
 * @throws GcError `config-invalid`, `unknown-bead-provider`
 */
export async function cityWithWork(
  facts: CityFacts,
  record: CityRecord,
  db: CityDatabase,
): Promise<CityWithWork> {
  const { env, cityDir } = facts;
  const { city: read, error } = await goodConfig(facts, record);
  const choice = await chosen(facts, db, read);
  const loadEnv = { ...env, GC_BEADS: choice.provider };
  const load = () => loadCity(cityDir, { env: loadEnv });
  let city = read;
  if (read.beads.provider !== choice.provider) {
    // Which packs of the program a city has depends on it.
    const again = facts.city || error !== undefined ? undefined : await load();
    city = again?.kind === 'ok' ? again.city : { ...read, beads: { provider: choice.provider } };
  }
  return { city, choice, load, ...(error === undefined ? {} : { error }) };
}

/** What the city file says of its work and what does not count until the city is started again, for people. */
export function unusedBeads({ beads, provenance }: City, env: Environment): readonly string[] {
  const { provider, unused } = beads;
  const isSaid = provenance.positionOf('beads.provider') !== undefined && !env['GC_BEADS'];
  if (unused === undefined || !isSaid) return [];
  return [`beads.provider is ${unused} now, but the work is kept in ${provider}: gc restart changes that`];
}

/** Opens the work where the choice says. Only a controller puts a choice in force; what it leaves behind is logged. */
export async function workFor(
  { env, role }: CityFacts,
  db: CityDatabase,
  choice: WorkChoice,
  log: (line: string) => void,
): Promise<WorkBeads> {
  const opening = { city: db, path: env['PATH'] ?? '' };
  if (role === 'visitor') return openWork(opening, choice.provider);
  const { work, told } = await settleWork(opening, choice, CONTROLLER_ACTOR);
  if (told !== undefined) log(told);
  return work;
}

async function chosen({ env, role }: CityFacts, db: CityDatabase, city: City): Promise<WorkChoice> {
  const recorded = await recordedWork(db);
  if (role === 'visitor') {
    if (recorded) return recorded;
    if (await hasDatabaseWork(db)) return DEFAULT_WORK;
  }
  const config = city.provenance.positionOf('beads.provider') ? city.beads.provider : undefined;
  return chooseWork({ env: env['GC_BEADS'], config, recorded });
}

async function goodConfig(facts: CityFacts, record: CityRecord): Promise<{ city: City; error?: string }> {
  if (facts.city) return { city: facts.city };
  const loaded = await loadCity(facts.cityDir, { env: facts.env });
  if (loaded.kind === 'ok') return { city: loaded.city };
  const error = problemText(loaded.problems);
  if (facts.role === 'visitor' && record.city) return { city: record.city, error };
  throw new GcError('config-invalid', error, { next: 'gc config show' });
}
