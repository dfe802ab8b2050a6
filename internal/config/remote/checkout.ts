import { lstat, readFile, realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import { codeOf } from '../../platform/errors.ts';

const COMMIT = /^([0-9a-f]{40}|[0-9a-f]{64})$/;

/** A whole commit id, of either of git's hashes. */
export function isCommit(text: string): boolean {
  return COMMIT.test(text);
}

/** The commit that a repository stands at, read from its files; `undefined` when there is no repository in the folder. */
export async function headOf(dir: string): Promise<string | undefined> {
  const git = join(dir, '.git');
  try {
    // A `.git` that is a link or a file points at a repository elsewhere: nothing of ours looks like that.
    if (!(await lstat(git)).isDirectory()) return undefined;
    return await readHead(git);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

async function readHead(git: string): Promise<string | undefined> {
  const head = (await readFile(join(git, 'HEAD'), 'utf8')).trim();
  if (isCommit(head)) return head;
  const ref = /^ref: (refs\/[A-Za-z0-9_./+-]+)$/.exec(head)?.[1];
  if (ref === undefined || ref.includes('..')) return undefined;
  const loose = await readOr(join(git, ref));
  if (loose !== undefined) return isCommit(loose.trim()) ? loose.trim() : undefined;
  const packed = (await readOr(join(git, 'packed-refs'))) ?? '';
  const line = packed.split('\n').find((each) => each.endsWith(` ${ref}`));
  const commit = line?.split(' ')[0] ?? '';
  return isCommit(commit) ? commit : undefined;
}

async function readOr(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

export type Inside = 'inside' | 'outside' | 'absent';

/** Whether a path, all links followed, is the folder or below it. */
export async function insideOf(root: string, path: string): Promise<Inside> {
  let real: string;
  let top: string;
  try {
    [top, real] = await Promise.all([realpath(root), realpath(path)]);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return 'absent';
    throw error;
  }
  const way = relative(top, real);
  return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way) ? 'outside' : 'inside';
}
