import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { City } from '../../../internal/config/city.ts';
import { isExecutable } from '../../../internal/platform/executable.ts';
import type { Environment } from '../../../internal/platform/paths.ts';

export interface PackScript {
  readonly packName: string;
  readonly packDir: string;
}

/** Where a pack keeps what it remembers of a city. */
export function packStateDir(cityRoot: string, packName: string): string {
  // A name that is no plain file name must not lead out of the folder.
  const name = packName.replace(/[^\w.-]/g, '-').replace(/^\.+/, '');
  return join(cityRoot, '.gc', 'runtime', 'packs', name || '-');
}

/**
 * The environment of a pack's script: the caller's, with the city and the pack in it. `program`: what it can call as
 * `gc`. Source: Gas City pack runtime environment; `GC_BIN` and the tools of the city at the end of the PATH are ours, so
 * that a script finds `gc` also where it is not installed for everybody.
 */
export function packEnvironment(
  city: Pick<City, 'root' | 'workspace'>,
  { packName, packDir }: PackScript,
  env: Environment,
  program: string,
): Record<string, string | undefined> {
  const runtime = join(city.root, '.gc', 'runtime');
  const tools = join(runtime, 'bin');
  const path = [env['PATH'] ?? '', existsSync(join(tools, 'gc')) ? tools : ''].filter((part) => part !== '');
  return {
    ...env,
    PATH: path.join(delimiter),
    ...(env['GC_BIN'] || !isExecutable(program) ? {} : { GC_BIN: program }),
    GC_CITY: city.root,
    GC_CITY_PATH: city.root,
    GC_CITY_RUNTIME_DIR: runtime,
    GC_CITY_NAME: city.workspace.name,
    GC_PACK_DIR: packDir,
    GC_PACK_NAME: packName,
    GC_PACK_STATE_DIR: packStateDir(city.root, packName),
  };
}
