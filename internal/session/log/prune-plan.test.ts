import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_BUDGET, type PruneCandidate, prunePlan } from './prune-plan.ts';

const NOW = Date.UTC(2026, 5, 1);
const DAY = 86_400_000;
const log = (uid: string, days: number, more: Partial<PruneCandidate> = {}): PruneCandidate => ({
  uid,
  lastActivityAt: NOW - days * DAY,
  bytes: 100,
  ...more,
});
const many = (count: number, days: number) => Array.from({ length: count }, (_, n) => log(`n${n}`, days + n));
const none = new Set<string>();
const NO_FLOOR = { maxAgeMs: 30 * DAY, maxBytes: 0, keep: 0 };

describe('what is pruned', () => {
  it('is nothing without limits', () => {
    expect(prunePlan(many(50, 400), { maxAgeMs: 0, maxBytes: 0, keep: 0 }, none, NOW)).toEqual([]);
  });

  it('is never one of the ten newest, however old or large', () => {
    const huge = many(10, 400).map((each) => ({ ...each, bytes: 2 ** 40 }));
    expect(prunePlan(huge, DEFAULT_BUDGET, none, NOW)).toEqual([]);
    expect(prunePlan([...huge, log('old', 999)], DEFAULT_BUDGET, none, NOW)).toEqual(['old']);
  });

  it('is what rested longer than the age, oldest first', () => {
    const logs = [log('a', 29), log('b', 31), log('c', 30), log('d', 90)];
    expect(prunePlan(logs, NO_FLOOR, none, NOW)).toEqual(['d', 'b']);
  });

  it('is then the oldest until the rest fits', () => {
    const logs = [log('a', 1), log('b', 2), log('c', 3), log('d', 40)];
    expect(prunePlan(logs, { maxAgeMs: 30 * DAY, maxBytes: 250, keep: 0 }, none, NOW)).toEqual(['d', 'c']);
    expect(prunePlan(logs, { maxAgeMs: 0, maxBytes: 300, keep: 0 }, none, NOW)).toEqual(['d']);
    expect(prunePlan(logs, { maxAgeMs: 0, maxBytes: 1, keep: 3 }, none, NOW)).toEqual(['d']);
  });

  it('is never a live one', () => {
    expect(prunePlan([log('a', 90), log('b', 80)], NO_FLOOR, new Set(['a']), NOW)).toEqual(['b']);
  });

  it('is never one that a kept log continues, also over several, until the last of them goes', () => {
    const chain = [log('a', 90), log('b', 80, { continues: 'a' }), log('c', 1, { continues: 'b' })];
    expect(prunePlan(chain, NO_FLOOR, none, NOW)).toEqual([]);
    expect(prunePlan([...chain.slice(0, 2), log('c', 70, { continues: 'b' })], NO_FLOOR, none, NOW)).toEqual([
      'c',
      'b',
      'a',
    ]);
  });

  it('never takes more than the limits ask for', () => {
    const candidate = fc.record({
      uid: fc.uuid(),
      lastActivityAt: fc.integer({ min: 0, max: NOW }),
      bytes: fc.nat(1_000),
    });
    const budget = fc.record({ maxAgeMs: fc.nat(90 * DAY), maxBytes: fc.nat(5_000), keep: fc.nat(5) });
    fc.assert(
      fc.property(fc.uniqueArray(candidate, { selector: (each) => each.uid }), budget, (logs, limits) => {
        const gone = new Set(prunePlan(logs, limits, none, NOW));
        const kept = logs.filter(({ uid }) => !gone.has(uid));
        const total = kept.reduce((sum, each) => sum + each.bytes, 0);
        const isOver = limits.maxBytes > 0 && total > limits.maxBytes;
        const hasOld =
          limits.maxAgeMs > 0 && kept.some((each) => NOW - each.lastActivityAt > limits.maxAgeMs);
        return (
          kept.length >= Math.min(logs.length, limits.keep) &&
          ((!isOver && !hasOld) || kept.length <= limits.keep)
        );
      }),
    );
  });
});
