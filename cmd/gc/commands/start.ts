import { type CityReport, supervisorCities } from '../../../internal/controller/supervisor-client.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { cityRoot } from '../city/access.ts';
import { putOnList, supervise } from '../city/registration.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { watchStart } from './watch-start.ts';

export const runStart: CommandRun = async (context, input) => {
  const root = await cityRoot(context, input.optionalArg('path'));
  if (input.flag('dry-run')) {
    const { printDryRun } = await import('./start-dry-run.ts');
    return printDryRun(context, root);
  }
  if (input.flag('foreground')) {
    const { runForeground } = await import('./start-foreground.ts');
    return runForeground(context, root);
  }
  return startSupervised(context, root, input.flag('no-wait'));
};

/** Hands the city to the supervisor and shows its sessions coming up. */
export async function startSupervised(context: Context, root: string, noWait = false): Promise<number> {
  const { city, isNew } = await putOnList(context, root);
  if (isNew && !context.out.isTTY) context.out.write(`Registered city '${city.name}' (${root})\n`);
  const supervising = supervise(context);
  if (noWait) {
    await supervising;
    context.out.write('City started under supervisor.\n');
    return 0;
  }
  let failure: unknown;
  let acted = false;
  supervising.then(
    () => {
      acted = true;
    },
    (error: unknown) => {
      failure = error;
    },
  );
  return watchStart(context, root, async () => {
    if (failure !== undefined) throw failure;
    return phaseOf(context, root, acted);
  });
}

/** What the supervisor is doing with the city; `''` once it runs. @throws GcError `city-failed`, `supervisor-gone` */
async function phaseOf(context: Context, root: string, acted: boolean): Promise<string> {
  const cities = await supervisorCities(context.env);
  if (cities === undefined && acted) {
    throw new GcError('supervisor-gone', 'the supervisor ended while the city was starting', {
      next: 'gc supervisor logs',
    });
  }
  const report = cities?.find((city) => city.path === root);
  if (report?.status === 'init_failed') throw cityFailed(report);
  if (report?.running) return '';
  return report?.status || 'waiting for the supervisor';
}

function cityFailed(report: CityReport): GcError {
  return new GcError('city-failed', `the city does not start: ${report.error ?? 'the reason is not known'}`, {
    next: `${report.next ?? 'gc config show --validate, gc supervisor logs'}; the supervisor keeps trying`,
  });
}
