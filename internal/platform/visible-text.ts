/** What a terminal acts on, or what changes how the rest of a line is read; a joiner of emoji is left alone. */
const UNSEEN = /(?![\n\t\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * The text with what cannot be seen in it written out (`\x1b`, `\u202e`). For what a person decides about: left out, it
 * would hide a part of a command.
 */
export function visibleText(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(UNSEEN, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100 ? `\\x${hex(code, 2)}` : `\\u${code > 0xffff ? `{${hex(code, 0)}}` : hex(code, 4)}`;
  });
}

const hex = (code: number, digits: number): string => code.toString(16).padStart(digits, '0');
