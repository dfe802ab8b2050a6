import type { GcError } from '../platform/errors.ts';
import type { Environment } from '../platform/paths.ts';
import { WorktreeError } from './errors.ts';
import { type CommandResult, runCommand } from './run-command.ts';
import { parseWorktreeList, type WorktreeEntry } from './worktree-list.ts';

/** A checkout of a large repository takes its time. */
const GIT_TIMEOUT_MS = 10 * 60_000;
const MAX_OUTPUT_BYTES = 32 * 1_024 * 1_024;

/** git, in the environment of the city. Hooks of the repositories never run. */
export interface Git {
  /** What it printed. @throws WorktreeError `git-failed` with what git said */
  run(dir: string, args: readonly string[]): Promise<string>;
  /** The same for questions whose answer may be no. */
  ask(dir: string, args: readonly string[]): Promise<CommandResult>;
}

export function gitIn(env: Environment, signal?: AbortSignal): Git {
  const ask = (dir: string, args: readonly string[]) =>
    runCommand({
      file: 'git',
      args: ['-c', 'core.hooksPath=/dev/null', '-C', dir, ...args],
      cwd: '/',
      env: gitEnvironment(env),
      timeoutMs: GIT_TIMEOUT_MS,
      maxOutput: MAX_OUTPUT_BYTES,
      signal,
    });
  return {
    ask,
    async run(dir, args) {
      const result = await ask(dir, args);
      if (!result.ok) throw gitError(dir, args, result);
      return result.stdout;
    },
  };
}

/** git may meet one that is just being made, whose files are not all there yet. */
const LIST_ATTEMPTS = 3;

/** The worktrees of a repository, the main one first. */
export async function listWorktrees(git: Git, repository: string): Promise<readonly WorktreeEntry[]> {
  const args = ['worktree', 'list', '--porcelain', '-z'];
  for (let attempt = 1; ; attempt += 1) {
    const result = await git.ask(repository, args);
    if (result.ok) return parseWorktreeList(result.stdout);
    if (attempt === LIST_ATTEMPTS) throw gitError(repository, args, result);
  }
}

/** The commit that a name stands for, `undefined` when it stands for none. */
export async function commitOf(git: Git, dir: string, name: string): Promise<string | undefined> {
  const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`];
  const { ok, stdout } = await git.ask(dir, args);
  return ok ? stdout.trim() : undefined;
}

function gitError(dir: string, args: readonly string[], result: CommandResult): GcError {
  const words = args.filter((arg) => !arg.startsWith('-')).slice(0, 2);
  const said = result.tail.split('\n').at(-1) ?? '';
  const what = `git ${words.join(' ')} failed in ${dir} (${result.how})`;
  return new WorktreeError('git-failed', said === '' ? what : `${what}: ${said}`, { lastLines: result.tail });
}

/** Settings of git that say where its configuration is, not which repository it works on. */
const KEPT = new Set(['GIT_CONFIG_GLOBAL', 'GIT_CONFIG_SYSTEM', 'GIT_CONFIG_NOSYSTEM']);

/** Somebody who calls from inside a hook or another worktree must not turn git to their repository. */
function gitEnvironment(env: Environment): Record<string, string> {
  return {
    ...definedOnly(env, (name) => !name.startsWith('GIT_') || KEPT.has(name)),
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    LC_ALL: 'C',
  };
}

/** Variables that turn git to one repository. Source: `git rev-parse --local-env-vars`. */
const OF_ONE_REPOSITORY = new Set([
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_COMMON_DIR',
  'GIT_CONFIG',
  'GIT_CONFIG_COUNT',
  'GIT_CONFIG_PARAMETERS',
  'GIT_DIR',
  'GIT_GRAFT_FILE',
  'GIT_IMPLICIT_WORK_TREE',
  'GIT_INDEX_FILE',
  'GIT_NO_REPLACE_OBJECTS',
  'GIT_OBJECT_DIRECTORY',
  'GIT_PREFIX',
  'GIT_REPLACE_REF_BASE',
  'GIT_SHALLOW_FILE',
  'GIT_WORK_TREE',
]);

/** The environment of set-up and archive commands: the person's settings of git, but no repository. */
export function commandEnvironment(env: Environment): Record<string, string> {
  return definedOnly(env, (name) => !OF_ONE_REPOSITORY.has(name));
}

function definedOnly(env: Environment, keep: (name: string) => boolean): Record<string, string> {
  // An empty value means: unset.
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value && keep(name) ? [[name, value]] : [])),
  );
}
