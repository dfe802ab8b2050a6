import type { ChainedRecord } from '../../../protocol/hash-chain.ts';
import { type AnalyzeOptions, LogAnalyzer, type LogView } from '../log-view.ts';

/** @throws TurnError `invalid-log` */
export function analyzeLog(records: Iterable<ChainedRecord>, options: AnalyzeOptions): LogView {
  const analyzer = new LogAnalyzer(options);
  for (const record of records) analyzer.add(record);
  return analyzer.view();
}
