import { rfc3339 } from '../../platform/clock.ts';
import { cityFact } from '../../protocol/events.ts';
import { UnknownLogError } from './errors.ts';
import type { SessionLogStore, SessionRow } from './session-log.ts';
import { cleanName } from './title.ts';

/**
 * Gives a session a name, or takes it away again (`''`), and notes it in the log.
 * @param asked who asked for it, and when (milliseconds since the epoch)
 * @throws UnknownLogError, SessionDeletedError, GcError `invalid-name`
 */
export async function renameSession(
  store: SessionLogStore,
  uid: string,
  name: string,
  asked: { readonly by: string; readonly now: number },
): Promise<SessionRow> {
  const clean = cleanName(name);
  const before = await store.get(uid);
  if (!before) throw new UnknownLogError(uid);
  const row = await store.update(uid, { name: clean });
  if (row.name === before.name) return row;
  const { by, now } = asked;
  const fact = { kind: 'renamed', name: clean, at: rfc3339(now), actor: by, evidence: 'record' };
  await store.append(uid, [cityFact(fact)]);
  return row;
}
