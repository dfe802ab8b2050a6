import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byteSizeText, bytesText, parseBytes } from './bytes.ts';

describe('sizes', () => {
  it.each([
    ['2GB', 2 ** 31],
    ['1.5g', 1.5 * 2 ** 30],
    ['512MiB', 2 ** 29],
    ['4096', 4096],
    ['', undefined],
    ['lots', undefined],
    ['-1', undefined],
  ])('%j is %j', (text, bytes) => expect(parseBytes(text)).toBe(bytes));

  it.each([
    [0, '0 B'],
    [640 * 1024, '640 kB'],
    [38.4 * 2 ** 20, '38 MB'],
    [1.25 * 2 ** 30, '1.3 GB'],
    [2 ** 31, '2 GB'],
    [16 * 2 ** 30, '16 GB'],
  ])('%j is shown as %s', (bytes, text) => expect(bytesText(bytes)).toBe(text));

  it('what is written out is read back exactly', () => {
    fc.assert(fc.property(fc.maxSafeNat(), (bytes) => parseBytes(byteSizeText(bytes)) === bytes));
  });
});
