/** Text of an agent as it may go to a terminal: no escape sequences, no other control characters than tab and newline. */
export function plainText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(
      /\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[[(][0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]/g,
      '',
    );
}

/** One line of at most so many characters. */
export function oneLine(text: string, limit: number): string {
  const line = plainText(text).replace(/\s+/g, ' ').trim();
  return cut(line, limit);
}

/** Marks what was left out. Never half of a character. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = isHighSurrogate(text.charCodeAt(limit - 2)) ? limit - 2 : limit - 1;
  return `${text.slice(0, end)}…`;
}

const isHighSurrogate = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;
