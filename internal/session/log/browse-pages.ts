import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { PAGE_BYTES, type SessionLog } from './session-log.ts';

/** Records per read: a page is short enough that nobody who writes waits for it. */
const PAGE_RECORDS = 500;

export type LogReader = Pick<SessionLog, 'read'>;

export interface RecordRange {
  /** The first record wanted; 1 unless told. */
  readonly from?: number;
  /** The last one; the end of the log unless told. */
  readonly to?: number;
  readonly signal?: AbortSignal;
}

/** The records of a log in order, page by page: never a whole log in memory. */
export async function* recordsOf(
  log: LogReader,
  uid: string,
  { from = 1, to = Number.MAX_SAFE_INTEGER, signal }: RecordRange = {},
): AsyncGenerator<ChainedRecord> {
  let next = Math.max(1, from);
  while (next <= to) {
    signal?.throwIfAborted();
    const page = await log.read(uid, { from: next, to, limit: PAGE_RECORDS, maxBytes: PAGE_BYTES });
    if (page.length === 0) return;
    yield* page;
    next += page.length;
  }
}
