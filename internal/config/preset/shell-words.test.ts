import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { joinWords, quoteWord, splitWords } from './shell-words.ts';

describe('shell words', () => {
  it('quote only what needs it', () => {
    expect(joinWords(['claude', '--x', 'a b', "it's", '', '{"*":"allow"}', 'k=v', '/p/a.b', '~x'])).toBe(
      `claude --x 'a b' 'it'\\''s' '' '{"*":"allow"}' k=v /p/a.b '~x'`,
    );
    expect(quoteWord("a'b")).toBe(`'a'\\''b'`);
  });

  it('split like a shell', () => {
    expect(splitWords(`a  'b c' "d \\"e\\" \\x" f\\ g h''i ""`)).toEqual([
      'a',
      'b c',
      'd "e" \\x',
      'f g',
      'hi',
      '',
    ]);
    expect(splitWords("a 'open b")).toEqual(['a', 'open b']);
    expect(splitWords('  ')).toEqual([]);
  });

  it('come back from joining and splitting', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), (words) => {
        expect(splitWords(joinWords(words))).toEqual(words);
      }),
    );
  });

  it('mean the same to a real sh', () => {
    const word = fc.string({ unit: 'binary-ascii', maxLength: 12 }).filter((text) => !text.includes('\0'));
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 5 }), (words) => {
        const out = execFileSync('sh', ['-c', `printf '%s\\0' ${joinWords(words)}`], { encoding: 'utf8' });
        expect(out.split('\0').slice(0, -1)).toEqual(words);
      }),
      { numRuns: 60 },
    );
  });
});
