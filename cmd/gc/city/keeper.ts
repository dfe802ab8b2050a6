import { join } from 'node:path';
import { type ControllerHolder, controllerOf } from '../../../internal/controller/city-lock.ts';
import { supervisorStatus } from '../../../internal/controller/supervisor-client.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import type { Context } from '../context.ts';

/**
 * Who runs the city, as far as it is one that this shell's commands reach.
 * @throws GcError `controller-running` when it is the supervisor of another GC_HOME: it would start the city again
 */
export async function reachableKeeper(context: Context, root: string): Promise<ControllerHolder | undefined> {
  const holder = controllerOf(join(root, '.gc'));
  if (holder?.mode !== 'supervisor') return holder;
  const ours = await supervisorStatus(context.env);
  if (ours.running && ours.pid === holder.pid) return holder;
  // It may have ended between the two looks.
  if (controllerOf(join(root, '.gc'))?.pid !== holder.pid) return undefined;
  throw new GcError(
    'controller-running',
    `the city is kept by a supervisor (PID ${holder.pid}) that is not the one of this shell`,
    { next: 'set GC_HOME as it was when the city was started' },
  );
}
