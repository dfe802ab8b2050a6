import { readdir, realpath, stat } from 'node:fs/promises';
import { codeOf } from '../../platform/errors.ts';

/** Names in a folder; none when it is not there. */
export async function entriesOf(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

/** The path with its links followed, as it is when it is not there. */
export async function resolved(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (isAbsent(error)) return path;
    throw error;
  }
}

/** Milliseconds since the epoch; `undefined`: there is no such file. */
export async function modifiedAt(file: string): Promise<number | undefined> {
  try {
    const found = await stat(file);
    return found.isFile() ? found.mtimeMs : undefined;
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

export const isFile = async (file: string): Promise<boolean> => (await modifiedAt(file)) !== undefined;

/** A conversation's key as a part of a file's name: it leads nowhere else. */
export const isSafeKey = (key: string): boolean => key !== '' && !/[/\\]|\.\./.test(key);

function isAbsent(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG';
}
