import { createHash } from 'node:crypto';
import { lstat, readFile, readlink } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { leadsOut } from './copy-new.ts';
import type { Git } from './git.ts';

/** Larger ones, and more of them, are nobody's settings: they count as work. */
const MAX_KNOWN_BYTES = 4 * 1_024 * 1_024;
const MAX_KNOWN_FILES = 2_000;

export type KnownFiles = Readonly<Record<string, string>>;

/** One line of `git status`. */
export interface StatusLine {
  readonly path: string;
  readonly untracked: boolean;
}

/** Everything that is not committed, each untracked file by itself. */
export async function statusOf(git: Git, worktree: string): Promise<readonly StatusLine[]> {
  const out = await git.run(worktree, [
    'status',
    '--porcelain=v1',
    '-z',
    '--no-renames',
    '--untracked-files=all',
    '--ignore-submodules=none',
  ]);
  return out
    .split('\0')
    .filter((line) => line !== '')
    .map((line) => ({ path: line.slice(3), untracked: line.startsWith('??') }));
}

/** The untracked files as they are now. */
export async function untrackedNow(git: Git, worktree: string): Promise<KnownFiles> {
  const paths = (await statusOf(git, worktree)).filter((line) => line.untracked).map((line) => line.path);
  return hashesOf(worktree, paths.slice(0, MAX_KNOWN_FILES));
}

export interface Changes {
  /** All that is changed, added or deleted, and untracked files that are not as we left them. */
  readonly work: readonly string[];
  /** The other untracked ones: nothing is lost with them. */
  readonly ours: readonly string[];
}

/** Tells somebody's work from what was put there for them. */
export async function changesIn(
  worktree: string,
  status: readonly StatusLine[],
  known: KnownFiles,
): Promise<Changes> {
  const work: string[] = [];
  const ours: string[] = [];
  for (const { path, untracked } of status) {
    const isOurs =
      untracked && ((await isAsKnown(worktree, path, known)) || (await leadsElsewhere(worktree, path)));
    (isOurs ? ours : work).push(path);
  }
  return { work, ours };
}

async function isAsKnown(worktree: string, path: string, known: KnownFiles): Promise<boolean> {
  const hash = known[path];
  return hash !== undefined && (await hashOf(join(worktree, path))) === hash;
}

/** A link to somewhere else holds nothing itself: agents get their skills as such links. */
async function leadsElsewhere(worktree: string, path: string): Promise<boolean> {
  const target = await readlink(join(worktree, path)).catch(() => ''); // no link
  return isAbsolute(target) && leadsOut(worktree, target);
}

/** What was put there between two looks, and what was ours before and still is as it was. */
export function nextKnown(known: KnownFiles, before: KnownFiles, after: KnownFiles): KnownFiles {
  const isOurs = (path: string) => before[path] === undefined || before[path] === known[path];
  return Object.fromEntries(Object.entries(after).filter(([path]) => isOurs(path)));
}

async function hashesOf(worktree: string, paths: readonly string[]): Promise<KnownFiles> {
  const hashes: Record<string, string> = {};
  for (const path of paths) {
    const hash = await hashOf(join(worktree, path));
    if (hash !== undefined) hashes[path] = hash;
  }
  return hashes;
}

async function hashOf(file: string): Promise<string | undefined> {
  try {
    const found = await lstat(file);
    if (found.isSymbolicLink()) return digest(`link ${await readlink(file)}`);
    if (!found.isFile() || found.size > MAX_KNOWN_BYTES) return undefined;
    return digest(await readFile(file));
  } catch {
    return undefined; // gone or unreadable: then it is not proven ours
  }
}

function digest(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
