import { plan } from '../internal/controller/reconciler.ts';
import {
  aDesired,
  anInput,
  aRunningRecord,
  aSurveyOf,
  LIVED,
  NOW,
} from '../internal/controller/testing/plan.fixtures.ts';
import { median, ms, type Row } from './row.ts';

const ROUNDS = 41;
const BARS: readonly (readonly [number, number])[] = [
  [100, 2],
  [1_000, 20],
];

/** The pure decision over a city in which all is well, and linearity between its sizes. */
export function decisionRows(): readonly Row[] {
  const times = BARS.map(([count]) => timed(count));
  const ratio = (times[1] ?? 0) / (times[0] ?? 1);
  return BARS.map(([count, bar], index) => ({
    what: `pure decision, ${count} sessions`,
    bar: `${bar} ms${index === 1 ? ', linear' : ''}`,
    measured: `${ms(times[index] ?? Number.NaN)}${index === 1 ? ` (${ratio.toFixed(1)} x of 100)` : ''}`,
    floor: 'a loop in this process',
    met: (times[index] ?? Number.POSITIVE_INFINITY) <= bar && (index === 0 || ratio <= 20),
  }));
}

function timed(count: number): number {
  const names = Array.from({ length: count }, (_, i) => `s${i}`);
  const input = anInput({
    now: NOW,
    lived: LIVED,
    desired: new Map(names.map((n) => [n, aDesired(n)])),
    templates: new Set(names),
    records: names.map((n) => aRunningRecord(n)),
    survey: aSurveyOf(names),
  });
  const took: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const started = performance.now();
    const made = plan(input);
    took.push(performance.now() - started);
    if (made.actions.length > 0 || made.changes.length > 0)
      throw new Error('an unchanged city was to be changed');
  }
  return median(took);
}
