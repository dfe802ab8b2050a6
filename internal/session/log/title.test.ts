import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanName, NO_TITLE, titleFrom } from './title.ts';

describe('the title of a session', () => {
  it.each([
    ['Fix the parser\nand then its tests', 'Fix the parser'],
    ['\n\n  Fix the parser  \r\nrest', 'Fix the parser'],
    ['', NO_TITLE],
    [undefined, NO_TITLE],
    [' \n\t\n', NO_TITLE],
    ['x'.repeat(72), 'x'.repeat(72)],
    ['x'.repeat(73), `${'x'.repeat(72)}…`],
    ['a\u0007b', 'ab'],
  ])('of %j is %j', (question, title) => {
    expect(titleFrom(question)).toBe(title);
  });

  it('is cut between characters, never inside one', () => {
    const title = titleFrom('🙂'.repeat(100));
    expect([...title]).toEqual([...'🙂'.repeat(72), '…']);
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 200 }),
        (text) => Buffer.from(titleFrom(text)).toString() === titleFrom(text),
      ),
    );
  });
});

describe('a name', () => {
  it('loses what a terminal would act on and blanks around it', () => {
    expect(cleanName('  the \u001bparser\u007f\n ')).toBe('the parser');
    expect(cleanName(' \t ')).toBe('');
  });

  it('is refused when it is too long, and never cut', () => {
    expect(cleanName('é'.repeat(120))).toBe('é'.repeat(120));
    expect(() => cleanName('é'.repeat(121))).toThrow(expect.objectContaining({ code: 'invalid-name' }));
  });
});
