import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { incompleteTail, pieces } from './vt-boundary.ts';

const tailOf = (text: string | Buffer): number => incompleteTail(Buffer.from(text));

describe('incompleteTail', () => {
  it.each([
    ['', 0],
    ['plain', 0],
    ['x\x1b', 1],
    ['x\x1b[', 2],
    ['x\x1b[38;5', 6],
    ['x\x1b[38;5m', 0],
    ['\x1b[?1049h', 0],
    ['\x1b(', 2],
    ['\x1b(B', 0],
    ['\x1bM', 0],
    ['\x1b]2;title', 9],
    ['\x1b]2;title\x07', 0],
    ['\x1b]2;title\x1b', 1],
    ['\x1b]2;title\x1b\\', 0],
    ['\x1bPq#0', 5],
    ['\x1b[12\x18', 0],
  ])('of %j is %i', (text, held) => {
    expect(tailOf(text)).toBe(held);
  });

  it('waits for the rest of a character', () => {
    const bytes = Buffer.from('aé€😀');
    expect(tailOf(bytes)).toBe(0);
    for (const missing of [1, 2, 3]) expect(tailOf(bytes.subarray(0, -missing))).toBe(4 - missing);
    expect(tailOf(Buffer.from('€').subarray(0, 2))).toBe(2);
    expect(tailOf(Buffer.from([0x80, 0x80, 0x80, 0x80, 0x80]))).toBe(0);
  });

  it('does not wait for a sequence without end', () => {
    expect(tailOf(`\x1b]52;c;${'A'.repeat(10_000)}`)).toBe(0);
  });
});

describe('pieces', () => {
  const text = fc
    .array(
      fc.oneof(fc.constantFrom('\n', '\x1b[31m', '\x1b]0;t\x07', '\r\n', '€', '\x1b[', '😀'), fc.string()),
      { maxLength: 60 },
    )
    .map((parts) => Buffer.from(parts.join('')));

  it('lose nothing and hold no more lines and bytes than allowed', () => {
    fc.assert(
      fc.property(
        text,
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: 1, max: 5 }),
        (bytes, most, lines) => {
          const found = [...pieces(bytes, most, lines)];
          expect(Buffer.concat(found)).toEqual(bytes);
          for (const piece of found) {
            expect(piece.length).toBeGreaterThan(0);
            expect(piece.length).toBeLessThanOrEqual(most);
            expect(piece.toString('latin1').split('\n').length - 1).toBeLessThanOrEqual(lines);
          }
        },
      ),
    );
  });

  it('are not cut inside a sequence', () => {
    const found = [...pieces(Buffer.from('12345678\x1b[31mred'), 10, 99)].map(String);
    expect(found).toEqual(['12345678', '\x1b[31mred']);
  });
});
