import { GcError } from '../../../internal/platform/errors.ts';
import { cityRoot } from '../city/access.ts';
import { loadChecked } from '../city/load-city.ts';
import type { CommandRun } from '../cli/spec.ts';
import { startSupervised } from './start.ts';
import { stopCity } from './stop.ts';

/** A city file with errors is refused before anything is stopped. */
export const runRestart: CommandRun = async (context, input) => {
  const root = await cityRoot(context, input.optionalArg('path'));
  await loadChecked(context, root);
  const { left } = await stopCity(context, root);
  if (left.length > 0) {
    throw new GcError('stop-incomplete', `could not end: ${left.join(', ')}; nothing was started`, {
      next: 'gc doctor, then gc restart once more',
    });
  }
  context.out.write('City stopped.\n');
  return startSupervised(context, root);
};
