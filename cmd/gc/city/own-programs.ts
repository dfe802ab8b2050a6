import { basename, dirname, join } from 'node:path';
import { GcError } from '../../../internal/platform/errors.ts';
import { nodeHostCommand } from '../../../internal/runtime/subprocess/host-launcher.ts';

/**
 * The session host beside this program: `host.js` in a bundle, its source file otherwise. `self`: executable and first
 * arguments of this program, its main file last.
 */
export function hostCommand(self: readonly string[]): readonly string[] {
  const main = mainFile(self);
  const host =
    basename(main) === 'main.js'
      ? join(dirname(main), 'host.js')
      : join(dirname(main), '..', '..', 'internal', 'runtime', 'host', 'main.ts');
  const [node = process.execPath, ...options] = self.slice(0, -1);
  return nodeHostCommand(node, host, ...options);
}

/** What agents call as `gc`. */
export function agentProgram(self: readonly string[]): string {
  return mainFile(self);
}

function mainFile(self: readonly string[]): string {
  const main = self.at(-1);
  if (main === undefined) throw new GcError('internal', 'the program does not know how it was started');
  return main;
}
