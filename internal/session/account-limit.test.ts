import { describe, expect, it } from 'vitest';
import { type AccountLimit, afterSeen, isHeld, isOver, overAt, readAccountLimit } from './account-limit.ts';

const NOW = 1_800_000_000_000;
const HOUR_MS = 3_600_000;
const seen = (until: number | undefined, at = NOW, session = 'a') => ({
  account: 'x',
  session,
  text: 'limit',
  until,
  at,
});
const limitUntil = (until: number | undefined, before?: AccountLimit, at?: number): AccountLimit =>
  afterSeen(before, seen(until, at)).limit;

describe('what is known of a limit', () => {
  it('lasts as long as was said, half an hour where nothing was, a day at most', () => {
    expect(limitUntil(NOW + HOUR_MS)).toMatchObject({ until: NOW + HOUR_MS, stated: true });
    expect(limitUntil(undefined)).toMatchObject({ until: NOW + HOUR_MS / 2, stated: false });
    expect(limitUntil(NOW + 90 * 24 * HOUR_MS).until).toBe(NOW + 24 * HOUR_MS);
  });

  it('is news once, and again when it is another one', () => {
    const first = afterSeen(undefined, seen(NOW + HOUR_MS));
    expect(first.isNews).toBe(true);
    expect(afterSeen(first.limit, seen(NOW + HOUR_MS + 60_000, NOW + 1_000, 'b')).isNews).toBe(false);
    expect(afterSeen(first.limit, seen(undefined, NOW + 1_000, 'b'))).toMatchObject({
      isNews: false,
      limit: { until: NOW + HOUR_MS, stated: true, session: 'a', seenAt: NOW + 1_000 },
    });
    expect(afterSeen(first.limit, seen(NOW + 5 * HOUR_MS, NOW + 1_000)).isNews).toBe(true);
    expect(afterSeen(first.limit, seen(NOW + 7 * HOUR_MS, NOW + 2 * HOUR_MS)).isNews).toBe(true);
  });
});

describe('whom a limit holds', () => {
  const limit = limitUntil(NOW + HOUR_MS);
  const trial = { ...limit, trial: { sessionName: 'a', at: NOW + 1_000 } };
  const nobody = () => undefined;

  it('is everybody until its time, but the one that a person lets try', () => {
    expect(isHeld(limit, 'a', NOW)).toBe(true);
    expect(isHeld(limit, 'a', overAt(limit))).toBe(false);
    expect([isHeld(trial, 'a', NOW), isHeld(trial, 'b', NOW)]).toEqual([false, true]);
    expect(isHeld(afterSeen(trial, seen(NOW + HOUR_MS, NOW + 2_000)).limit, 'a', NOW)).toBe(true);
  });

  it('is nobody any more when its time is over, or the trial works', () => {
    expect(isOver(limit, nobody, NOW)).toBe(false);
    expect(isOver(limit, nobody, overAt(limit))).toBe(true);
    const upSince = (at: number) => (name: string) => (name === 'a' ? at : undefined);
    expect(isOver(trial, upSince(NOW + 2_000), NOW + 31_000)).toBe(false);
    expect(isOver(trial, upSince(NOW + 2_000), NOW + 32_000)).toBe(true);
    // It ran before a person let it try: only the time since then proves anything.
    expect(isOver(trial, upSince(NOW - HOUR_MS), NOW + 2_000)).toBe(false);
    expect(isOver(trial, nobody, NOW + 60_000)).toBe(false);
  });
});

describe('a limit that was kept', () => {
  it('is read back, and anything else is none', () => {
    const limit = limitUntil(NOW + HOUR_MS);
    expect(readAccountLimit(JSON.stringify(limit))).toEqual(limit);
    for (const text of ['', '{', 'null', '[]', '{"account":"x"}', '{"account":1,"until":1,"seenAt":1}'])
      expect(readAccountLimit(text)).toBeUndefined();
  });
});
