import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { KeyFilter } from './key-filter.ts';

/** Everything that gets through, and whether the person left, when `text` arrives in the given pieces. */
function typed(pieces: readonly string[]): { text: string; detach: boolean } {
  const filter = new KeyFilter();
  let text = '';
  for (const piece of pieces) {
    const { pass, detach } = filter.push(Buffer.from(piece, 'latin1'));
    text += Buffer.from(pass).toString('latin1');
    if (detach) return { text, detach };
  }
  return { text: text + Buffer.from(filter.flush()).toString('latin1'), detach: false };
}

/** Cuts `text` at the given places. */
function cut(text: string, places: readonly number[]): readonly string[] {
  const at = [
    0,
    ...[...new Set(places.map((place) => place % (text.length + 1)))].sort((a, b) => a - b),
    text.length,
  ];
  return at.slice(1).map((end, index) => text.slice(at[index], end));
}

describe('the detach key', () => {
  const encodings: readonly (readonly [string, string])[] = [
    ['the byte', '\x11'],
    ['kitty', '\x1b[113;5u'],
    ['kitty with Caps Lock', '\x1b[113;69u'],
    ['kitty with Num Lock', '\x1b[113;133u'],
    ['kitty with both locks', '\x1b[113;197u'],
    ['kitty with its press event', '\x1b[113;5:1u'],
    ['kitty with its repeat event', '\x1b[113;5:2u'],
    ['kitty with alternate keys', '\x1b[113:81:113;5u'],
    ['kitty with text', '\x1b[113;5;17u'],
    ['modifyOtherKeys', '\x1b[27;5;113~'],
  ];

  it.each(encodings)('is known as %s', (_, key) => {
    expect(typed([`abc${key}rest`])).toEqual({ text: 'abc', detach: true });
  });

  it.each(encodings)('is known as %s when every byte comes alone', (_, key) => {
    expect(typed([...`x${key}y`])).toEqual({ text: 'x', detach: true });
  });

  it.each([
    ['Ctrl-Shift-Q', '\x1b[113;6u'],
    ['the release of Ctrl-Q', '\x1b[113;5:3u'],
    ['Ctrl-A', '\x1b[97;5u'],
    ['q', '\x1b[113u'],
    ['an arrow', '\x1b[A'],
    ['Ctrl and an arrow', '\x1b[1;5A'],
    ['a function key', '\x1bOP'],
    ['a mouse report', '\x1b[<0;11;5M'],
    ['Escape and a letter', '\x1bq'],
    ['a device answer', '\x1b[?62;4c'],
  ])('is not %s', (_, key) => {
    expect(typed([key])).toEqual({ text: key, detach: false });
    expect(typed([...key])).toEqual({ text: key, detach: false });
  });

  it('is seen after a lone Escape', () => {
    expect(typed(['\x1b', '\x11'])).toEqual({ text: '\x1b', detach: true });
    expect(typed(['\x1b\x1b[113;5u'])).toEqual({ text: '\x1b', detach: true });
  });

  it('is only text inside a bracketed paste', () => {
    const paste = '\x1b[200~a\x11b\x1b[113;5uc\x1b[201~';
    expect(typed([paste])).toEqual({ text: paste, detach: false });
    expect(typed([`${paste}\x11x`])).toEqual({ text: paste, detach: true });
  });

  it('holds a lone Escape back until it is flushed', () => {
    const filter = new KeyFilter();
    expect([...filter.push(Uint8Array.of(0x1b)).pass]).toEqual([]);
    expect(filter.holding).toBe(true);
    expect([...filter.flush()]).toEqual([0x1b]);
    expect(filter.holding).toBe(false);
  });

  it('lets through endless parameters instead of holding them', () => {
    const long = `\x1b[${'1;'.repeat(500)}`;
    expect(typed([long])).toEqual({ text: long, detach: false });
  });
});

describe('everything else', () => {
  const token = fc.constantFrom(
    'a',
    '\x1b',
    '[',
    '113',
    ';',
    '5',
    'u',
    '\x1b[',
    '\x1b[A',
    '~',
    '\x1b[200~',
    '\x1b[201~',
    'é',
  );

  it('passes unchanged, whatever the borders of the chunks', () => {
    fc.assert(
      fc.property(
        fc.array(token, { maxLength: 30 }),
        fc.array(fc.nat(), { maxLength: 10 }),
        (tokens, places) => {
          const text = Buffer.from(tokens.join('')).toString('latin1');
          const whole = typed([text]);
          expect(typed(cut(text, places))).toEqual(whole);
          if (!whole.detach) expect(whole.text).toBe(text);
          else expect(text.startsWith(whole.text)).toBe(true);
        },
      ),
    );
  });
});
