import { type Clock, systemClock } from '../../internal/platform/clock.ts';
import type { ProviderCase, ProviderSubject } from './case.ts';
import { type CaseResult, runCase } from './trial.ts';

export interface CaseReport {
  readonly test: ProviderCase;
  readonly result: CaseResult;
  /** How long it took, milliseconds. */
  readonly ms: number;
}

export interface RunOptions {
  /** Cases at the same time: they know nothing of each other. Default 1. */
  readonly atOnce?: number;
  /** Bounds each wait of a case, milliseconds. */
  readonly patienceMs?: number;
  readonly clock?: Clock;
  /** No case begins after it aborted. */
  readonly signal?: AbortSignal;
  /** Has the last word about each case. */
  readonly judge?: (report: CaseReport) => CaseReport;
  /** Told in the order of the cases, each as soon as those before it are done. */
  readonly onReport?: (report: CaseReport) => void;
}

/** Runs the cases against one subject; the reports are in the order of the cases. */
export async function runSuite(
  cases: readonly ProviderCase[],
  subject: ProviderSubject,
  options: RunOptions = {},
): Promise<readonly CaseReport[]> {
  const clock = options.clock ?? systemClock;
  const done = new Map<number, CaseReport>();
  const reports: CaseReport[] = [];
  let next = 0;
  const work = async () => {
    for (;;) {
      options.signal?.throwIfAborted();
      const at = next++;
      const test = cases[at];
      if (!test) return;
      const began = clock.monotonic();
      const result = await runCase(test, subject, options.patienceMs, options.signal);
      const found = { test, result, ms: Math.round(clock.monotonic() - began) };
      done.set(at, options.judge?.(found) ?? found);
      for (let report = done.get(reports.length); report; report = done.get(reports.length)) {
        reports.push(report);
        options.onReport?.(report);
      }
    }
  };
  // All of them come to their end, so that nothing runs on when one was told to stop.
  const ends = await Promise.allSettled(Array.from({ length: options.atOnce ?? 1 }, work));
  const broken = ends.find((end) => end.status === 'rejected');
  if (broken?.status === 'rejected') throw broken.reason;
  return reports;
}
