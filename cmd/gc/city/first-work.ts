import { hasDatabaseWork, type OpenWork, openWork, settleWork } from '../../../internal/beads/open-work.ts';
import type { WorkBeads } from '../../../internal/beads/work.ts';
import { chooseWork, DEFAULT_WORK } from '../../../internal/beads/work-choice.ts';
import { loadCity } from '../../../internal/config/load-city.ts';
import { commandActor } from '../../../internal/events/event-types.ts';
import type { Context } from '../context.ts';

/**
 * Where the work of a city is that was never started. While its file is wrong nothing is decided for good.
 * @throws GcError `unknown-bead-provider`
 */
export async function firstWork(context: Context, root: string, opening: OpenWork): Promise<WorkBeads> {
  const actor = commandActor(context.env);
  // Made by an earlier program, which knew no other place.
  if (await hasDatabaseWork(opening.city)) return (await settleWork(opening, DEFAULT_WORK, actor)).work;
  const env = context.env['GC_BEADS'];
  const loaded = await loadCity(root, { env: { ...context.env, GC_BEADS: undefined } });
  if (loaded.kind === 'invalid' && !env) return openWork(opening, DEFAULT_WORK.provider);
  const config = loaded.kind === 'ok' ? namedIn(loaded.city) : undefined;
  return (await settleWork(opening, chooseWork({ env, config, recorded: undefined }), actor)).work;
}

/** What the city file says; `undefined`: nothing. */
function namedIn(
  city: Extract<Awaited<ReturnType<typeof loadCity>>, { kind: 'ok' }>['city'],
): string | undefined {
  return city.provenance.positionOf('beads.provider') ? city.beads.provider : undefined;
}
