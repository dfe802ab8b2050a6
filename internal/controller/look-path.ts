import { resolve } from 'node:path';
import type { LookPath } from '../config/preset/resolve-preset.ts';
import { findOnPath, isExecutable } from '../platform/executable.ts';
import type { Environment } from '../platform/paths.ts';

/** Finds programs as a shell in the city would. Names with a `/` are looked for from the city's folder. */
export function lookPathIn(root: string, env: Environment): LookPath {
  return (program) => {
    if (!program.includes('/')) return findOnPath(env['PATH'] ?? '', program);
    const path = resolve(root, program);
    return isExecutable(path) ? path : undefined;
  };
}
