import { describe, expect, it } from 'vitest';
import type { LogEntry } from '../../../internal/controller/city-api.ts';
import { notPrinted } from './session-logs.ts';

const entries = (texts: string): readonly LogEntry[] =>
  [...texts].map((text) => ({ at: '2026-01-01T00:00:00Z', type: 'user', text }));

describe('of a conversation that is followed', () => {
  it.each([
    ['that goes on', 'abc', 'abcde', 'de'],
    ['without news', 'abc', 'abc', ''],
    ['that was compacted', 'abc', 'xd', 'xd'],
    ['that was written anew in the same length', 'abc', 'abx', 'x'],
    ['whose last entry was written again', 'abc', 'abCd', 'Cd'],
    ['that was taken back', 'abc', 'a', ''],
    ['that was empty', '', 'a', 'a'],
  ])('%s what is new is printed', (_, printed, now, shown) => {
    const found = notPrinted(entries(printed), entries(now));
    expect(found.map(({ text }) => text).join('')).toBe(shown);
  });
});
