import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { catchUp, SeenOutput } from './catch-up.ts';

const none = Buffer.alloc(0);
const of = (text: string) => Buffer.from(text);
const replayed = (seen: string, log: string, live = '', cut = false) => {
  const { kind, replay } = catchUp(of(seen), of(log), cut, of(live));
  return `${kind}: ${replay}`;
};

describe('what a screen is brought up to date with', () => {
  it('a new screen gets the log', () => {
    expect(replayed('', 'one\ntwo\n')).toBe('continue: one\ntwo\n');
  });

  it('a screen goes on where it broke off', () => {
    expect(replayed('one\ntwo\n', 'one\ntwo\nthree\n')).toBe('continue: three\n');
    expect(replayed('one\ntwo\n', 'one\ntwo\n')).toBe('continue: ');
  });

  it('an unfinished line that the log does not have yet stays on the screen', () => {
    expect(replayed('hello\r\ndemo> ', 'hello\r\n')).toBe('continue: ');
    expect(replayed('hello\r\ndemo> ', 'hello\r\ndemo> ls\r\na b\r\n')).toBe('continue: ls\r\na b\r\n');
    expect(replayed('demo> ', '')).toBe('continue: ');
  });

  it('what cannot be found in the log begins anew', () => {
    expect(replayed('one\n', 'other\n')).toBe('rebuild: \x1b[3J\x1bcother\n');
    expect(replayed('one\nhalf', 'one\nother\n')).toBe('rebuild: \x1b[3J\x1bcone\nother\n');
  });

  it('what the new connection tells as well is shown once', () => {
    expect(replayed('', 'one\ntwo\n', 'two\nthree\n')).toBe('continue: one\n');
    expect(replayed('one\n', 'one\ntwo\nthr', 'three')).toBe('continue: two\n');
    expect(replayed('one\n', 'one\n', 'new\n')).toBe('continue: ');
  });

  it('a log that was cut begins at a line, or at a sequence', () => {
    expect(replayed('', 'half line\nwhole\n', '', true)).toBe('continue: whole\n');
    expect(replayed('', '3;1Hx\x1b[2Jscreen', '', true)).toBe('continue: \x1b[2Jscreen');
  });

  it('shows everything exactly once, wherever the connection broke and came back', () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '>'), maxLength: 40 });
    fc.assert(
      fc.property(text, fc.nat(40), fc.nat(40), fc.nat(40), (middle, x, y, z) => {
        // Marked lines, so that nothing is found in two places.
        const whole = [...middle].map((c, i) => (c === '\n' ? `<${i}>\n` : c)).join('');
        const [a = 0, b = 0, c = 0] = [x, y, z].map((n) => n % (whole.length + 1)).sort((p, q) => p - q);
        // Seen up to a; attached again at b; the log read at c.
        const seen = whole.slice(0, a);
        const live = whole.slice(b);
        const log = whole.slice(0, c);
        const { kind, replay } = catchUp(of(seen), of(log), false, of(live.slice(0, c - b)));
        const shown = kind === 'continue' ? seen + replay : String(replay).replace('\x1b[3J\x1bc', '');
        expect(shown + live).toBe(whole);
      }),
      { numRuns: 300 },
    );
  });
});

describe('the end of what was seen', () => {
  it('is kept within its bound, whatever came in which pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 12 }), { maxLength: 600 }), (pieces) => {
        const seen = new SeenOutput(64);
        for (const piece of pieces) seen.add(of(piece));
        expect(seen.end()).toEqual(Buffer.from(of(pieces.join('')).subarray(-64)));
      }),
      { numRuns: 50 },
    );
    expect(new SeenOutput(8).end()).toEqual(none);
  });
});
