import { readFile, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

/** What a repository is taken to work on when its origin does not say. */
export const DEFAULT_BRANCH = 'main';

const ORIGIN_HEAD = 'refs/remotes/origin/HEAD';

/**
 * The branch that the origin of a repository calls its default, read from the files of git; `main` where there is no
 * repository or the origin did not say. `dir` may be any folder of a work tree, also a linked one.
 */
export async function defaultBranchOf(dir: string): Promise<string> {
  const gitDir = await gitDirOf(dir);
  if (gitDir === undefined) return DEFAULT_BRANCH;
  const common = await textOf(join(gitDir, 'commondir'));
  const head = await textOf(join(common === undefined ? gitDir : resolve(gitDir, common), ORIGIN_HEAD));
  return /^ref: refs\/remotes\/origin\/(.+)$/.exec(head ?? '')?.[1] ?? DEFAULT_BRANCH;
}

/** `.git` is a folder, or a file that names it: in linked work trees and submodules. */
async function gitDirOf(dir: string): Promise<string | undefined> {
  for (let at = resolve(dir); ; at = dirname(at)) {
    const path = join(at, '.git');
    const found = await stat(path).catch(() => undefined); // not there, or not for us to see
    if (found?.isDirectory()) return path;
    if (found?.isFile()) {
      const named = /^gitdir: (.+)$/.exec((await textOf(path)) ?? '')?.[1];
      return named === undefined ? undefined : resolve(at, named);
    }
    if (dirname(at) === at) return undefined;
  }
}

async function textOf(file: string): Promise<string | undefined> {
  return (await readFile(file, 'utf8').catch(() => undefined))?.trim(); // a file that git need not have
}
