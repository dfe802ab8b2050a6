import { isAbsolute } from 'node:path';
import { findOnPath, isExecutable } from '../../../internal/platform/executable.ts';
import type { Environment } from '../../../internal/platform/paths.ts';

/** Where a program is that the shell would run by this name; `undefined` when it is not on the PATH. */
export function findProgram(env: Environment, program: string): string | undefined {
  if (program.includes('/')) return isAbsolute(program) && isExecutable(program) ? program : undefined;
  return findOnPath(env['PATH'] ?? '', program);
}
