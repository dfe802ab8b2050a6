import { GcError } from '../../../internal/platform/errors.ts';
import { cityRoot } from '../city/access.ts';
import type { CommandRun } from '../cli/spec.ts';

export const runConvergeList: CommandRun = async (context) => {
  await cityRoot(context);
  context.out.write(context.json ? '[]\n' : 'No convergence loops found.\n');
  return 0;
};

export const runConverge: CommandRun = async () => {
  throw new GcError('not-built', 'there are no convergence loops here: formulas cannot run', {
    next: 'hand the work to an agent: gc sling <agent> "text"',
  });
};

export const runBeadsCity: CommandRun = async () => {
  throw new GcError('not-built', 'work is kept without Dolt: there is no endpoint to choose', {
    next: 'gc beads health says where it is; beads.provider in the city file, or GC_BEADS, chooses',
  });
};

export const runServiceRestart: CommandRun = async () => {
  throw new GcError('not-built', 'services are checked, and not run', { next: 'gc service list' });
};
