import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { codeOf } from '../../platform/errors.ts';

/** Folders of a city whose whole content is configuration. Source: Gas City revision hash. */
export const DISCOVERY_FOLDERS = ['agents', 'commands', 'doctor'] as const;

const NUL = '\0';

/**
 * Lowercase hex SHA-256 over the content of every source file and of the discovery folders. Times and modes do not
 * count: touching a file changes nothing. A file that is gone counts as such. `texts`: what has been read already.
 */
export function revisionOf(
  root: string,
  sources: readonly string[],
  texts: ReadonlyMap<string, string> = new Map(),
): string {
  const hash = createHash('sha256');
  for (const file of [...new Set(sources)].sort()) {
    hash
      .update(file)
      .update(NUL)
      // What was read is what is in force: the file may be another one by now.
      .update(texts.get(file) ?? contentOf(file))
      .update(NUL);
  }
  for (const name of DISCOVERY_FOLDERS) {
    const digest = folderHash(join(root, name));
    if (digest !== undefined) hash.update(`city-discovery:${name}`).update(NUL).update(digest).update(NUL);
  }
  return hash.digest('hex');
}

/** Files and folders whose change can make another revision: what a watcher looks at. */
export function watchSet(root: string, sources: readonly string[]): readonly string[] {
  return [...new Set([...sources, ...DISCOVERY_FOLDERS.map((name) => join(root, name))])].sort();
}

function folderHash(folder: string): string | undefined {
  const files = filesBelow(folder);
  if (files === undefined) return undefined;
  const hash = createHash('sha256');
  for (const file of files.sort()) {
    hash.update(relative(folder, file).split(sep).join('/')).update(NUL).update(contentOf(file)).update(NUL);
  }
  return hash.digest('hex');
}

function filesBelow(folder: string): string[] | undefined {
  try {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw error;
  }
}

function contentOf(file: string): Buffer | string {
  try {
    return readFileSync(file);
  } catch (error) {
    // Gone, a dangling or directory link, no permission: each is a state of its own, and none stops the others.
    return `unreadable:${codeOf(error) ?? 'unknown'}`;
  }
}
