import { constants } from 'node:fs';
import { copyFile, lstat, mkdir, readdir, readlink, realpath, symlink } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { codeOf } from '../platform/errors.ts';

/** What became of one entry. `there`: something stands at its place, and stays. */
export type Copied = 'copied' | 'there' | 'left-out';

/**
 * Copies one file or link to the same place below another folder. Nothing that is there is touched, no link is
 * followed; a link that would lead out of `from`, and what is neither file nor link, is left out.
 */
export async function copyNew(from: string, to: string, path: string): Promise<Copied> {
  const source = join(from, path);
  const target = join(to, path);
  const found = await lstat(source);
  if (!found.isFile() && !found.isSymbolicLink()) return 'left-out';
  if (!(await makeParents(to, path))) return 'there';
  try {
    if (found.isFile()) await copyFile(source, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    else {
      const points = await readlink(source);
      if (isAbsolute(points) || leadsOut(from, resolve(dirname(source), points))) return 'left-out';
      await symlink(points, target);
    }
    return 'copied';
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return 'there';
    throw error;
  }
}

/** Relative paths of everything below a folder that is no folder itself; no link is followed. */
export async function filesBelow(folder: string, below = ''): Promise<readonly string[]> {
  const entries = await readdir(join(folder, below), { withFileTypes: true });
  const paths: string[] = [];
  for (const entry of entries) {
    const path = join(below, entry.name);
    if (entry.isDirectory()) paths.push(...(await filesBelow(folder, path)));
    else paths.push(path);
  }
  return paths;
}

export function leadsOut(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way);
}

/** `false`: a file, or a link that leads elsewhere, is in the way. */
async function makeParents(root: string, path: string): Promise<boolean> {
  const folder = dirname(join(root, path));
  try {
    await mkdir(folder, { recursive: true });
  } catch (error) {
    if (codeOf(error) === 'EEXIST' || codeOf(error) === 'ENOTDIR') return false;
    throw error;
  }
  return !leadsOut(await realpath(root), await realpath(folder));
}
