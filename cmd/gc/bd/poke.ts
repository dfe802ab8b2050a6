import type { WorkChange } from '../../../internal/beads/work-store.ts';
import type { Environment } from '../../../internal/platform/paths.ts';

const POKE_CONNECT_TIMEOUT_MS = 50;
const POKE_REPLY_TIMEOUT_MS = 50;
const ROUTE_KEY = 'gc.routed_to';

/** Whether the change can make another agent wanted: who has the bead, whom it is for, whether it is ready. */
export function concernsController({ before, after }: WorkChange): boolean {
  if (!before || !after) {
    const one = before ?? after;
    return one !== undefined && (before !== undefined || one.assignee !== '' || ROUTE_KEY in one.metadata);
  }
  return (
    before.status !== after.status ||
    before.assignee !== after.assignee ||
    before.metadata[ROUTE_KEY] !== after.metadata[ROUTE_KEY] ||
    JSON.stringify(before.dependencies) !== JSON.stringify(after.dependencies)
  );
}

/** Makes the controller look now. At most 100 ms; that none answers is no failure: it looks again by itself. */
export async function pokeController(root: string, env: Environment): Promise<void> {
  const { controlSocketPath, sendWord } = await import(
    '../../../internal/controller/control-socket-client.ts'
  );
  try {
    await sendWord(controlSocketPath(root, env), 'poke', {
      connectMs: POKE_CONNECT_TIMEOUT_MS,
      replyMs: POKE_REPLY_TIMEOUT_MS,
    });
  } catch {
    // The change is committed; a poke only saves waiting for the next look.
  }
}
