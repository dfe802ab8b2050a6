import type { City } from '../../../internal/config/city.ts';
import { desiredRequests } from '../../../internal/controller/desired-state.ts';
import { loadChecked } from '../city/load-city.ts';
import type { Context } from '../context.ts';
import { padTo } from '../output/width.ts';

const NAME_COLUMNS = 30;

/** Prints which sessions a start would bring up. Reads the city file and nothing else. */
export async function printDryRun(context: Context, root: string): Promise<number> {
  const city = await loadChecked(context, root);
  context.out.write(dryRunText(city));
  return 0;
}

/** Source of the text: Gas City `gc start --dry-run`. */
export function dryRunText(city: City): string {
  const always = { ...city, namedSessions: city.namedSessions.filter((named) => named.mode === 'always') };
  const requests = desiredRequests(always, []);
  const starting = requests.filter((request) => !request.suspended);
  const lines = starting
    .map((request) => `  ${padTo(request.identity, NAME_COLUMNS)}  session=${request.sessionName}`)
    .sort();
  const suspended = requests.length - starting.length;
  return `${[
    `Dry-run: ${starting.length} agent(s) would start in city "${city.workspace.name}"`,
    ...(lines.length > 0 ? lines : ['  (no agents to start)']),
    ...(suspended > 0 ? [`${suspended} agent(s) suspended`] : []),
    'No side effects executed (--dry-run).',
  ].join('\n')}\n`;
}
