import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A file that this user may run. */
export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // not there, or not for us
  }
}

/** Where a bare program name is found on a PATH; empty entries of it are skipped. */
export function findOnPath(path: string, program: string): string | undefined {
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  return folders.map((folder) => join(folder, program)).find(isExecutable);
}
