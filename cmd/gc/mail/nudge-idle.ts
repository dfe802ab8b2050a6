import type { CityApi, SessionView } from '../../../internal/controller/city-api.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import type { Context } from '../context.ts';

/** Between the look at a session and the nudge it may have begun a turn; longer nobody who only sends something waits. */
const SETTLE_WAIT_MS = 2_000;

/**
 * Says something to a session that has nothing to do; a busy or sleeping one is left alone and never started. Answers
 * why nothing was said, `undefined` when it was. Never fails: what it is about has happened already.
 */
export async function nudgeIdle(
  context: Context,
  root: string,
  choose: (api: CityApi) => Promise<SessionView | undefined>,
  text: string,
): Promise<string | undefined> {
  const { withCityAt } = await import('../city/access.ts');
  try {
    return await withCityAt(context, root, async ({ api }) => {
      const session = await choose(api);
      if (!session) return 'it does not run';
      if (!isFree(session)) return `it is ${session.condition}`;
      await api.nudge(session.session_name, { text, wait_idle_ms: SETTLE_WAIT_MS });
      return undefined;
    });
  } catch (error) {
    if (error instanceof GcError) return error.message;
    throw error;
  }
}

/** Some runtimes cannot tell whether an agent is idle; the nudge itself waits for it then. */
export function isFree({ condition }: SessionView): boolean {
  return condition === 'idle' || condition === 'running';
}
