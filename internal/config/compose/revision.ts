import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { codeOf } from '../../platform/errors.ts';

/** Folders of a city whose whole content is configuration. Source: Gas City revision hash. */
export const DISCOVERY_FOLDERS = ['agents', 'commands', 'doctor'] as const;

const NUL = '\0';

/**
 * Lowercase hex SHA-256 over the content of every source file and of the discovery folders. Times and modes do not
 * count: touching a file changes nothing. A file that is gone counts as such.
 */
export async function revisionOf(root: string, sources: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const file of [...new Set(sources)].sort()) {
    hash
      .update(file)
      .update(NUL)
      .update(await contentOf(file))
      .update(NUL);
  }
  for (const name of DISCOVERY_FOLDERS) {
    const digest = await folderHash(join(root, name));
    if (digest !== undefined) hash.update(`city-discovery:${name}`).update(NUL).update(digest).update(NUL);
  }
  return hash.digest('hex');
}

/** Files and folders whose change can make another revision: what a watcher looks at. */
export function watchSet(root: string, sources: readonly string[]): readonly string[] {
  return [...new Set([...sources, ...DISCOVERY_FOLDERS.map((name) => join(root, name))])].sort();
}

async function folderHash(folder: string): Promise<string | undefined> {
  const files = await filesBelow(folder);
  if (files === undefined) return undefined;
  const hash = createHash('sha256');
  for (const file of files.sort()) {
    hash
      .update(relative(folder, file).split(sep).join('/'))
      .update(NUL)
      .update(await contentOf(file))
      .update(NUL);
  }
  return hash.digest('hex');
}

async function filesBelow(folder: string): Promise<string[] | undefined> {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

async function contentOf(file: string): Promise<Buffer | string> {
  try {
    return await readFile(file);
  } catch (error) {
    // Gone, a dangling or directory link, no permission: each is a state of its own, and none stops the others.
    return `unreadable:${codeOf(error) ?? 'unknown'}`;
  }
}
