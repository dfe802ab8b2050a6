import { LogConflictError, LogCorruptError, StaleFenceError } from '../errors.ts';
import type { AppendOptions, LogHead } from '../session-log.ts';
import { type LogDamage, type LogState, lastSeq } from './log-state.ts';
import type { SessionMeta } from './session-file.ts';

/** As the store's contract has it; the last hash of a damaged log is not known. */
export function headOf(meta: SessionMeta | undefined, state: LogState): LogHead {
  return {
    seq: lastSeq(state),
    hash: state.damage ? '' : state.hash,
    fence: Math.max(meta?.fence ?? 0, state.fence),
  };
}

/**
 * The incarnation that records are appended under.
 * @throws LogConflictError before StaleFenceError
 */
export function admitAppend(
  uid: string,
  head: LogHead,
  { expected, fence, newIncarnation }: AppendOptions,
): number {
  if (expected !== undefined && expected !== head.seq) throw new LogConflictError(uid, expected, head.seq);
  if (newIncarnation) return head.fence + 1;
  if (fence === undefined) return head.fence;
  if (fence < head.fence) throw new StaleFenceError(uid, fence, head.fence);
  return fence;
}

export function corrupt(uid: string, { seq, what }: LogDamage): LogCorruptError {
  return new LogCorruptError(uid, seq, `record ${seq}: ${what}`);
}
