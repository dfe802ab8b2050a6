import { chmodSync, existsSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import writeAtomic from 'write-file-atomic';
import { codeOf } from './errors.ts';

const PRIVATE_DIR = 0o700;

/** Writes the whole file or nothing: temporary file, fsync, rename. */
export async function writeFileAtomic(path: string, content: string | Buffer, mode: number): Promise<void> {
  await writeAtomic(path, content, { mode, fsync: true });
}

/** The same, for places where nothing may happen in between. `fleeting`: it means nothing after a crash of the machine. */
export function writeFileAtomicSync(
  path: string,
  content: string | Buffer,
  mode: number,
  lasts: 'durable' | 'fleeting' = 'durable',
): void {
  writeAtomic.sync(path, content, { mode, fsync: lasts === 'durable' });
}

/** Makes a folder (and its parents) that only its owner can enter; tightens it when it exists and is ours. */
export function ensurePrivateDir(path: string): void {
  makeFolders(path);
  const found = statSync(path);
  if ((found.mode & 0o077) !== 0 && found.uid === process.getuid?.()) chmodSync(path, PRIVATE_DIR);
}

/** Makes the parent folder of a file when it is missing; an existing one is left as it is. */
export function ensurePrivateDirFor(file: string): void {
  makeFolders(dirname(file));
}

/** One after the other: Node's own recursion never ends where the file system takes no folders, as in `/proc`. */
function makeFolders(path: string): void {
  try {
    mkdirSync(path, { mode: PRIVATE_DIR });
  } catch (error) {
    if (codeOf(error) === 'EEXIST' && statSync(path).isDirectory()) return;
    const parent = dirname(path);
    if (codeOf(error) !== 'ENOENT' || existsSync(parent)) throw error;
    makeFolders(parent);
    makeFolders(path);
  }
}
