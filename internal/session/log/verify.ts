import { ChainBrokenError, ChainWalk } from '../../protocol/hash-chain.ts';
import { LogCorruptError } from './errors.ts';
import { PAGE_BYTES, type SessionLog } from './session-log.ts';

const PAGE_RECORDS = 500;

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
    for (;;) {
      const range = { from: walk.seq + 1, to: head.seq, limit: PAGE_RECORDS, maxBytes: PAGE_BYTES };
      const page = await store.read(uid, range);
      if (page.length === 0) break;
      for (const record of page) walk.check(record);
    }
  } catch (error) {
    if (error instanceof ChainBrokenError) throw new LogCorruptError(uid, error.seq, error.message, error);
    throw error;
  }
  if (walk.seq !== head.seq || walk.hash !== head.hash)
    throw new LogCorruptError(uid, walk.seq + 1, `it ends at record ${walk.seq}, not ${head.seq}`);
  return { records: walk.seq, hash: walk.hash };
}
