import { basename, dirname, join } from 'node:path';
import type { MakeProviderOptions } from '../../../internal/controller/make-provider.ts';
import { programRootOf } from '../../../internal/controller/system-packs.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { machineIdentity } from '../../../internal/platform/machine.ts';
import { nodeHostCommand } from '../../../internal/runtime/subprocess/host-launcher.ts';
import { buildInfo } from '../build-info.ts';

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

/** What providers need of this program. `installed`: its main file, where the scripts that come with it are found. */
export function providerPrograms(self: readonly string[], installed = mainFile(self)): MakeProviderOptions {
  const root = programRootOf(installed);
  const [node = process.execPath] = self;
  return {
    hostCommand: hostCommand(self),
    scriptsDir: root === undefined ? '' : join(root, SESSION_SCRIPTS),
    node,
    version: buildInfo.version,
    machine: machineIdentity,
  };
}

const SESSION_SCRIPTS = 'session-scripts';

/** What agents call as `gc`. */
export function agentProgram(self: readonly string[]): string {
  return mainFile(self);
}

function mainFile(self: readonly string[]): string {
  const main = self.at(-1);
  if (main === undefined) throw new GcError('internal', 'the program does not know how it was started');
  return main;
}
