import type { ChainedRecord } from '../../../internal/protocol/hash-chain.ts';
import type { SessionLog } from '../../../internal/session/log/session-log.ts';

export interface TimedRecord {
  readonly record: ChainedRecord;
  /** Milliseconds since the epoch; 0 when it is not known. */
  readonly recordedAt: number;
}

/** Records with the time at which they were appended, up to where the log stands now, or `to`. */
export async function* timedRecords(
  log: Pick<SessionLog, 'follow' | 'head'>,
  uid: string,
  range: { readonly from: number; readonly to: number | undefined },
  signal: AbortSignal,
): AsyncGenerator<TimedRecord> {
  const head = await log.head(uid);
  const last = Math.min(range.to ?? head.seq, head.seq);
  if (range.from > last) return;
  for await (const item of followed(log, uid, range.from, signal)) {
    yield item;
    if (item.record.seq >= last) return;
  }
}

/** Everything from `from` on until the signal aborts; being cut off as too slow is no end. */
export async function* followed(
  log: Pick<SessionLog, 'follow'>,
  uid: string,
  from: number,
  signal: AbortSignal,
): AsyncGenerator<TimedRecord> {
  let next = from;
  while (!signal.aborted) {
    let isLagged = false;
    for await (const item of log.follow(uid, { from: next, signal })) {
      if (item.kind === 'lagged') isLagged = true;
      if (item.kind !== 'record') continue;
      next = item.record.seq + 1;
      yield item;
    }
    if (!isLagged) return;
  }
}
