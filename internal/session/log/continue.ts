import { GcError } from '../../platform/errors.ts';
import type { Ids } from '../../platform/ids.ts';
import { newSessionUid } from '../../protocol/session-id.ts';
import { recordsOf } from './browse-pages.ts';
import { continuedFact, continuedOf } from './continue-marker.ts';
import { SessionDeletedError, UnknownLogError } from './errors.ts';
import type { SessionLogStore, SessionRow } from './session-log.ts';
import { TurnCount } from './summary-turns.ts';

export interface ContinueOptions {
  readonly ids: Pick<Ids, 'hex'>;
  /** The last record of the source that counts; its end unless told. */
  readonly at?: number;
  readonly name?: string;
  /** What runs the new session; that of the source unless told. */
  readonly harness?: string;
}

/**
 * A new session that carries on the conversation of an older one: its log starts with a marker that leads there, and
 * copies nothing. Project and model are those of the source. A harness gets the older conversation as the beginning of its
 * history.
 * @throws UnknownLogError, SessionDeletedError, GcError `continue-beyond-head`
 */
export async function continueSession(
  store: SessionLogStore,
  source: string,
  { ids, at, name = '', harness }: ContinueOptions,
): Promise<SessionRow> {
  const row = await store.get(source);
  if (!row) throw new UnknownLogError(source);
  if (row.deletedAt !== undefined) throw new SessionDeletedError(source);
  const seq = at ?? row.lastSeq;
  if (seq > row.lastSeq) {
    throw new GcError('continue-beyond-head', `${source} ends at record ${row.lastSeq}, before ${seq}`, {
      next: `gc log show ${source} --records`,
    });
  }
  const marker = continuedFact({ source, seq, turns: await turnsUpTo(store, source, seq) });
  const uid = newSessionUid(ids);
  const { project, model } = row;
  await store.create({ uid, project, name, harness: harness ?? row.harness, model });
  try {
    await store.append(uid, [marker], { expected: 0 });
  } catch (error) {
    await store.remove(uid).catch(() => undefined); // what went wrong first is what has to be said
    throw error;
  }
  return (await store.get(uid)) ?? unreadable(uid);
}

async function turnsUpTo(store: SessionLogStore, uid: string, seq: number): Promise<number> {
  const count = new TurnCount();
  let carried = 0;
  for await (const { event } of recordsOf(store, uid, { to: seq })) {
    carried ||= continuedOf(event)?.turns ?? 0;
    count.add(event);
  }
  return carried + count.turns;
}

function unreadable(uid: string): never {
  throw new UnknownLogError(uid);
}
