import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { City } from '../../../internal/config/city.ts';
import { quoteWord } from '../../../internal/config/preset/shell-words.ts';
import { runCommand } from '../../../internal/controller/run-command.ts';
import { cityRuntimeDir } from '../../../internal/controller/turn-flags.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import type { Environment } from '../../../internal/platform/paths.ts';
import type { Context } from '../context.ts';
import type { Owner, SlingTarget } from './target.ts';

/** Source: Gas City. */
const SLING_TIMEOUT_MS = 30_000;

/** The query with the bead in it, quoted for the shell. */
export function queryFor(query: string, id: string): string {
  return query.replaceAll('{}', () => quoteWord(id));
}

/** Runs the config's own query where the bead's rig is. @throws GcError `sling-query-failed` */
export async function runSlingQuery(
  context: Context,
  city: City,
  request: { readonly target: SlingTarget; readonly id: string; readonly owner: Owner },
): Promise<void> {
  const { target, id, owner } = request;
  const command = queryFor(target.query, id);
  const cwd = owner.rig?.path ?? city.root;
  if (!existsSync(cwd))
    throw new GcError('sling-query-failed', `the sling query cannot run: there is no folder ${cwd}`);
  const ran = await runCommand({
    command,
    cwd,
    env: queryEnvironment(context.env, city, target, owner),
    timeoutMs: SLING_TIMEOUT_MS,
    signal: context.signal,
  });
  if (ran.kind === 'ok') return;
  throw new GcError(
    'sling-query-failed',
    `the sling query of ${target.agent.qualifiedName} failed for ${id}: ${ran.how}`,
    { next: `try it by hand in ${cwd}: ${command}` },
  );
}

function queryEnvironment(
  env: Environment,
  city: City,
  target: SlingTarget,
  { rig }: Owner,
): Record<string, string> {
  const own: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) if (value !== undefined) own[name] = value;
  const tools = join(cityRuntimeDir(city.root), 'bin');
  return {
    ...own,
    GC_CITY: city.root,
    GC_CITY_PATH: city.root,
    GC_RIG: rig?.name ?? '',
    GC_RIG_ROOT: rig?.path ?? '',
    BEADS_DIR: rig ? join(rig.path, '.beads') : '',
    GC_SLING_TARGET: target.sessionName,
    PATH: [
      ...(own['PATH'] ?? '').split(delimiter).filter((part) => part !== tools && part !== ''),
      tools,
    ].join(delimiter),
  };
}
