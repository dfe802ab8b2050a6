import type { City } from '../../../internal/config/city.ts';
import type { LookPath } from '../../../internal/config/preset/resolve-preset.ts';
import { agentPreset, type ProviderPlace } from '../../../internal/controller/agent-transport.ts';
import { desiredRequests } from '../../../internal/controller/desired-state.ts';
import { decidePools } from '../../../internal/controller/pools.ts';
import type { ResolveRequest } from '../../../internal/controller/template-resolve.ts';
import { NO_WORK } from '../../../internal/controller/work-facts.ts';
import { messageOf } from '../../../internal/platform/errors.ts';
import type { Environment } from '../../../internal/platform/paths.ts';
import { findProgram } from '../city/find-program.ts';
import { loadWithPacks } from '../city/provide-packs.ts';
import type { Context } from '../context.ts';
import { padTo } from '../output/width.ts';

const NAME_COLUMNS = 30;

/** Prints which sessions a start would bring up. Starts nothing and leaves nothing behind. */
export async function printDryRun(context: Context, root: string): Promise<number> {
  const city = await loadWithPacks(context, root, { onlyLooks: true });
  context.out.write(dryRunText(city, context.env, (program) => findProgram(context.env, program)));
  return 0;
}

/** Source of the text: Gas City `gc start --dry-run`. */
export function dryRunText(city: City, env: Environment, lookPath: LookPath): string {
  const always = { ...city, namedSessions: city.namedSessions.filter((named) => named.mode === 'always') };
  const nothing = { records: [], work: NO_WORK, counts: new Map(), called: new Set<string>() };
  const floors = decidePools({ city, ...nothing, queried: new Set() });
  const requests = desiredRequests(always, [], floors.slots);
  const starting = requests.filter((request) => !request.suspended);
  const lines = starting
    .map((request) => `  ${padTo(request.identity, NAME_COLUMNS)}  session=${request.sessionName}`)
    .sort();
  const suspended = requests.length - starting.length;
  return `${[
    `Dry-run: ${starting.length} agent(s) would start in city "${city.workspace.name}"`,
    ...(lines.length > 0 ? lines : ['  (no agents to start)']),
    ...cannotStart({ city, env, provider: env['GC_SESSION'] || city.session.provider }, starting, lookPath),
    ...(suspended > 0 ? [`${suspended} agent(s) suspended`] : []),
    'No side effects executed (--dry-run).',
  ].join('\n')}\n`;
}

/** Why some of them would fail at once, each reason said once. */
function cannotStart(
  place: ProviderPlace,
  requests: readonly ResolveRequest[],
  lookPath: LookPath,
): readonly string[] {
  const counts = new Map<string, number>();
  for (const { agent } of requests) {
    try {
      agentPreset(place, agent, lookPath);
    } catch (error) {
      counts.set(messageOf(error), (counts.get(messageOf(error)) ?? 0) + 1);
    }
  }
  return [...counts].map(([why, count]) => `${count} agent(s) cannot start: ${why}`);
}
