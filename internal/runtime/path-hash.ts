import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** A tree with more nested folders than this is taken for a loop. */
const MAX_DEPTH = 64;

/**
 * SHA-256 of a file's bytes, or of a folder's files (path, NUL, content, NUL each, in bytewise order of the paths).
 * 64 lowercase hex digits, `''` on any error: one unreadable child makes the whole folder unknown.
 * Source: Gas City `HashPathContent`; a symbolic link to a folder is walked there as an unreadable file, here as the
 * folder it names. Paths that `leaves` names do not count, and a folder of nothing else has no hash.
 */
export async function hashPathContent(
  path: string,
  leaves: (path: string) => Promise<boolean> = async () => false,
): Promise<string> {
  try {
    const found = await stat(path);
    const hash = createHash('sha256');
    if (found.isFile()) {
      await feed(path, hash);
      return hash.digest('hex');
    }
    if (!found.isDirectory()) return '';
    const { files, left } = await listFiles(path, '', 0, new Set(), leaves);
    if (files.length === 0 && left) return '';
    files.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    for (const file of files) {
      hash.update(`${file}\0`);
      await feed(join(path, file), hash);
      hash.update('\0');
    }
    return hash.digest('hex');
  } catch {
    return ''; // the caller stores "unavailable", which never equals a hash
  }
}

async function feed(path: string, hash: ReturnType<typeof createHash>): Promise<void> {
  for await (const chunk of createReadStream(path)) hash.update(chunk);
}

async function listFiles(
  root: string,
  relative: string,
  depth: number,
  above: ReadonlySet<string>,
  leaves: (path: string) => Promise<boolean>,
): Promise<{ readonly files: string[]; readonly left: boolean }> {
  const here = join(root, relative);
  const real = await realpath(here);
  if (depth > MAX_DEPTH || above.has(real)) throw new Error(`folders loop at ${here}`);
  const inside = new Set([...above, real]);
  const files: string[] = [];
  let left = false;
  for (const entry of await readdir(here)) {
    const path = relative === '' ? entry : `${relative}/${entry}`;
    if (await leaves(join(root, path))) {
      left = true;
      continue;
    }
    const found = await stat(join(root, path));
    if (found.isDirectory()) {
      const below = await listFiles(root, path, depth + 1, inside, leaves);
      files.push(...below.files);
      left ||= below.left;
    } else if (found.isFile()) files.push(path);
    else throw new Error(`neither a file nor a folder: ${join(root, path)}`);
  }
  return { files, left };
}
