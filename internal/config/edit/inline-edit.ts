import type { Span } from '../document/source-document.ts';
import { eolOf, indentAt, lineEnd, lineStart, nextLine } from './lines.ts';

/** What stands between one pair of brackets: `[a, b]` or `{ a = 1, b = 2 }`, elements or whole entries. */
export interface Inline {
  readonly text: string;
  /** With the brackets. */
  readonly span: Span;
  readonly elements: readonly Span[];
}

const splice = (text: string, { start, end }: Span, by: string): string =>
  text.slice(0, start) + by + text.slice(end);

/** Ways to add an element at the end, the best first. */
export function inlineAppend({ text, span, elements }: Inline, element: string): readonly string[] {
  const last = elements.at(-1);
  if (!last) return [splice(text, { start: span.start + 1, end: span.start + 1 }, element)];
  const plain = splice(text, { start: last.end, end: last.end }, `, ${element}`);
  if (!isAlone(text, last.start)) return [plain];
  const end = lineEnd(text, last.end);
  const line = `${eolOf(text)}${indentAt(text, last.start)}${element}`;
  const hasComma = /^[ \t]*,[ \t]*(#.*)?$/.test(text.slice(last.end, end));
  if (hasComma) return [splice(text, { start: end, end }, `${line},`), plain];
  const isBare = /^[ \t]*(#.*)?$/.test(text.slice(last.end, end));
  if (!isBare) return [plain];
  return [`${text.slice(0, last.end)},${text.slice(last.end, end)}${line}${text.slice(end)}`, plain];
}

/** Ways to take an element out, the best first. */
export function inlineRemove({ text, elements }: Inline, index: number): readonly string[] {
  const element = elements[index];
  if (!element) return [];
  const previous = elements[index - 1];
  const next = elements[index + 1];
  const found: string[] = [];
  if (isAlone(text, element.start)) found.push(...withoutLine(text, element, previous, next));
  if (next) found.push(splice(text, { start: element.start, end: next.start }, ''));
  else if (previous && /^\s*,\s*$/.test(text.slice(previous.end, element.start)))
    found.push(splice(text, { start: previous.end, end: element.end }, ''));
  found.push(splice(text, element, ''));
  const comma = /^\s*,/.exec(text.slice(element.end))?.[0].length ?? 0;
  found.push(splice(text, { start: element.start, end: element.end + comma }, ''));
  return found;
}

function withoutLine(
  text: string,
  element: Span,
  previous: Span | undefined,
  next: Span | undefined,
): readonly string[] {
  const end = lineEnd(text, element.end);
  const rest = text.slice(element.end, end);
  const after = nextLine(text, end);
  if (after === undefined || !/^[ \t]*,?[ \t]*(#.*)?$/.test(rest)) return [];
  const line = { start: lineStart(text, element.start), end: after };
  const without = splice(text, line, '');
  if (rest.includes(',') || next || !previous) return [without];
  // The last one had no comma behind it: then the new last one shall have none either.
  const comma = text.indexOf(',', previous.end);
  return [without.slice(0, comma) + without.slice(comma + 1), without];
}

/** Nothing stands before it on its line. */
function isAlone(text: string, offset: number): boolean {
  return offset > 0 && /^[ \t]*$/.test(text.slice(lineStart(text, offset), offset));
}
