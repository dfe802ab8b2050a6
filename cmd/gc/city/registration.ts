import { join } from 'node:path';
import type { RegisteredCity } from '../../../internal/controller/registry.ts';
import { saveStartEnvironment } from '../../../internal/controller/registry-environment.ts';
import { registerCity, unregisterCity } from '../../../internal/controller/registry-file.ts';
import { type StartOptions, superviseRegistered } from '../../../internal/controller/supervisor-start.ts';
import { ensurePrivateDir } from '../../../internal/platform/atomic-file.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { gcHome } from '../../../internal/platform/paths.ts';
import { buildInfo } from '../build-info.ts';
import type { Context } from '../context.ts';
import { reachableKeeper } from './keeper.ts';
import { loadWithPacks } from './provide-packs.ts';

export interface Registration {
  readonly city: RegisteredCity;
  readonly isNew: boolean;
}

/**
 * Puts the city on the supervisor's list. Nothing is started yet.
 * @throws GcError `controller-running` for a standalone controller; ProblemsError for a wrong city file
 */
export async function putOnList(context: Context, root: string, name?: string): Promise<Registration> {
  const loaded = await loadWithPacks(context, root);
  const gcDir = join(root, '.gc');
  const holder = await reachableKeeper(context, root);
  if (holder?.mode === 'standalone') {
    throw new GcError(
      'controller-running',
      `standalone controller already running for ${root} (PID ${holder.pid}); stop it before registering with the supervisor`,
      { next: `gc stop ${root}` },
    );
  }
  const city = { path: root, name: name ?? loaded.workspace.name };
  ensurePrivateDir(gcDir);
  await saveStartEnvironment(root, context.env);
  const outcome = await registerCity(placeOf(context), city);
  return { city, isNew: outcome !== 'unchanged' };
}

/** Takes the city from the list; the folder need not exist. Answers what stood there. */
export function takeFromList(context: Context, path: string): Promise<RegisteredCity | undefined> {
  return unregisterCity(placeOf(context), path);
}

/**
 * Resolves when a supervisor runs and has acted on the list. The list stays as it is when something fails here: the
 * supervisor tries again by itself.
 */
export async function supervise(context: Context): Promise<void> {
  await superviseRegistered(supervisorOptions(context));
}

/** How the supervisor is started from here: in the background, and for as long as it has a city. */
export function supervisorOptions(context: Context): StartOptions {
  return {
    env: context.env,
    self: context.self,
    version: buildInfo.version,
    clock: context.clock,
    ids: systemIds,
    exitWhenEmpty: true,
    signal: context.signal,
  };
}

function placeOf(context: Context) {
  return { home: gcHome(context.env), clock: context.clock, ids: systemIds };
}
