import type { Service } from '../../../internal/config/city.ts';
import { didYouMean } from '../../../internal/config/document/nearest.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { cityRoot } from '../city/access.ts';
import { loadChecked } from '../city/load-city.ts';
import { UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { renderTable } from '../output/table.ts';

const STATE = 'not run';

export const runServiceList: CommandRun = async (context) => {
  const services = await servicesHere(context);
  const rows = services.map(({ name, kind, publication }) => [name, kind, publication.visibility, STATE]);
  if (context.json) context.out.write(`${JSON.stringify(services.map(dataOf), null, 2)}\n`);
  else if (rows.length === 0) context.out.write('No services configured.\n');
  else context.out.write(renderTable(['NAME', 'KIND', 'VISIBILITY', 'STATE'], rows));
  return 0;
};

export const runServiceDoctor: CommandRun = async (context, input) => {
  const [name] = input.rest('words');
  if (!name) throw new UsageError('missing service name', 'gc service list');
  const services = await servicesHere(context);
  const service = services.find((each) => each.name === name);
  if (!service) {
    const meant = didYouMean(
      name,
      services.map((each) => each.name),
    );
    throw new GcError('service-not-found', `service "${name}" not found${meant}`, {
      next: 'gc service list',
    });
  }
  const facts = [
    ['Name', service.name],
    ['Kind', service.kind],
    service.kind === 'workflow'
      ? ['Contract', service.workflow.contract]
      : ['Command', service.process.command.join(' ')],
    ['Visibility', service.publication.visibility],
    ['Publish Mode', service.publishMode],
    ['Service State', STATE],
    ['State Root', service.stateRoot],
    ['Reason', 'services are checked, and not run by this program'],
  ];
  context.out.write(facts.map(([label, value]) => `${`${label}:`.padEnd(15)}${value}\n`).join(''));
  return 0;
};

async function servicesHere(context: Context): Promise<readonly Service[]> {
  return (await loadChecked(context, await cityRoot(context))).services;
}

function dataOf({ name, kind, publishMode, publication, stateRoot }: Service) {
  return {
    name,
    kind,
    publish_mode: publishMode,
    visibility: publication.visibility,
    state_root: stateRoot,
    state: STATE,
  };
}
