import {
  isMap,
  type MapLayout,
  type SourceDocument,
  type Span,
  type ValuePath,
  valueAt,
} from '../document/source-document.ts';
import { type Inline, inlineAppend, inlineRemove } from './inline-edit.ts';
import {
  hasBlankAbove,
  insertLines,
  isCommentLine,
  lineEnd,
  lineStart,
  removeLines,
  withCommentsAbove,
  withCommentsBelow,
} from './lines.ts';
import type { Candidates } from './toml-edit.ts';
import { type YamlStyle, yamlEntry, yamlFlow, yamlItem, yamlScalar } from './value-text.ts';

/** Adds `path.at(-1)` and what is missing above it. */
export function yamlInsert(document: SourceDocument, path: ValuePath, value: unknown): Candidates {
  let length = path.length - 1;
  while (length > 0 && !isWritten(document, path.slice(0, length))) length -= 1;
  const parent = path.slice(0, length);
  const [key = '', ...rest] = path.slice(length).map(String);
  const nested = rest.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  const { text } = document;
  const layout = document.layoutOf(parent);
  if (layout?.style === 'inline') {
    return inlineAppend(inlineMap(text, layout), `${yamlScalar(key, true)}: ${yamlFlow(nested)}`);
  }
  const style = styleOf(document);
  if (valueAt(document.data, parent) === null) return underNull(document, parent, key, nested, style);
  const first = layout?.entries[0];
  const last = layout?.entries.at(-1);
  if (!layout || !first || !last) return [];
  const column = columnOf(text, first.keySpan.start);
  const starts = layout.entries.map(({ keySpan }) => lineStart(text, keySpan.start));
  return insertedAfter(document, endOfEntry(document, parent, last), column, starts, (indent) =>
    yamlEntry(key, nested, indent, style),
  );
}

export function yamlAppend(
  document: SourceDocument,
  listPath: ValuePath,
  values: Readonly<Record<string, unknown>>,
): Candidates {
  const { text } = document;
  const list = valueAt(document.data, listPath);
  const span = document.spanOf(listPath, 'value');
  if (list === undefined) return yamlInsert(document, listPath, [values]);
  if (list === null) {
    const style = styleOf(document);
    const key = String(listPath.at(-1));
    const lines = yamlEntry(key, [values], keyIndent(document, listPath), style).slice(1);
    return [insertLines(text, lineEnd(text, span?.end ?? 0), lines)];
  }
  if (!Array.isArray(list) || !span) return [];
  if (text[span.start] === '[') return inlineAppend(flowList(document, listPath, span), yamlFlow(values));
  const dashes = list.map((_, index) => dashOf(document, listPath, index));
  const [firstDash] = dashes;
  const lastDash = dashes.at(-1);
  const lastItem = document.spanOf([...listPath, list.length - 1], 'value');
  if (firstDash === undefined || lastDash === undefined || !lastItem) return [];
  const between = text.slice(lastDash + 1, lastItem.start);
  const gap = /^ +$/.test(between) ? between : ' ';
  const starts = dashes.map((dash) => lineStart(text, dash ?? 0));
  const end = contentEnd(document, [...listPath, list.length - 1]);
  return insertedAfter(document, end, columnOf(text, firstDash), starts, (indent) =>
    yamlItem(values, indent, gap, styleOf(document)),
  );
}

export function yamlSet(document: SourceDocument, path: ValuePath, value: unknown): Candidates {
  const { text } = document;
  const span = document.spanOf(path, 'value');
  if (!isWritten(document, path) || !span) return yamlInsert(document, path, value);
  const inner = Array.isArray(value) || isMap(value) ? yamlFlow(value) : undefined;
  const isInside = path.slice(0, -1).some((_, at) => isFlow(document, path.slice(0, at + 1)));
  const written = inner ?? yamlScalar(value, isInside);
  const key = document.spanOf(path, 'key');
  const end = Math.max(span.start, contentEnd(document, path));
  const isBlock = key && /[\r\n]/.test(text.slice(key.end, span.start));
  if (isBlock) return [`${text.slice(0, key.end)}: ${written}${text.slice(end)}`];
  const gap = text[span.start - 1] === ':' ? ' ' : '';
  return [`${text.slice(0, span.start)}${gap}${written}${text.slice(end)}`];
}

export function yamlRemove(document: SourceDocument, path: ValuePath): Candidates {
  const { text } = document;
  const parent = path.slice(0, -1);
  const last = path.at(-1);
  const layout = document.layoutOf(parent);
  if (layout?.style === 'inline') {
    return inlineRemove(
      inlineMap(text, layout),
      layout.entries.findIndex(({ key }) => key === last),
    );
  }
  const holder = valueAt(document.data, parent);
  const span = document.spanOf(parent, 'value');
  if (Array.isArray(holder) && typeof last === 'number') {
    if (span && text[span.start] === '[') return inlineRemove(flowList(document, parent, span), last);
    if (holder.length === 1 && parent.length > 0) return yamlRemove(document, parent);
    return removedLines(document, dashOf(document, parent, last), contentEnd(document, path));
  }
  const entry = layout?.entries.find(({ key }) => key === last);
  if (!layout || !entry) return [];
  if (layout.entries.length === 1 && parent.length > 0 && typeof parent.at(-1) === 'string')
    return yamlRemove(document, parent);
  return removedLines(document, entry.keySpan.start, endOfEntry(document, parent, entry));
}

function removedLines(document: SourceDocument, start: number | undefined, end: number): Candidates {
  const { text } = document;
  if (start === undefined) return [];
  const minIndent = columnOf(text, start);
  if (text.slice(lineStart(text, start), start).trim() !== '') return [];
  return [true, false].map((withBlank) =>
    removeLines(text, lineStart(text, start), lineEnd(text, end), { minIndent, withBlank }),
  );
}

function insertedAfter(
  document: SourceDocument,
  contentAt: number,
  column: number,
  siblingStarts: readonly number[],
  lines: (indent: string) => readonly string[],
): Candidates {
  const { text } = document;
  const indent = ' '.repeat(column);
  const isParted = siblingStarts
    .slice(1)
    .some((start) => hasBlankAbove(text, withCommentsAbove(text, start)));
  const behind = withCommentsBelow(text, lineEnd(text, contentAt), column);
  // A block scalar that keeps its last line breaks ends only behind them.
  const kept = /^(?:[ \t]*\r?\n)+/.exec(text.slice(lineEnd(text, contentAt)))?.[0].trimEnd();
  const ends = kept === undefined ? [behind] : [behind, lineEnd(text, text.length)];
  return ends.map((end) =>
    insertLines(text, end, [...(isParted || isCommentLine(text, end) ? [''] : []), ...lines(indent)]),
  );
}

function underNull(
  document: SourceDocument,
  parent: ValuePath,
  key: string,
  value: unknown,
  style: YamlStyle,
): Candidates {
  const { text } = document;
  if (parent.length === 0) {
    const end = lineEnd(text, text.trimEnd().length);
    const lines = yamlEntry(key, value, '', style);
    return [insertLines(text, end, isCommentLine(text, end) ? ['', ...lines] : lines)];
  }
  const span = document.spanOf(parent, 'value');
  const indent = keyIndent(document, parent) + ' '.repeat(style.step);
  return [insertLines(text, lineEnd(text, span?.end ?? 0), yamlEntry(key, value, indent, style))];
}

/** Something stands there, an alias too, but not only by merging. */
function isWritten(document: SourceDocument, path: ValuePath): boolean {
  return path.length === 0 || document.spanOf(path, 'value') !== undefined;
}

function isFlow(document: SourceDocument, path: ValuePath): boolean {
  const span = document.spanOf(path, 'value');
  return span !== undefined && /[[{]/.test(document.text[span.start] ?? '');
}

const columnOf = (text: string, offset: number): number => offset - lineStart(text, offset);

function keyIndent(document: SourceDocument, path: ValuePath): string {
  const key = document.spanOf(path, 'key');
  return key ? ' '.repeat(columnOf(document.text, key.start)) : '';
}

function inlineMap(text: string, layout: MapLayout): Inline {
  const elements = layout.entries.map(({ keySpan, valueSpan }) => ({
    start: keySpan.start,
    end: valueSpan.end,
  }));
  return { text, span: layout.span, elements };
}

function flowList(document: SourceDocument, path: ValuePath, span: Span): Inline {
  const list = valueAt(document.data, path);
  const elements = (Array.isArray(list) ? list : []).map((_, index) =>
    document.spanOf([...path, index], 'value'),
  );
  return { text: document.text, span, elements: elements.filter((element) => element !== undefined) };
}

/** Where the last written character at or below a path ends, without line breaks behind it. */
export function contentEnd(document: SourceDocument, path: ValuePath): number {
  const span = document.spanOf(path, 'value');
  if (!span) return 0;
  const { text } = document;
  const opening = text[span.start] ?? '';
  if ('[{*'.includes(opening) && opening !== '') return span.end;
  const value = valueAt(document.data, path);
  const lastEntry = document.layoutOf(path)?.entries.at(-1);
  if (lastEntry) return endOfEntry(document, path, lastEntry);
  if (Array.isArray(value) && value.length > 0) return contentEnd(document, [...path, value.length - 1]);
  return Math.max(span.start, span.start + text.slice(span.start, span.end).trimEnd().length);
}

function endOfEntry(
  document: SourceDocument,
  parent: ValuePath,
  entry: MapLayout['entries'][number],
): number {
  const end = contentEnd(document, [...parent, entry.key]);
  return end > 0 ? end : Math.max(entry.keySpan.end, entry.valueSpan.end);
}

/** The dash of an item of a list in block style. */
function dashOf(document: SourceDocument, listPath: ValuePath, index: number): number | undefined {
  const item = document.spanOf([...listPath, index], 'value');
  const list = document.spanOf(listPath, 'value');
  if (!item || !list) return undefined;
  const from = index === 0 ? list.start : contentEnd(document, [...listPath, index - 1]);
  // Between them: comments, then the dash, then perhaps an anchor, a tag, a comment, a line break.
  const lines = document.text.slice(from, item.start).matchAll(/^([ \t]*)-(?=[ \t\r\n]|$)/gm);
  const dashes = [...lines].map((match) => from + match.index + (match[1]?.length ?? 0));
  return dashes.find((dash) => index > 0 || dash >= list.start);
}

/** How the file is indented so far; two blanks where nothing tells. */
export function styleOf(document: SourceDocument): YamlStyle {
  const { text, data } = document;
  let step: number | undefined;
  let indentLists: boolean | undefined;
  for (const key of isMap(data) ? Object.keys(data) : []) {
    const value = valueAt(data, [key]);
    const first = document.layoutOf([key])?.entries[0];
    if (first && document.layoutOf([key])?.style === 'line') step ??= columnOf(text, first.keySpan.start);
    if (!Array.isArray(value) || isFlow(document, [key])) continue;
    const dash = dashOf(document, [key], 0);
    if (dash === undefined) continue;
    indentLists ??= columnOf(text, dash) > 0;
    if (columnOf(text, dash) > 0) step ??= columnOf(text, dash);
  }
  return { step: Math.max(1, step ?? 2), indentLists: indentLists ?? true };
}
