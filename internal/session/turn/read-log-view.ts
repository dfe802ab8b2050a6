import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { type LogReader, recordsOf } from '../log/browse-pages.ts';
import { LogAnalyzer, type LogView } from './log-view.ts';

/**
 * What a log says, all pages of it, without the contents of its turns.
 * @param to the last record that counts; absent: the head
 * @throws TurnError `invalid-log`
 */
export async function readLogView(
  log: LogReader,
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
  log: LogReader,
  uid: string,
  options: { readonly to?: number } = {},
): Promise<void> {
  for await (const record of recordsOf(log, uid, { ...options, from: analyzer.lastSeq + 1 })) {
    analyzer.add(record);
  }
}

/** A whole log and what it says. @throws TurnError `invalid-log` */
export async function readWholeLog(
  log: LogReader,
  uid: string,
  keep: 'all' | 'latest',
): Promise<{ readonly records: readonly ChainedRecord[]; readonly view: LogView }> {
  const analyzer = new LogAnalyzer({ uid, keep });
  const records = await readRecords(log, uid);
  for (const record of records) analyzer.add(record);
  return { records, view: analyzer.view() };
}

/** All records of a log, in order. */
export async function readRecords(log: LogReader, uid: string): Promise<readonly ChainedRecord[]> {
  const records: ChainedRecord[] = [];
  for await (const record of recordsOf(log, uid)) records.push(record);
  return records;
}
