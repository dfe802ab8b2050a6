import type { ChainedRecord } from '../../../protocol/hash-chain.ts';
import type { TimedRecord } from '../follow.ts';
import type { ReadRange } from '../session-log.ts';
import { corrupt } from './append-rules.ts';
import type { LogFolder } from './log-folder.ts';
import { headSeq, recordWithin } from './log-state.ts';
import { decodeLine } from './record-line.ts';

const DEFAULT_PAGE = 500;
/** What is read at once for a follower, unless one record is larger. */
const PAGE_BYTES = 4 << 20;

/** @throws LogCorruptError when the page reaches into damage */
export async function readRecords(
  log: LogFolder,
  uid: string,
  { from = 1, to = Number.MAX_SAFE_INTEGER, limit = DEFAULT_PAGE, maxBytes }: ReadRange,
): Promise<readonly ChainedRecord[]> {
  const state = await log.state(uid);
  const first = Math.max(1, from);
  const within = maxBytes === undefined ? to : Math.max(first, recordWithin(state, first, maxBytes));
  const wanted = Math.min(to, first - 1 + limit, within);
  if (state.damage && wanted >= first && wanted > headSeq(state)) throw corrupt(uid, state.damage);
  const last = Math.min(wanted, headSeq(state));
  return last < first ? [] : (await log.lines(uid, state, first, last)).map(decodeLine);
}

/** A follower's page: what is sound comes before damage is told. @throws LogCorruptError when it begins there */
export async function timedPage(
  log: LogFolder,
  uid: string,
  from: number,
  limit: number,
): Promise<readonly TimedRecord[]> {
  const state = await log.state(uid);
  if (from > headSeq(state) && !state.damage) return [];
  const to = Math.max(from, recordWithin(state, from, PAGE_BYTES));
  const records = await readRecords(log, uid, { from, limit, to });
  return records.map((record) => ({ record, recordedAt: state.times.recordedAt(record.seq) }));
}
