import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import type { Environment } from '../../../internal/platform/paths.ts';

/** Where a program is that the shell would run by this name; `undefined` when it is not on the PATH. */
export function findProgram(env: Environment, program: string): string | undefined {
  if (program.includes('/')) return isAbsolute(program) && isExecutable(program) ? program : undefined;
  for (const dir of (env['PATH'] ?? '').split(delimiter)) {
    if (dir === '') continue;
    const candidate = join(dir, program);
    if (isExecutable(candidate)) return candidate;
  }
  return undefined;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false; // not there, or not for us
  }
}
