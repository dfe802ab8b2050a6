import { lstat, readdir, readFile, readlink, rmdir, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from '../platform/errors.ts';
import { copyNew, filesBelow } from './copy-new.ts';
import { WorktreeError } from './errors.ts';

/** A file larger than this is not compared in memory: it is kept twice. */
const MAX_COMPARED = 1_024 * 1_024 * 1_024;

/** What stands where a worktree is wanted. */
export type TargetState = 'absent' | 'empty' | 'filled';

/** @throws WorktreeError `worktree-path-taken` for what no worktree can be made from */
export async function targetState(path: string): Promise<TargetState> {
  const found = await lstat(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (!found) return 'absent';
  if (!found.isDirectory()) throw pathTaken(path, found.isSymbolicLink() ? 'a link' : 'a file');
  const names = await readdir(path);
  if (names.includes('.git')) throw pathTaken(path, 'a repository or worktree of something else');
  return names.length === 0 ? 'empty' : 'filled';
}

/** Files that stood there before come into the worktree; a tracked file is never overwritten. */
export async function layStaged(aside: string, worktree: string): Promise<void> {
  for (const path of await filesBelow(aside)) await copyNew(aside, worktree, path);
}

/** Takes away what arrived. Answers what did not, because the worktree has something else at its place: it stays. */
export async function settleStaged(aside: string, worktree: string): Promise<readonly string[]> {
  const kept: string[] = [];
  for (const path of await filesBelow(aside)) {
    if (await isSame(join(aside, path), join(worktree, path))) await unlink(join(aside, path));
    else kept.push(path);
  }
  await removeEmptyFolders(aside);
  return kept;
}

/** Removes `folder` and its parents up to and with `last`, while they are empty. */
export async function removeEmptyUpTo(folder: string, last: string): Promise<void> {
  for (let at = folder; ; at = dirname(at)) {
    if (!(await removeIfEmpty(at)) || at === last || at === dirname(at)) return;
  }
}

async function removeEmptyFolders(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await removeEmptyFolders(join(folder, entry.name));
  }
  await removeIfEmpty(folder);
}

async function removeIfEmpty(folder: string): Promise<boolean> {
  return rmdir(folder).then(
    () => true,
    () => false, // something is in it, or it is not ours to remove: it stays
  );
}

async function isSame(a: string, b: string): Promise<boolean> {
  const [one, other] = await Promise.all([lstat(a), lstat(b).catch(() => undefined)]); // missing: not the same
  if (!other) return false;
  if (one.isSymbolicLink() && other.isSymbolicLink()) return (await readlink(a)) === (await readlink(b));
  if (!one.isFile() || !other.isFile() || one.size !== other.size || one.size > MAX_COMPARED) return false;
  return (await readFile(a)).equals(await readFile(b));
}

export function pathTaken(path: string, what: string): WorktreeError {
  return new WorktreeError('worktree-path-taken', `no worktree can be made at ${path}: ${what} is there`, {
    next: 'move it away, or give the agent another work_dir',
  });
}
