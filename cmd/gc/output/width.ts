import stringWidth from 'string-width';

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/;

/** Columns that `text` takes in a terminal. */
export function widthOf(text: string): number {
  return PRINTABLE_ASCII.test(text) ? text.length : stringWidth(text);
}

/** `text` filled with blanks to at least `columns`. */
export function padTo(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)));
}

/** `text` cut to at most `columns`, the cut marked with `mark`. `text` carries no colour. */
export function cutTo(text: string, columns: number, mark = '…'): string {
  if (widthOf(text) <= columns) return text;
  const room = columns - widthOf(mark);
  if (room < 0) return '';
  let kept = '';
  let used = 0;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    const next = widthOf(segment);
    if (used + next > room) break;
    kept += segment;
    used += next;
  }
  return kept.trimEnd() + mark;
}

/** Words wrapped to `columns`, further lines behind `indent`. */
export function wrapText(text: string, columns: number, indent = ''): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/\s+/)) {
    const candidate = line === '' ? word : `${line} ${word}`;
    if (line !== '' && widthOf(candidate) > columns) {
      lines.push(line);
      line = indent + word;
    } else line = candidate;
  }
  lines.push(line);
  return lines.join('\n');
}
