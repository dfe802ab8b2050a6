import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { onePlainLine, plainText } from './plain.ts';
import { renderTable } from './table.ts';
import { age, shortPath, until } from './times.ts';
import { cutTo, padTo, widthOf, wrapText } from './width.ts';
import { shellWord } from './words.ts';

describe('width', () => {
  it('counts columns, not characters', () => {
    expect(widthOf('abc')).toBe(3);
    expect(widthOf('市长')).toBe(4);
    expect(widthOf('é')).toBe(1);
    expect(widthOf('👩‍💻')).toBe(2);
    expect(widthOf('\x1b[31mred\x1b[0m')).toBe(3);
  });

  it('cuts and pads to exact columns', () => {
    expect(cutTo('hello world', 8)).toBe('hello w…');
    expect(cutTo('市长市长', 6)).toBe('市长…');
    expect(cutTo('abc', 3)).toBe('abc');
    expect(cutTo('abc', 0)).toBe('');
    expect(padTo('市', 4)).toBe('市  ');
  });

  it('is never exceeded, whatever the text', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 40 }),
        fc.integer({ min: 0, max: 30 }),
        (text, columns) => {
          expect(widthOf(cutTo(onePlainLine(text), columns))).toBeLessThanOrEqual(columns);
        },
      ),
    );
  });

  it('wraps at words', () => {
    expect(wrapText('one two three four', 9)).toBe('one two\nthree\nfour');
    expect(wrapText('one two three', 9, '  ')).toBe('one two\n  three');
  });
});

describe('text of agents', () => {
  it('loses everything that a terminal acts on', () => {
    expect(onePlainLine(' a\x1b]0;title\x07b\r\n\tc\x9b2J ')).toBe('ab c');
    expect(plainText('a\x1b[2Jb\r\nc\td\x07')).toBe('ab\nc\td');
  });
});

describe('tables', () => {
  it('align columns of wide text and leave no blanks at line ends', () => {
    expect(
      renderTable(
        ['A', 'B'],
        [
          ['市长', 'x'],
          ['a', ''],
        ],
      ),
    ).toBe('A     B\n市长  x\na\n');
  });

  it('shrink the columns that may shrink', () => {
    const text = renderTable(['NAME', 'TEXT'], [['abc', 'x'.repeat(50)]], { maxColumns: 30, shrinks: [1] });
    expect(text.split('\n')[1]).toBe(`abc   ${'x'.repeat(23)}…`);
  });
});

describe('times and paths', () => {
  it('are short', () => {
    expect([0, 41_000, 12 * 60_000, 3 * 3_600_000, 49 * 3_600_000].map(age)).toEqual([
      '0s',
      '41s',
      '12m',
      '3h',
      '2d',
    ]);
    expect(until('2030-05-01T12:00:08Z', Date.parse('2030-05-01T12:00:00.400Z'))).toBe('8s');
    expect(until('2030-05-01T12:00:00Z', Date.parse('2030-05-01T12:00:01Z'))).toBe('now');
    expect(shortPath('/home/u/x', '/home/u')).toBe('~/x');
    expect(shortPath('/home/user2/x', '/home/u')).toBe('/home/user2/x');
  });
});

describe('words for a shell', () => {
  it('are quoted only when they have to be', () => {
    expect(shellWord('proj/worker-1')).toBe('proj/worker-1');
    expect(shellWord("it's")).toBe("'it'\\''s'");
  });
});
