import { isBeadProvider } from '../config/bead-provider.ts';
import { GcError } from '../platform/errors.ts';
import { WORK_PROVIDER_KEY } from './sqlite/bead-table.ts';
import type { CityDatabase } from './sqlite/city-database.ts';

/** Where a city's work is, and who said so. */
export interface WorkChoice {
  /** `sqlite`, `file`, `bd` or `exec:<script>`. */
  readonly provider: string;
  readonly by: 'env' | 'config' | 'default';
}

export const DEFAULT_WORK: WorkChoice = { provider: 'sqlite', by: 'default' };

const CHOSEN_BY_KEY = 'bead_store_by';

export interface WorkWishes {
  /** `GC_BEADS`. */
  readonly env: string | undefined;
  /** What the city file says; `undefined`: nothing. */
  readonly config: string | undefined;
  readonly recorded: WorkChoice | undefined;
}

/**
 * The environment, else the city file, else what the environment said before, else the city's database. What only the
 * environment said stays until somebody says otherwise: commands without it must find the same work.
 * @throws GcError `unknown-bead-provider`
 */
export function chooseWork({ env, config, recorded }: WorkWishes): WorkChoice {
  if (env) {
    if (isBeadProvider(env)) return { provider: env, by: 'env' };
    throw new GcError('unknown-bead-provider', `GC_BEADS is no place for work: "${env}"`, {
      next: 'use sqlite, file, bd or exec:<script>, or unset it',
    });
  }
  if (config) return { provider: config, by: 'config' };
  return recorded?.by === 'env' ? recorded : DEFAULT_WORK;
}

/** What is recorded with the city; `undefined`: nothing was chosen yet. */
export async function recordedWork(city: CityDatabase): Promise<WorkChoice | undefined> {
  const provider = await city.state(WORK_PROVIDER_KEY);
  if (provider === '') return undefined;
  const by = await city.state(CHOSEN_BY_KEY);
  return { provider, by: by === 'env' || by === 'config' ? by : 'default' };
}

export const choiceState = ({ provider, by }: WorkChoice): Readonly<Record<string, string>> => ({
  [WORK_PROVIDER_KEY]: provider,
  [CHOSEN_BY_KEY]: by,
});
