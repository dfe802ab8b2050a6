import { existsSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { City } from '../../../internal/config/city.ts';
import { provideSystemPacks } from '../../../internal/controller/system-packs.ts';
import type { Context } from '../context.ts';
import { loadChecked } from './load-city.ts';
import { agentProgram } from './own-programs.ts';

/** What the program brings for every city, before the config of this one is read. A failure is said on stderr. */
export function providePacks(context: Context, root: string): Promise<void> {
  return provideSystemPacks({
    cityRoot: root,
    program: agentProgram(context.self),
    env: context.env,
    log: (line) => context.err.write(`gc: ${line}\n`),
  });
}

/**
 * `loadChecked` of a city that has the program's packs, as it has them once it runs. A folder that had no state of a city
 * has none afterwards when the config is wrong, or when it is only looked at.
 */
export async function loadWithPacks(
  context: Context,
  root: string,
  { onlyLooks = false }: { readonly onlyLooks?: boolean } = {},
): Promise<City> {
  const state = join(root, '.gc');
  const undo = existsSync(state) ? () => undefined : () => removePacks(state);
  await providePacks(context, root);
  try {
    const city = await loadChecked(context, root);
    if (onlyLooks) undo();
    return city;
  } catch (error) {
    undo();
    throw error;
  }
}

function removePacks(state: string): void {
  rmSync(join(state, 'system'), { recursive: true, force: true });
  try {
    rmdirSync(state);
  } catch {
    // not there, or somebody put something into it meanwhile: theirs to keep
  }
}
