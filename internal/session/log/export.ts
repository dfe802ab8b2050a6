import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { LogCorruptError } from './errors.ts';
import { encodeLine } from './jsonl/record-line.ts';
import { PAGE_BYTES, type ReadRange, type SessionLog } from './session-log.ts';

const PAGE_RECORDS = 200;

/**
 * Writes the records of a log as lines, each the canonical JSON of its LogRecord and a newline: the bytes of the record file
 * that the JSONL store keeps of it.
 * @param write takes lines; the next page is read when it is done
 * @returns how many records were written
 * @throws LogCorruptError after the sound part was written
 */
export async function exportLog(
  store: Pick<SessionLog, 'read'>,
  uid: string,
  write: (lines: string) => void | Promise<void>,
): Promise<number> {
  let next = 1;
  let written = 0;
  for (;;) {
    const page = await soundPage(store, uid, { from: next, limit: PAGE_RECORDS, maxBytes: PAGE_BYTES });
    const last = page.at(-1);
    if (!last) return written;
    await write(page.map(encodeLine).join(''));
    written += page.length;
    next = last.seq + 1;
  }
}

/** A page up to the damage. @throws LogCorruptError when it begins there */
export async function soundPage(
  store: Pick<SessionLog, 'read'>,
  uid: string,
  range: ReadRange & { readonly from: number },
): Promise<readonly ChainedRecord[]> {
  try {
    return await store.read(uid, range);
  } catch (error) {
    if (!(error instanceof LogCorruptError) || error.seq <= range.from) throw error;
    return store.read(uid, { ...range, to: error.seq - 1 });
  }
}
