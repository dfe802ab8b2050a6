/** Cursor keys and such: the final letter, or the number before `~`. Source: xterm's key sequences, tmux's key names. */
const LETTER_KEYS: Readonly<Record<string, string>> = {
  Up: 'A',
  Down: 'B',
  Right: 'C',
  Left: 'D',
  End: 'F',
  Home: 'H',
  F1: 'P',
  F2: 'Q',
  F3: 'R',
  F4: 'S',
};
const NUMBER_KEYS: Readonly<Record<string, number>> = {
  IC: 2,
  Insert: 2,
  DC: 3,
  Delete: 3,
  PageUp: 5,
  PgUp: 5,
  PPage: 5,
  PageDown: 6,
  PgDn: 6,
  NPage: 6,
  F5: 15,
  F6: 17,
  F7: 18,
  F8: 19,
  F9: 20,
  F10: 21,
  F11: 23,
  F12: 24,
};
const PLAIN_KEYS: Readonly<Record<string, string>> = {
  Enter: '\r',
  KPEnter: '\r',
  Escape: '\x1b',
  Tab: '\t',
  Space: ' ',
  BSpace: '\x7f',
};
const FUNCTION_LETTERS = new Set(['P', 'Q', 'R', 'S']);

interface Modifiers {
  readonly control: boolean;
  readonly meta: boolean;
  readonly shift: boolean;
}

/**
 * The bytes of a key in tmux's spelling (`Enter`, `C-c`, `M-x`, `S-Up`, `F5`). What is no key name is typed as it is,
 * as tmux does.
 */
export function keyBytes(key: string, applicationCursorKeys: boolean): string {
  const prefix = /^(?:[CMS]-)+/.exec(key)?.[0] ?? '';
  const base = key.slice(prefix.length);
  if (base === '') return key;
  const held: Modifiers = {
    control: prefix.includes('C'),
    meta: prefix.includes('M'),
    shift: prefix.includes('S'),
  };
  if (base === 'BTab' || (base === 'Tab' && held.shift)) return withMeta('\x1b[Z', held);
  const letter = Object.hasOwn(LETTER_KEYS, base) ? LETTER_KEYS[base] : undefined;
  if (letter) return letterKey(letter, held, applicationCursorKeys);
  const number = Object.hasOwn(NUMBER_KEYS, base) ? NUMBER_KEYS[base] : undefined;
  if (number) return `\x1b[${number}${modifierCode(held) > 1 ? `;${modifierCode(held)}` : ''}~`;
  const plain = Object.hasOwn(PLAIN_KEYS, base) ? PLAIN_KEYS[base] : undefined;
  if (plain !== undefined) return withMeta(held.control && base === 'Space' ? '\0' : plain, held);
  if ([...base].length !== 1) return key;
  return withMeta(held.control ? controlCharacter(base) : base, held);
}

function letterKey(letter: string, held: Modifiers, applicationCursorKeys: boolean): string {
  const code = modifierCode(held);
  if (code > 1) return `\x1b[1;${code}${letter}`;
  return FUNCTION_LETTERS.has(letter) || applicationCursorKeys ? `\x1bO${letter}` : `\x1b[${letter}`;
}

const modifierCode = (held: Modifiers): number =>
  1 + (held.shift ? 1 : 0) + (held.meta ? 2 : 0) + (held.control ? 4 : 0);

const withMeta = (bytes: string, held: Modifiers): string => (held.meta ? `\x1b${bytes}` : bytes);

function controlCharacter(character: string): string {
  if (character === '?') return '\x7f';
  const code = character.toUpperCase().charCodeAt(0);
  return code >= 0x40 && code <= 0x5f ? String.fromCharCode(code & 0x1f) : character;
}
