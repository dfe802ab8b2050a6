import type { CityApi, SessionView } from '../../../internal/controller/city-api.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import type { Context } from '../context.ts';
import { detailOf } from '../output/board.ts';
import { isUp, shellWord, targetOf } from '../output/words.ts';

const POLL_MS = 150;
/** A session that shows no change for this long is not waited for any longer. */
const NO_PROGRESS_TIMEOUT_MS = 120_000;
const STILL_WAITING_MS = 5_000;

/** The session as soon as its agent runs. @throws GcError `session-not-starting` with what is known about why */
export async function untilUp(context: Context, api: CityApi, id: string): Promise<SessionView> {
  let key = '';
  let movedAt = context.clock.monotonic();
  let saidAt = movedAt;
  for (;;) {
    const session = await api.session(id);
    if (isUp(session.condition)) return session;
    const ended = ['closed', 'backing-off', 'quarantined', 'suspended'].includes(session.condition);
    const now = context.clock.monotonic();
    const next = `${session.condition} ${session.detail ?? ''}`;
    if (next !== key) movedAt = now;
    key = next;
    if (ended || now - movedAt > NO_PROGRESS_TIMEOUT_MS) throw notStarting(session);
    if (now - saidAt > STILL_WAITING_MS) {
      saidAt = now;
      context.err.write(`still waiting: ${session.condition} ${detailOf(session)}`.trimEnd().concat('\n'));
    }
    await context.clock.sleep(POLL_MS, context.signal);
  }
}

function notStarting(session: SessionView): GcError {
  const detail = detailOf(session);
  return new GcError(
    'session-not-starting',
    `session ${session.id} does not come up: ${session.condition}${detail ? `, ${detail}` : ''}`,
    { next: `gc explain ${shellWord(targetOf(session))}` },
  );
}
