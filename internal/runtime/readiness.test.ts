import { describe, expect, it } from 'vitest';
import { findComposer, matchesPromptPrefix } from './composer.ts';
import { profileKindOf, profileOf, submitGapMs } from './profiles.ts';
import { activityOf, countIdle, isSettled, knowsComposer, NOT_IDLE } from './readiness.ts';
import { type Look, lookAt, lookAtText } from './screen.ts';

const generic = profileOf('');
const activity = (text: string, prefix = '> ') => activityOf(lookAtText(text), generic, prefix);

describe('matchesPromptPrefix', () => {
  it.each([
    ['❯', '❯ ', true],
    ['❯ x', '❯ ', true],
    ['❯\u00a0', '❯ ', true],
    ['❯\u00a0x', '❯ ', true],
    ['   ❯ x', '❯ ', true],
    ['❯ x', '❯\u00a0', true],
    ['> hi', '> ', true],
    ['>hi', '> ', false],
    ['say > hi', '> ', false],
    ['❯ 1. Yes', '❯ ', false],
    ['anything', '', false],
    ['anything', '  ', false],
  ])('%j with %j: %s', (line, prefix, expected) => {
    expect(matchesPromptPrefix(line, prefix)).toBe(expected);
  });
});

describe('findComposer by prefix', () => {
  const at = (lines: readonly string[], cursor?: { row: number; column: number }): Look =>
    lookAt({ lines, visibleRows: lines.length, cursor, bracketedPaste: undefined });

  it('is empty at a bare prompt, with or without footer rows', () => {
    expect(findComposer(at(['hello', '> ']), generic, '> ')?.empty).toBe('yes');
    expect(findComposer(at(['> ', '', 'status', '']), generic, '>')?.empty).toBe('yes');
  });

  it('holds a draft where the cursor stands', () => {
    expect(findComposer(at(['> draft'], { row: 0, column: 7 }), generic, '> ')).toMatchObject({
      text: 'draft',
      empty: 'no',
    });
    expect(findComposer(at(['> draft']), generic, '> ')).toMatchObject({ empty: 'no' });
    expect(findComposer(at(['> hint'], { row: 0, column: 2 }), generic, '> ')).toMatchObject({
      empty: 'unknown',
    });
  });

  it('takes a submitted line for history', () => {
    expect(findComposer(at(['> sent', 'working']), generic, '> ')).toBeUndefined();
    expect(findComposer(at(['> sent'], { row: 1, column: 0 }), generic, '> ')).toBeUndefined();
  });

  it('ignores quotations in the scrolled-away part', () => {
    const look = lookAt({
      lines: ['> ', 'a', 'b'],
      visibleRows: 2,
      cursor: undefined,
      bracketedPaste: undefined,
    });
    expect(findComposer(look, generic, '> ')).toBeUndefined();
  });
});

describe('activityOf', () => {
  it('is busy without a prompt, idle with one', () => {
    expect(activity('working').kind).toBe('busy');
    expect(activity('done\n> ').kind).toBe('idle');
    expect(activity('anything', '').kind).toBe('idle');
  });

  it.each([
    ['Thinking (3s, esc to interrupt)\n> ', 'busy'],
    ['⠏ Thinking... (esc to cancel, 3s)\n> ', 'busy'],
    ['Press Esc or Ctrl+C to cancel\n> ', 'busy'],
    ['[current working directory /x]\n> ', 'busy'],
    ['> \n  accept edits · esc to interrupt · more', 'busy'],
    ['> \n  esc to interrupt', 'busy'],
  ])('%j: %s', (text, kind) => {
    expect(activity(text).kind).toBe(kind);
  });

  it('TMX-24 does not take a banner or the conversation for work', () => {
    const banner = 'News: press esc to interrupt a turn at any time, it is safe\n> ';
    expect(activity(banner).kind).toBe('idle');
    const far = `Thinking (esc to interrupt)\n${Array.from({ length: 15 }, (_, i) => `line ${i}`).join('\n')}\n> `;
    expect(activity(far).kind).toBe('idle');
    expect(activity('✻ Baked for 3s\n> ').kind).toBe('idle');
  });

  it('an open choice is neither busy nor idle', () => {
    expect(activity('Which one?\n❯ 1. Red\n  2. Blue')).toEqual({ kind: 'asking', what: 'Which one?' });
  });
});

describe('idle counting', () => {
  const step = (texts: readonly string[]) =>
    texts.reduce((counter, text) => countIdle(counter, lookAtText(text), activity(text)), NOT_IDLE);

  it('needs two looks with the same conversation', () => {
    expect(isSettled(step(['a\n> ']), true)).toBe(false);
    expect(isSettled(step(['a\n> ', 'a\n> ']), true)).toBe(true);
    expect(isSettled(step(['a\n> ', 'a\nb\n> ']), true)).toBe(false);
    expect(isSettled(step(['a\n> ', 'working', 'a\n> ']), true)).toBe(false);
    expect(isSettled(step(['a\n> ', 'a\n> ']), false)).toBe(false);
  });

  it('does not restart when only the input box changes', () => {
    expect(isSettled(step(['a\n> ', 'a\n> x']), true)).toBe(true);
  });

  it('knows when there is nothing to recognise', () => {
    expect([
      knowsComposer(generic, ''),
      knowsComposer(generic, '> '),
      knowsComposer(profileOf('codex'), ''),
    ]).toEqual([false, true, true]);
  });
});

describe('profiles', () => {
  it('finds the kind by name, then by process', () => {
    expect(profileKindOf(' claude ', undefined)).toBe('claude');
    expect(profileKindOf('', ['sh', 'codex'])).toBe('codex');
    expect(profileKindOf('', ['sh'])).toBe('');
    expect(profileOf('unheard-of').kind).toBe('');
  });

  it('waits longest where only time tells typing from pasting', () => {
    const gap = (bracketedPaste: boolean | undefined, canonical = false) =>
      submitGapMs(generic, { bracketedPaste, canonical });
    expect(gap(false)).toBeGreaterThan(1_000);
    expect(gap(undefined)).toBeGreaterThan(1_000);
    expect(gap(true)).toBeLessThan(gap(false));
    expect(gap(false, true)).toBeLessThan(gap(true));
    expect(submitGapMs(profileOf('codex'), { bracketedPaste: false, canonical: false })).toBeGreaterThan(120);
  });
});
