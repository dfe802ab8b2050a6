import { readRegisteredCities, resolveCityPath } from '../../../internal/controller/registry.ts';
import { supervisorCities } from '../../../internal/controller/supervisor-client.ts';
import { gcHome } from '../../../internal/platform/paths.ts';
import { cityRoot } from '../city/access.ts';
import { NoCityError } from '../city/find-city.ts';
import type { CommandRun } from '../cli/spec.ts';
import { renderTable } from '../output/table.ts';
import { shortPath } from '../output/times.ts';

export const runCities: CommandRun = async (context) => {
  const registered = readRegisteredCities(gcHome(context.env));
  if (context.json) {
    const reports = (await supervisorCities(context.env)) ?? [];
    const rows = registered.map(({ name, path }) => {
      const report = reports.find((each) => each.path === path);
      return {
        name,
        path,
        running: report?.running ?? false,
        ...(report?.status ? { status: report.status } : {}),
      };
    });
    context.out.write(`${JSON.stringify(rows, null, 2)}\n`);
  } else if (registered.length === 0) {
    context.out.write("No cities registered. Use 'gc register' to add a city.\n");
  } else {
    const home = context.out.isTTY ? context.env['HOME'] : undefined;
    const rows = registered.map(({ name, path }) => [name, shortPath(path, home)]);
    context.out.write(renderTable(['NAME', 'PATH'], rows));
  }
  return 0;
};

export const runRegister: CommandRun = async (context, input) => {
  const { putOnList, supervise } = await import('../city/registration.ts');
  const root = await cityRoot(context, input.optionalArg('path'));
  const { city } = await putOnList(context, root, input.text('name'));
  context.out.write(`Registered city '${city.name}' (${city.path})\n`);
  await supervise(context);
  return 0;
};

export const runUnregister: CommandRun = async (context, input) => {
  const { takeFromList } = await import('../city/registration.ts');
  const { untilReleased } = await import('../city/shutdown.ts');
  const path = input.optionalArg('path');
  const root = path === undefined ? await cityRoot(context) : await registeredOr(context, path);
  const removed = await takeFromList(context, root);
  if (!removed) return 0;
  context.out.write(`Unregistered city '${removed.name}' (${removed.path})\n`);
  await untilReleased(context, removed.path);
  return 0;
};

/** The city of a path; the path itself when its folder is gone. */
async function registeredOr(context: Parameters<CommandRun>[0], path: string): Promise<string> {
  try {
    return await cityRoot(context, path);
  } catch (error) {
    if (error instanceof NoCityError) return resolveCityPath(path);
    throw error;
  }
}
