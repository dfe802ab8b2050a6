import { stripVTControlCharacters } from 'node:util';

/** Control characters that move nothing that is kept: all but tab, line feed and carriage return. */
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

/** Raw output of a program as the lines that a person would read: no control sequences, and nothing that was overwritten. */
export function plainLines(raw: string): readonly string[] {
  return stripVTControlCharacters(raw)
    .replace(CONTROLS, '')
    .split('\n')
    .map((line) => line.replace(/\r+$/, '').split('\r').at(-1)?.trimEnd() ?? '');
}
