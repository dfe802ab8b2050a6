import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import writeAtomic from 'write-file-atomic';

const PRIVATE_DIR = 0o700;

/** Writes the whole file or nothing: temporary file, fsync, rename. */
export async function writeFileAtomic(path: string, content: string | Buffer, mode: number): Promise<void> {
  await writeAtomic(path, content, { mode, fsync: true });
}

/** The same, for places where nothing may happen in between. */
export function writeFileAtomicSync(path: string, content: string | Buffer, mode: number): void {
  writeAtomic.sync(path, content, { mode, fsync: true });
}

/** Makes a folder (and its parents) that only its owner can enter; tightens it when it exists and is ours. */
export function ensurePrivateDir(path: string): void {
  mkdirSync(path, { recursive: true, mode: PRIVATE_DIR });
  const found = statSync(path);
  if ((found.mode & 0o077) !== 0 && found.uid === process.getuid?.()) chmodSync(path, PRIVATE_DIR);
}

/** Makes the parent folder of a file when it is missing; an existing one is left as it is. */
export function ensurePrivateDirFor(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: PRIVATE_DIR });
}
