import type { WaitView } from '../../wait-api.ts';
import type { Cast } from './cast.ts';

/** In the calm each wait is over, or something that it waits for has not come. */
export async function wrongWaits({ world }: Cast): Promise<readonly string[]> {
  const found = await world.with(async ({ api, parts }) => {
    const waits = await api.waits.list();
    const open = await parts.work.list({
      statuses: ['open', 'in_progress'],
      notTypes: ['session', 'message'],
    });
    return { waits, open: new Set(open.map((bead) => bead.id)) };
  });
  if (!found) return [];
  return found.waits.flatMap((wait) => {
    if (wait.state === 'ready' && world.runtime.living(wait.session_name)?.ready)
      return [`wait ${wait.id} of ${wait.session_name} is over, and it was not told`];
    const isStuck = wait.state === 'pending' && hasCome(wait, found.open, world);
    return isStuck ? [`wait ${wait.id} of ${wait.session_name} goes on, and what it waits for has come`] : [];
  });
}

function hasCome(wait: WaitView, open: ReadonlySet<string>, { clock, runtime }: Cast['world']): boolean {
  const conditions = [
    ...wait.dep_ids.map((id) => !open.has(id)),
    ...wait.on_sessions.map((name) => {
      const life = runtime.living(name);
      return !life || (life.ready && !runtime.isBusy(life));
    }),
    ...(wait.until === undefined ? [] : [Date.parse(wait.until) <= clock.now()]),
  ];
  return wait.dep_mode === 'any' ? conditions.some(Boolean) : conditions.every(Boolean);
}
