import {
  isMap,
  type MapLayout,
  type SourceDocument,
  type Span,
  type ValuePath,
  valueAt,
} from '../document/source-document.ts';
import { type Inline, inlineAppend, inlineRemove } from './inline-edit.ts';
import { indentAt, insertLines, lineEnd, lineStart, removeLines, withCommentsBelow } from './lines.ts';
import { tomlKey, tomlTable, tomlValue } from './value-text.ts';

/** Texts that may be the wanted one, the best first. Which of them means the right thing is for the caller to find out. */
export type Candidates = readonly string[];

export function tomlInsertTable(
  document: SourceDocument,
  path: ValuePath,
  values: Readonly<Record<string, unknown>>,
): Candidates {
  const inline = inlineParent(document, path);
  if (inline) return inlineAppend(inline.place, inline.entry(values));
  return insertedBlocks(document, path.slice(0, -1), (indent) =>
    tomlTable(headerOf(path), ['[', ']'], values, indent),
  );
}

export function tomlAppend(
  document: SourceDocument,
  listPath: ValuePath,
  values: Readonly<Record<string, unknown>>,
): Candidates {
  const list = inlineList(document, listPath);
  if (list) return inlineAppend(list, tomlValue(values));
  const inline = inlineParent(document, listPath);
  if (inline) return inlineAppend(inline.place, inline.entry([values]));
  const anchor = contentEnd(document, listPath) === undefined ? listPath.slice(0, -1) : listPath;
  return insertedBlocks(document, anchor, (indent) =>
    tomlTable(headerOf(listPath), ['[[', ']]'], values, indent),
  );
}

export function tomlSet(document: SourceDocument, path: ValuePath, value: unknown): Candidates {
  const { text } = document;
  const own = document.spanOf(path, 'value');
  const isTable = document.layoutOf(path)?.style === 'line';
  if (own && !isTable) return [text.slice(0, own.start) + tomlValue(value) + text.slice(own.end)];
  const key = String(path.at(-1));
  const parent = path.slice(0, -1);
  const layout = document.layoutOf(parent);
  if (layout?.style === 'inline') {
    const place = { text, span: layout.span, elements: spansOf(layout) };
    return inlineAppend(place, `${tomlKey(key)} = ${tomlValue(value)}`);
  }
  const line = `${tomlKey(key)} = ${tomlValue(value)}`;
  const last = layout?.entries.at(-1);
  if (last) {
    const indent = indentAt(text, last.keySpan.start);
    return [insertLines(text, lineEnd(text, last.valueSpan.end), [indent + line])];
  }
  if (layout) return [insertLines(text, lineEnd(text, layout.span.end), [line])];
  if (parent.length > 0) return tomlInsertTable(document, parent, { [key]: value });
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  return [`${line}${eol}${text === '' ? '' : eol}${text}`];
}

export function tomlRemove(document: SourceDocument, path: ValuePath): Candidates {
  const { text } = document;
  const parent = path.slice(0, -1);
  const last = path.at(-1);
  const layout = document.layoutOf(parent);
  if (layout?.style === 'inline') {
    const index = layout.entries.findIndex(({ key }) => key === last);
    return inlineRemove({ text, span: layout.span, elements: spansOf(layout) }, index);
  }
  const list = inlineList(document, parent);
  if (list && typeof last === 'number') return inlineRemove(list, last);
  const pieces = [
    ...(layout?.entries ?? [])
      .filter(({ key }) => key === last)
      .map(({ keySpan, valueSpan }) => ({ start: keySpan.start, end: valueSpan.end })),
    ...tableSpans(document, path),
  ].sort((a, b) => b.start - a.start);
  if (pieces.length === 0) return [];
  return [true, false].map((withBlank) =>
    pieces.reduce(
      (now, { start, end }) =>
        removeLines(now, lineStart(now, start), lineEnd(now, end), {
          // An entry keeps the blank line above it: it parts what is before it from what comes after.
          withBlank: withBlank && (pieces.length > 1 || isHeader(now, start)),
        }),
      text,
    ),
  );
}

const isHeader = (text: string, offset: number): boolean => text[offset] === '[';

/** The header of a path: indexes are not written, the last item of each list is meant. */
function headerOf(path: ValuePath): readonly string[] {
  return path.filter((segment) => typeof segment === 'string');
}

function spansOf(layout: MapLayout): readonly Span[] {
  return layout.entries.map(({ keySpan, valueSpan }) => ({ start: keySpan.start, end: valueSpan.end }));
}

/** New tables stand behind what is below `anchor`, else at the end of the file. */
function insertedBlocks(
  document: SourceDocument,
  anchor: ValuePath,
  lines: (indent: string) => readonly string[],
): Candidates {
  const ends: number[] = [];
  for (let length = anchor.length; length >= 0; length -= 1) {
    ends.push(contentEnd(document, anchor.slice(0, length)) ?? 0);
  }
  const indent = siblingIndent(document, anchor);
  return [...new Set(ends)].map((end) => insertedBlock(document.text, end, lines(indent)));
}

function insertedBlock(text: string, contentAt: number, lines: readonly string[]): string {
  const hasContent = contentAt > 0;
  const start = hasContent ? lineEnd(text, contentAt) : lineEnd(text, text.trimEnd().length);
  const end = hasContent ? withCommentsBelow(text, start, 0) : start;
  return insertLines(text, end, end === 0 ? lines : ['', ...lines]);
}

/** Items of a list, and tables below one, are indented as the ones before them are. */
function siblingIndent(document: SourceDocument, anchor: ValuePath): string {
  const value = valueAt(document.data, anchor);
  if (anchor.length === 0) return '';
  const inner = Array.isArray(value)
    ? value.length - 1
    : isMap(value)
      ? Object.keys(value).at(-1)
      : undefined;
  const span = inner === undefined ? undefined : document.spanOf([...anchor, inner], 'value');
  return span && isHeader(document.text, span.start) ? indentAt(document.text, span.start) : '';
}

/** Where the last thing at or below a path ends; `undefined` when nothing of it is written down. */
export function contentEnd(document: SourceDocument, path: ValuePath): number | undefined {
  let end = document.spanOf(path, 'value')?.end;
  const value = valueAt(document.data, path);
  const keys = Array.isArray(value) ? value.keys() : isMap(value) ? Object.keys(value) : [];
  for (const key of keys) {
    const inner = contentEnd(document, [...path, key]);
    if (inner !== undefined) end = Math.max(end ?? 0, inner);
  }
  return end;
}

function tableSpans(document: SourceDocument, path: ValuePath): readonly Span[] {
  const value = valueAt(document.data, path);
  const own = document.spanOf(path, 'value');
  const found = own && isHeader(document.text, own.start) && isMap(value) ? [own] : [];
  const keys = Array.isArray(value) ? value.keys() : isMap(value) ? Object.keys(value) : [];
  return [...found, ...[...keys].flatMap((key) => tableSpans(document, [...path, key]))];
}

/** The list at a path when it is written between brackets. */
function inlineList(document: SourceDocument, path: ValuePath): Inline | undefined {
  const value = valueAt(document.data, path);
  const span = document.spanOf(path, 'value');
  if (!Array.isArray(value) || !span) return undefined;
  const elements = value.map((_, index) => document.spanOf([...path, index], 'value'));
  return { text: document.text, span, elements: elements.filter((element) => element !== undefined) };
}

/** The nearest existing map above a path, when it is written between brackets. */
function inlineParent(
  document: SourceDocument,
  path: ValuePath,
): { readonly place: Inline; entry(value: unknown): string } | undefined {
  for (let length = path.length - 1; length > 0; length -= 1) {
    const parent = path.slice(0, length);
    if (valueAt(document.data, parent) === undefined) continue;
    const layout = document.layoutOf(parent);
    if (layout?.style !== 'inline') return undefined;
    const rest = path.slice(length).map(String);
    return {
      place: { text: document.text, span: layout.span, elements: spansOf(layout) },
      entry: (value) => `${rest.map(tomlKey).join('.')} = ${tomlValue(value)}`,
    };
  }
  return undefined;
}
