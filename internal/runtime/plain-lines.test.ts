import { expect, it } from 'vitest';
import { plainLines } from './plain-lines.ts';

it('shows what a person would see of raw output', () => {
  const raw =
    '\x1b]0;title\x07one\r\n\x1b[?2004h\r\x1b[2Kdraft\r\x1b[2KREADY> \ncaf\u00e9 \x1b[31mred\x1b[0m';
  expect(plainLines(raw)).toEqual(['one', 'READY>', 'caf\u00e9 red']);
});
