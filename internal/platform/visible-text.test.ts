import { describe, expect, it } from 'vitest';
import { visibleText } from './visible-text.ts';

describe('visible text', () => {
  it.each([
    ['git status', 'git status'],
    ['a\n\tb\r\nc', 'a\n\tb\nc'],
    ['ls \x1b]0;; rm -rf x\x07', 'ls \\x1b]0;; rm -rf x\\x07'],
    ['ls\rrm', 'ls\\x0drm'],
    ['a\x9b2Jb', 'a\\x9b2Jb'],
    ['a\u202eb\u200b\u2028c\u{e0041}', 'a\\u202eb\\u200b\\u2028c\\u{e0041}'],
    ['日本 👩‍👩‍👧 ä', '日本 👩‍👩‍👧 ä'],
  ])('of %j', (text, shown) => {
    expect(visibleText(text)).toBe(shown);
  });
});
