import { ChainBrokenError, ChainWalk } from '../../protocol/hash-chain.ts';
import { recordsOf } from './browse-pages.ts';
import { LogCorruptError } from './errors.ts';
import type { SessionLog } from './session-log.ts';

export interface VerifiedLog {
  readonly records: number;
  /** Of the last record, '' of an empty log. */
  readonly hash: string;
}

/**
 * Walks a whole log: numbers, links and contents, and that it reaches where the store says it stands.
 * @throws LogCorruptError at the first record that is not sound
 */
export async function verifyLog(store: Pick<SessionLog, 'head' | 'read'>, uid: string): Promise<VerifiedLog> {
  const walk = new ChainWalk();
  const head = await store.head(uid);
  try {
    for await (const record of recordsOf(store, uid, { to: head.seq })) walk.check(record);
  } catch (error) {
    if (error instanceof ChainBrokenError) throw new LogCorruptError(uid, error.seq, error.message, error);
    throw error;
  }
  if (walk.seq !== head.seq || walk.hash !== head.hash)
    throw new LogCorruptError(uid, walk.seq + 1, `it ends at record ${walk.seq}, not ${head.seq}`);
  return { records: walk.seq, hash: walk.hash };
}
