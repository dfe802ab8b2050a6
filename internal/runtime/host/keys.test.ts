import { describe, expect, it } from 'vitest';
import { keyBytes } from './keys.ts';

describe('keyBytes', () => {
  it.each([
    ['Enter', '\r'],
    ['Escape', '\x1b'],
    ['Tab', '\t'],
    ['BTab', '\x1b[Z'],
    ['S-Tab', '\x1b[Z'],
    ['BSpace', '\x7f'],
    ['Space', ' '],
    ['Up', '\x1b[A'],
    ['Left', '\x1b[D'],
    ['Home', '\x1b[H'],
    ['End', '\x1b[F'],
    ['C-Up', '\x1b[1;5A'],
    ['S-Right', '\x1b[1;2C'],
    ['C-M-S-Left', '\x1b[1;8D'],
    ['PageUp', '\x1b[5~'],
    ['NPage', '\x1b[6~'],
    ['DC', '\x1b[3~'],
    ['S-DC', '\x1b[3;2~'],
    ['F1', '\x1bOP'],
    ['F5', '\x1b[15~'],
    ['F12', '\x1b[24~'],
    ['C-c', '\x03'],
    ['C-C', '\x03'],
    ['C-u', '\x15'],
    ['C-[', '\x1b'],
    ['C-Space', '\0'],
    ['C-@', '\0'],
    ['C-?', '\x7f'],
    ['M-x', '\x1bx'],
    ['M-Enter', '\x1b\r'],
    ['C-M-c', '\x1b\x03'],
    ['a', 'a'],
    ['1', '1'],
    ['é', 'é'],
    ['C-', 'C-'],
    ['-', '-'],
    ['hello', 'hello'],
    ['constructor', 'constructor'],
  ])('%s', (key, bytes) => {
    expect(keyBytes(key, false)).toBe(bytes);
  });

  it('knows application cursor keys', () => {
    expect(keyBytes('Up', true)).toBe('\x1bOA');
    expect(keyBytes('Home', true)).toBe('\x1bOH');
    expect(keyBytes('C-Up', true)).toBe('\x1b[1;5A');
  });
});
