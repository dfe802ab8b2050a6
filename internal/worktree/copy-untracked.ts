import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { copyNew } from './copy-new.ts';
import { WorktreeError } from './errors.ts';
import type { Git } from './git.ts';

/** Copies are for settings and keys; what is larger is for a set-up command to fetch or build. */
const MAX_BYTES = 256 * 1_024 * 1_024;
const MAX_FILES = 10_000;

export interface CopyLimits {
  readonly bytes: number;
  readonly files: number;
}

/**
 * Copies the untracked files of the rig that match one of the patterns (git's `glob` pathspecs: `*` stays within a
 * folder, `**` does not, a folder means all below it). What is there already stays. Answers what was left out.
 * @throws WorktreeError `copy-too-large` before anything is copied
 */
export async function copyUntracked(
  git: Git,
  rigPath: string,
  worktree: string,
  patterns: readonly string[],
  limits: CopyLimits = { bytes: MAX_BYTES, files: MAX_FILES },
): Promise<readonly string[]> {
  if (patterns.length === 0) return [];
  const paths = await untrackedFiles(git, rigPath, patterns);
  await refuseTooMuch(rigPath, paths, patterns, limits);
  const notes: string[] = [];
  for (const path of paths) {
    // Another repository inside of the rig is listed as a folder.
    const outcome = path.endsWith('/') ? 'left-out' : await copyNew(rigPath, worktree, path);
    if (outcome === 'left-out') notes.push(`copy: ${path} was left out: it is no plain file of the rig`);
  }
  return notes;
}

async function untrackedFiles(
  git: Git,
  rigPath: string,
  patterns: readonly string[],
): Promise<readonly string[]> {
  const wanted = patterns.map((pattern) =>
    pattern.startsWith('!') ? `:(exclude,glob)${pattern.slice(1)}` : `:(glob)${pattern}`,
  );
  // The city may be inside of the rig: its own state is never a file of the rig.
  const specs = [...wanted, ':(exclude,glob)**/.gc/**'];
  const out = await git.run(rigPath, ['ls-files', '--others', '-z', '--', ...specs]);
  return out.split('\0').filter((path) => path !== '');
}

async function refuseTooMuch(
  rigPath: string,
  paths: readonly string[],
  patterns: readonly string[],
  limits: CopyLimits,
): Promise<void> {
  let bytes = 0;
  for (const path of paths.slice(0, limits.files)) bytes += (await lstat(join(rigPath, path))).size;
  if (paths.length <= limits.files && bytes <= limits.bytes) return;
  const what =
    paths.length > limits.files
      ? `${paths.length} files`
      : `more than ${Math.round(limits.bytes / 1_048_576)} MiB`;
  throw new WorktreeError(
    'copy-too-large',
    `worktree.copy (${patterns.join(', ')}) matches ${what} in ${rigPath}`,
    {
      next: 'name fewer files; have a setup command make the large ones',
    },
  );
}
