import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import type { LookPath } from '../config/resolve-preset.ts';
import type { Environment } from '../platform/paths.ts';

/** Finds programs as a shell in the city would. Names with a `/` are looked for from the city's folder. */
export function lookPathIn(root: string, env: Environment): LookPath {
  return (program) => {
    if (program.includes('/')) {
      const path = resolve(root, program);
      return isExecutable(path) ? path : undefined;
    }
    const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
    return folders.map((folder) => join(folder, program)).find(isExecutable);
  };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    // Not there, or not for us.
    return false;
  }
}
