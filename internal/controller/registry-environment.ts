import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileAtomic } from '../platform/atomic-file.ts';
import { type Environment, gcHome } from '../platform/paths.ts';

/** What belongs to the session or terminal that a command was typed in, not to the cities of this user. */
const SESSION_VARIABLES: ReadonlySet<string> = new Set([
  'GC_AGENT',
  'GC_ALIAS',
  'GC_CITY',
  'GC_CITY_PATH',
  'GC_CITY_ROOT',
  'GC_CITY_RUNTIME_DIR',
  'GC_CONTINUATION_EPOCH',
  'GC_DIR',
  'GC_INSTANCE_TOKEN',
  'GC_PROVIDER',
  'GC_RIG',
  'GC_RUNTIME_EPOCH',
  'GC_SESSION_ID',
  'GC_SESSION_NAME',
  'GC_TEMPLATE',
  'STY',
  'TMUX',
  'TMUX_PANE',
]);

const OWNER_ONLY = 0o600;

/** A command's environment without what belongs to its own session, and with a home that does not depend on a folder. */
export function lastingEnvironment(env: Environment): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [key, value] of Object.entries(env)) {
    if (value !== undefined && !SESSION_VARIABLES.has(key)) kept[key] = value;
  }
  if (env['GC_HOME']) kept['GC_HOME'] = gcHome(env);
  return kept;
}

/**
 * Leaves the environment of `gc start` for whoever runs the city next: the supervisor has the one of the shell that
 * happened to start it first. The city's `.gc` must exist.
 */
export async function saveStartEnvironment(root: string, env: Environment): Promise<void> {
  await writeFileAtomic(fileOf(root), `${JSON.stringify(lastingEnvironment(env))}\n`, OWNER_ONLY);
}

/** What the last `gc start` left; `undefined` when none did. */
export function readStartEnvironment(root: string): Environment | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(fileOf(root), 'utf8'));
    if (typeof value !== 'object' || value === null) return undefined;
    return Object.fromEntries(
      Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
    );
  } catch {
    return undefined; // none was left, or a person damaged it: the supervisor's own serves as well
  }
}

function fileOf(root: string): string {
  return join(root, '.gc', 'start-environment.json');
}
