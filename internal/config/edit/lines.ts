/** The parts of a text that edits of whole lines need. Offsets are UTF-16 units; a line's end is before its line break. */

export function eolOf(text: string): '\r\n' | '\n' {
  return text.includes('\r\n') ? '\r\n' : '\n';
}

export function lineStart(text: string, offset: number): number {
  return offset <= 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
}

export function lineEnd(text: string, offset: number): number {
  const newline = text.indexOf('\n', offset);
  if (newline === -1) return text.length;
  return newline > offset && text[newline - 1] === '\r' ? newline - 1 : newline;
}

/** The start of the line after, `undefined` on the last line. */
export function nextLine(text: string, offset: number): number | undefined {
  const newline = text.indexOf('\n', offset);
  return newline === -1 ? undefined : newline + 1;
}

export function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset), offset))?.[0] ?? '';
}

function lineAt(text: string, start: number): string {
  return text.slice(start, lineEnd(text, start));
}

const isBlank = (line: string): boolean => /^[ \t]*$/.test(line);
const isComment = (line: string): boolean => /^[ \t]*#/.test(line);
const indentOf = (line: string): number => /^[ \t]*/.exec(line)?.[0].length ?? 0;

/** The start of the comment lines that stand right above a line, its own start when there are none. */
export function withCommentsAbove(text: string, start: number): number {
  let at = start;
  while (at > 0) {
    const above = lineStart(text, at - 1);
    if (!isComment(lineAt(text, above))) break;
    at = above;
  }
  return at;
}

/**
 * The end of the comment lines right below a line when they close its block: a blank line or the end of the file
 * follows. Comments that stand right above something else, or further left than `minIndent`, are not taken.
 */
export function withCommentsBelow(text: string, end: number, minIndent: number): number {
  let at = end;
  for (;;) {
    const next = nextLine(text, at);
    if (next === undefined) return at;
    const line = lineAt(text, next);
    if (isBlank(line)) return at;
    if (!isComment(line)) return end;
    if (indentOf(line) < minIndent) return at;
    at = lineEnd(text, next);
  }
}

/** Puts lines behind the line that ends at `end`; with `end` 0 in a text without content they come first. */
export function insertLines(text: string, end: number, lines: readonly string[]): string {
  const eol = eolOf(text);
  if (end === 0 && text.trim() === '') return lines.join(eol) + eol + text;
  return text.slice(0, end) + lines.map((line) => eol + line).join('') + text.slice(end);
}

/** Whether something put behind this line would have to keep a distance: the line is a comment. */
export function isCommentLine(text: string, end: number): boolean {
  return isComment(lineAt(text, lineStart(text, end)));
}

export function hasBlankAbove(text: string, start: number): boolean {
  return start > 0 && isBlank(lineAt(text, lineStart(text, start - 1)));
}

/**
 * Takes out the lines from the one that starts at `start` to the one that ends at `end`, with the comments that
 * belong to them and one blank line above.
 */
export function removeLines(
  text: string,
  start: number,
  end: number,
  { minIndent = 0, withBlank = true }: { readonly minIndent?: number; readonly withBlank?: boolean } = {},
): string {
  let from = withCommentsAbove(text, start);
  const to = withCommentsBelow(text, end, minIndent);
  if (withBlank && hasBlankAbove(text, from)) from = lineStart(text, from - 1);
  const after = nextLine(text, to);
  if (after !== undefined) {
    if (from > 0) return text.slice(0, from) + text.slice(after);
    const gap = nextLine(text, after);
    const isGap = isBlank(lineAt(text, after)) && gap !== undefined && text.slice(gap).trim() !== '';
    return text.slice(isGap ? gap : after);
  }
  // The last line has no line break: the one before it goes instead.
  const before = text[from - 2] === '\r' ? from - 2 : Math.max(0, from - 1);
  return text.slice(0, before);
}
