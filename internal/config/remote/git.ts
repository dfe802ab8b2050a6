import { GcError } from '../../platform/errors.ts';
import type { Environment } from '../../platform/paths.ts';
import { type ProgramResult, runProgram } from '../../platform/run-program.ts';

/** What running git takes. */
export interface GitContext {
  readonly env: Environment;
  readonly signal: AbortSignal;
}

/** Variables that would point git at another repository: a caller may itself run in a hook of one. */
const REPOSITORY_VARIABLES = [
  'GIT_DIR',
  'GIT_WORK_TREE',
  'GIT_INDEX_FILE',
  'GIT_OBJECT_DIRECTORY',
  'GIT_ALTERNATE_OBJECT_DIRECTORIES',
  'GIT_COMMON_DIR',
  'GIT_NAMESPACE',
  'GIT_PREFIX',
  'GIT_SHALLOW_FILE',
  'GIT_QUARANTINE_PATH',
  'GIT_TEMPLATE_DIR',
] as const;

/** A fetched repository is data: it may run nothing, pull in nothing else, and start nothing that stays. */
const SETTINGS = [
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.autocrlf=false',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=no',
  'gc.auto=0',
  'maintenance.auto=false',
  'advice.detachedHead=false',
].flatMap((setting) => ['-c', setting]);

/** Also disables `ext::`, whatever the user's git allows. */
const ALLOWED_PROTOCOLS = 'file:http:https:ssh';
const NO_EXIT_CODE = 'unknown';

/** The environment of every git that touches a remote: it asks nobody anything. */
export function gitEnvironment(env: Environment): Environment {
  const kept = { ...env };
  for (const name of REPOSITORY_VARIABLES) delete kept[name];
  return {
    ...kept,
    GIT_TERMINAL_PROMPT: '0',
    GIT_ALLOW_PROTOCOL: ALLOWED_PROTOCOLS,
    GIT_LFS_SKIP_SMUDGE: '1',
    GIT_ADVICE: '0',
    GIT_ASKPASS: '',
    SSH_ASKPASS: '',
    LC_ALL: 'C',
  };
}

/** Runs git with safe settings. @throws GcError `git-not-found` */
export async function runGit(
  args: readonly string[],
  git: GitContext,
  limits: { readonly timeoutMs: number; readonly maxOutput: number },
): Promise<Exclude<ProgramResult, { kind: 'not-started' }>> {
  const result = await runProgram('git', [...SETTINGS, ...args], {
    env: gitEnvironment(git.env),
    signal: git.signal,
    ...limits,
  });
  if (result.kind !== 'not-started') return result;
  const reason = result.code === 'ENOENT' ? 'git is not installed, or not on the PATH' : result.reason;
  throw new GcError('git-not-found', `packs from other places need git: ${reason}`, {
    next: 'install git, then try again',
  });
}

/** Why git did not succeed, in one line and without credentials. */
export function gitFailure(result: Exclude<ProgramResult, { kind: 'ok' }>): string {
  switch (result.kind) {
    case 'failed':
      return lastWords(result.stderr) ?? `exit ${result.code ?? result.signal ?? NO_EXIT_CODE}`;
    case 'timed-out':
      return `no answer within ${result.timeoutMs / 1_000} s`;
    case 'too-much-output':
      return `more than ${result.maxOutput} bytes of output`;
    case 'not-started':
      return result.reason;
  }
}

/** The line that says what is wrong: git prints advice after it. A rewritten URL may carry a credential. */
function lastWords(stderr: string): string | undefined {
  const lines = stderr
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const line = lines.find((each) => each.startsWith('fatal: ')) ?? lines.at(-1);
  return line?.replace(/^fatal: /, '').replace(/:\/\/[^/@\s']+@/g, '://');
}
