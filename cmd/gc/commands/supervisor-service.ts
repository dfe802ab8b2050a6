import { spawn } from 'node:child_process';
import {
  installService,
  type ServiceOptions,
  uninstallService,
} from '../../../internal/controller/service-unit.ts';
import { GcError, messageOf } from '../../../internal/platform/errors.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';

export const runSupervisorInstall: CommandRun = async (context) => {
  const file = await installService(optionsOf(context));
  context.out.write(`Installed ${file}; the supervisor runs now and at every login.\n`);
  return 0;
};

export const runSupervisorUninstall: CommandRun = async (context) => {
  const file = await uninstallService(optionsOf(context));
  context.out.write(
    file === undefined ? 'Nothing is installed.\n' : `Removed ${file}; sessions keep running.\n`,
  );
  return 0;
};

function optionsOf(context: Context): ServiceOptions {
  return { platform: process.platform, env: context.env, self: context.self, run: runManager };
}

/** Runs one call of the service manager; what it says on stderr becomes the error. */
function runManager(argv: readonly string[]): Promise<void> {
  const [program, ...args] = argv;
  const shown = argv.join(' ');
  return new Promise((resolve, reject) => {
    const child = spawn(program ?? '', args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    child.stderr.setEncoding('utf8');
    child.stderr.on('data', (text: string) => {
      said += text;
    });
    child.once('error', (error) => reject(failed(shown, messageOf(error), error)));
    child.once('close', (code) => {
      if (code === 0) resolve();
      else reject(failed(shown, said.trim() || `exit ${code}`));
    });
  });
}

function failed(shown: string, why: string, cause?: unknown): GcError {
  return new GcError('service-manager-failed', `${shown}: ${why}`, {
    ...(cause === undefined ? {} : { cause }),
    next: 'without a service manager: gc supervisor start',
  });
}
