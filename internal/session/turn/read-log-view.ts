import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { PAGE_BYTES, type SessionLog } from '../log/session-log.ts';
import { LogAnalyzer, type LogView } from './log-view.ts';

/** Records per read; other work of the process goes on between. */
const PAGE_RECORDS = 500;

/**
 * What a log says, all pages of it, without the contents of its turns.
 * @param to the last record that counts; absent: the head
 * @throws TurnError `invalid-log`
 */
export async function readLogView(
  log: Pick<SessionLog, 'read'>,
  uid: string,
  options: { readonly to?: number } = {},
): Promise<LogView> {
  const analyzer = new LogAnalyzer({ uid, keep: 'none' });
  await catchUp(analyzer, log, uid, options);
  return analyzer.view();
}

/** Gives an analyzer what it has not seen yet. @throws TurnError `invalid-log` */
export async function catchUp(
  analyzer: LogAnalyzer,
  log: Pick<SessionLog, 'read'>,
  uid: string,
  options: { readonly to?: number } = {},
): Promise<void> {
  for await (const record of recordsOf(log, uid, { ...options, from: analyzer.lastSeq + 1 })) {
    analyzer.add(record);
  }
}

/** A whole log and what it says. @throws TurnError `invalid-log` */
export async function readWholeLog(
  log: Pick<SessionLog, 'read'>,
  uid: string,
  keep: 'all' | 'latest',
): Promise<{ readonly records: readonly ChainedRecord[]; readonly view: LogView }> {
  const analyzer = new LogAnalyzer({ uid, keep });
  const records: ChainedRecord[] = [];
  for await (const record of recordsOf(log, uid, { from: 1 })) {
    analyzer.add(record);
    records.push(record);
  }
  return { records, view: analyzer.view() };
}

/** All records of a log, in order. */
export async function readRecords(
  log: Pick<SessionLog, 'read'>,
  uid: string,
): Promise<readonly ChainedRecord[]> {
  const records: ChainedRecord[] = [];
  for await (const record of recordsOf(log, uid, { from: 1 })) records.push(record);
  return records;
}

async function* recordsOf(
  log: Pick<SessionLog, 'read'>,
  uid: string,
  range: { readonly from: number; readonly to?: number },
): AsyncIterable<ChainedRecord> {
  let { from } = range;
  for (;;) {
    const page = await log.read(uid, { ...range, from, limit: PAGE_RECORDS, maxBytes: PAGE_BYTES });
    yield* page;
    const last = page.at(-1);
    if (!last || last.seq === range.to) return;
    from = last.seq + 1;
  }
}
