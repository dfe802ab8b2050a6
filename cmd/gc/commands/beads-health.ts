import { GcError, messageOf } from '../../../internal/platform/errors.ts';
import type { CommandRun } from '../cli/spec.ts';
import { withWork } from '../work/work-place.ts';

export const runBeadsHealth: CommandRun = (context, input) =>
  withWork(context, input, async ({ work }) => {
    try {
      await work.ping();
    } catch (error) {
      throw new GcError('store-unhealthy', `Beads provider: unhealthy: ${messageOf(error)}`, {
        cause: error,
        next: `look at ${work.file}`,
      });
    }
    if (!input.flag('quiet')) context.out.write(`Beads provider: healthy (${work.kind}, ${work.file})\n`);
    return 0;
  });
