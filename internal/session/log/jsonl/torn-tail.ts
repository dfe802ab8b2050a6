import type { AppendNote } from './append-times.ts';
import type { LineFault, Scan } from './scan.ts';

/** What to do about the end of a record file when it is opened. */
export type TailVerdict =
  | { readonly kind: 'sound' }
  /** An append was cut off by a crash: what begins with this record goes aside. */
  | { readonly kind: 'torn'; readonly fromSeq: number; readonly what: string }
  /** Somebody changed it: it stays as it is, and nothing is appended any more. */
  | { readonly kind: 'damaged'; readonly fault: LineFault };

/**
 * Torn is what one interrupted write can leave: a last line without an end or without sense, a hole of NULs, or a part of
 * the batch that was being written. Anything else that is not sound was there before and is damage.
 * @param pending the append that was announced and whose last record is not there
 * @param startsBatch whether the record at `pending.from`, if any, is the one that the batch begins with
 */
export function judgeTail(scan: Scan, pending: AppendNote | undefined, startsBatch: boolean): TailVerdict {
  const head = scan.ends.length;
  const { fault } = scan;
  const ofBatch = pending?.batch !== undefined && (pending.from === head + 1 || startsBatch);
  if (!fault) {
    if (ofBatch && pending.from <= head)
      return { kind: 'torn', fromSeq: pending.from, what: 'only a part of its batch was written' };
    return { kind: 'sound' };
  }
  const lastLine = fault.last && (!fault.terminated || !fault.parsable);
  if (lastLine || (ofBatch && fault.holed)) {
    const fromSeq = ofBatch ? pending.from : fault.seq;
    return { kind: 'torn', fromSeq, what: `the end of record ${fault.seq} was not written` };
  }
  return { kind: 'damaged', fault };
}
