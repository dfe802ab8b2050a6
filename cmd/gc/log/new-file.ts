import { existsSync } from 'node:fs';
import { type FileHandle, link, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { codeOf, GcError } from '../../../internal/platform/errors.ts';
import { systemIds } from '../../../internal/platform/ids.ts';

const PRIVATE_MODE = 0o600;
const SUFFIX_BYTES = 6;

/**
 * Makes a file for its owner only, whole or not at all, from what `fill` writes piece by piece.
 * @throws GcError `file-exists` unless it may be replaced, `no-folder`; what `fill` throws
 */
export async function writeNewFile<T>(
  path: string,
  replace: boolean,
  fill: (write: (text: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  if (!replace && existsSync(path)) throw exists(path);
  const draft = join(dirname(path), `.${basename(path)}.${systemIds.hex(SUFFIX_BYTES)}`);
  const file = await openDraft(draft, path);
  try {
    const result = await filled(file, fill);
    if (replace) await rename(draft, path);
    else await place(draft, path);
    return result;
  } finally {
    await rm(draft, { force: true });
  }
}

async function openDraft(draft: string, path: string): Promise<FileHandle> {
  try {
    return await open(draft, 'wx', PRIVATE_MODE);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    throw new GcError('no-folder', `no folder ${dirname(path)}`, {
      cause: error,
      next: `mkdir -p ${dirname(path)}`,
    });
  }
}

async function filled<T>(
  file: FileHandle,
  fill: (write: (text: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  try {
    const result = await fill((text) => file.appendFile(text));
    await file.sync();
    return result;
  } finally {
    await file.close();
  }
}

/** Somebody may have made it meanwhile: a link never replaces. */
async function place(draft: string, path: string): Promise<void> {
  try {
    await link(draft, path);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw exists(path);
    throw error;
  }
}

const exists = (path: string): GcError =>
  new GcError('file-exists', `${path} is there already`, { next: 'name another file, or add --force' });
