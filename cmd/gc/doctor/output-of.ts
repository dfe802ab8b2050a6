import { execFile } from 'node:child_process';
import type { Environment } from '../../../internal/platform/paths.ts';

const PROGRAM_TIMEOUT_MS = 5_000;

/** What a program prints on stdout; what it said on failure when it fails. */
export function outputOf(argv: readonly string[], env: Environment): Promise<string> {
  const [program = '', ...args] = argv;
  return new Promise((resolve) => {
    execFile(program, args, { env: { ...env }, timeout: PROGRAM_TIMEOUT_MS }, (error, stdout, stderr) => {
      resolve(error ? stderr || error.message : stdout);
    });
  });
}
