import { describe, expect, it } from 'vitest';
import { claudeObserved } from './claude-observed.ts';
import { contextPercent, glanceOf, oneLine } from './conversation-glance.ts';
import type { PlacedEntry } from './observed.ts';
import * as claude from './testing/claude-lines.ts';

const placed = (lines: readonly unknown[]): readonly PlacedEntry[] =>
  lines.flatMap((line, offset) => {
    const { entries, at } = claudeObserved(line);
    return entries.map((entry) => ({ entry, at, offset }));
  });
const turnAfter = (...lines: readonly unknown[]) => glanceOf({ entries: placed(lines) }).turn;

describe('whose turn it is', () => {
  const asked = claude.prompt('u', 'go');
  it('follows what stands last', () => {
    expect(turnAfter()).toBe('unknown');
    expect(turnAfter(asked)).toBe('in-turn');
    expect(turnAfter(asked, claude.call('a', 'c', 'ls'))).toBe('in-turn');
    expect(turnAfter(asked, claude.call('a', 'c', 'ls'), claude.result('r', 'c', 'x'))).toBe('in-turn');
    expect(turnAfter(asked, claude.answer('a', 'so far', null))).toBe('in-turn');
    expect(turnAfter(asked, claude.answer('a', 'done'))).toBe('idle');
    expect(turnAfter(asked, claude.duration('d'))).toBe('idle');
    expect(turnAfter(asked, claude.interrupted('i'))).toBe('idle');
    expect(turnAfter(asked, claude.failure('f', 'API Error'))).toBe('idle');
    expect(turnAfter(claude.answer('a', 'done'), asked)).toBe('in-turn');
  });

  it('takes an answer as the end where the program says nothing more', () => {
    const entries: PlacedEntry[] = [
      { entry: { kind: 'answer', id: 'x', text: 'hi', ends: false }, at: 0, offset: 0 },
    ];
    expect(glanceOf({ entries }).turn).toBe('in-turn');
    expect(glanceOf({ entries, answersEnd: true }).turn).toBe('idle');
  });
});

describe('the end of a conversation', () => {
  it('tells the last message, the model and what the context takes', () => {
    const glance = glanceOf({
      entries: placed([claude.prompt('u', 'go'), claude.answer('a', 'City is up\nand idle.')]),
    });
    expect(glance).toMatchObject({
      lastMessage: 'City is up and idle.',
      model: 'claude-opus-4-8',
      contextTokens: 15,
      contextWindow: 200_000,
      failure: undefined,
    });
  });

  it('tells of a failure until something is said again', () => {
    const failed = [claude.answer('a', 'before'), claude.failure('f', "You've hit your limit")];
    expect(glanceOf({ entries: placed(failed) })).toMatchObject({
      lastMessage: 'before',
      failure: { text: "You've hit your limit" },
    });
    const again = [...failed, claude.prompt('u', 'go on')];
    expect(glanceOf({ entries: placed(again) }).failure).toBeUndefined();
  });

  it('counts no more than a full context', () => {
    expect(contextPercent({ contextTokens: 50_000, contextWindow: 200_000 })).toBe(25);
    expect(contextPercent({ contextTokens: 500_000, contextWindow: 200_000 })).toBe(100);
    expect(contextPercent({ contextTokens: 5, contextWindow: undefined })).toBeUndefined();
  });
});

describe('a text on one line', () => {
  it('moves no cursor, hides nothing and has an end', () => {
    expect(oneLine('a\u001b[31mb\u001b]0;title\u0007c\r\n\td\u202ee\u0000')).toBe('abc de');
    const long = oneLine('ü'.repeat(1_000));
    expect([...long]).toHaveLength(200);
    expect(long.endsWith('…')).toBe(true);
  });
});
