import { readFile, realpath, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Git } from './git.ts';
import type { WorktreeRecord } from './registry.ts';
import type { WorktreeEntry } from './worktree-list.ts';

/** In git's own folder for the worktree: it goes with it, and no other worktree at the same path has it. */
const MARK = 'gas-city';

export async function mark(gitDir: string, id: string): Promise<void> {
  await writeFile(join(gitDir, MARK), `${id}\n`, { mode: 0o600 });
}

/** The worktree that git has at its path is the one that the record tells of. */
export async function isMarked(record: WorktreeRecord): Promise<boolean> {
  if (record.gitDir === '') return false;
  const text = await readFile(join(record.gitDir, MARK), 'utf8').catch(() => ''); // gone: not this one
  return text.trim() === record.id;
}

/** git's own folder for the worktree at `path`, absolute. */
export async function gitDirOf(git: Git, path: string): Promise<string> {
  return (await git.run(path, ['rev-parse', '--absolute-git-dir'])).trim();
}

/** The worktree at a path, as git lists it. A link at the path itself is not followed: what it leads to is elsewhere. */
export async function entryAt(
  entries: readonly WorktreeEntry[],
  path: string,
): Promise<WorktreeEntry | undefined> {
  const wanted = await placeOf(path);
  for (const entry of entries) {
    if (entry.path === path || (await placeOf(entry.path)) === wanted) return entry;
  }
  return undefined;
}

async function placeOf(path: string): Promise<string> {
  return join(await realOf(dirname(path)), basename(path));
}

/** A path without links; of one that is gone, as far as it is there. */
export async function realOf(path: string): Promise<string> {
  const parent = dirname(path);
  if (parent === path) return path;
  return realpath(path).catch(async () => join(await realOf(parent), basename(path)));
}
