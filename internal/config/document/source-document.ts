import { isAbsolute, relative, sep } from 'node:path';
import type { ConfigProblem, SourcePosition } from '../city.ts';

/** Where a value sits in a document: keys of maps and indexes of lists, as written there. */
export type ValuePath = readonly (string | number)[];

export type SourceFormat = 'yaml' | 'toml';

/** Half-open range of UTF-16 offsets into the text. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** How one map is laid out in the text: what an edit that keeps the layout needs. */
export interface MapLayout {
  /** `line`: one entry per line; `inline`: `{a: 1, b: 2}`. */
  readonly style: 'line' | 'inline';
  readonly span: Span;
  /** In the order of the text. */
  readonly entries: readonly { readonly key: string; readonly keySpan: Span; readonly valueSpan: Span }[];
}

/** A parsed file that still knows where each value was written. */
export interface SourceDocument {
  readonly file: string;
  readonly format: SourceFormat;
  readonly text: string;
  /** Plain maps, lists and scalars; no cycles. */
  readonly data: unknown;
  spanOf(path: ValuePath, part: 'key' | 'value'): Span | undefined;
  /** `undefined` when there is no map, or none that can be edited safely (an alias, a dotted or scattered one). */
  layoutOf(path: ValuePath): MapLayout | undefined;
}

export type ParseResult =
  | {
      readonly kind: 'parsed';
      readonly document: SourceDocument;
      readonly warnings: readonly ConfigProblem[];
    }
  | { readonly kind: 'unreadable'; readonly problems: readonly ConfigProblem[] };

/** Line and column, both from 1, of an offset. */
export function positionAt(file: string, text: string, offset: number): SourcePosition {
  const before = text.slice(0, Math.max(0, Math.min(offset, text.length)));
  const lineStart = before.lastIndexOf('\n') + 1;
  let line = 1;
  for (let at = before.indexOf('\n'); at !== -1; at = before.indexOf('\n', at + 1)) line += 1;
  return { file, line, column: before.length - lineStart + 1 };
}

/** The place of a value, or of the nearest thing around it that is written down. */
export function locate(
  document: SourceDocument,
  path: ValuePath,
  part: 'key' | 'value' = 'key',
): SourcePosition {
  for (let length = path.length; length > 0; length -= 1) {
    const here = path.slice(0, length);
    const span =
      length === path.length
        ? (document.spanOf(here, part) ?? document.spanOf(here, part === 'key' ? 'value' : 'key'))
        : (document.spanOf(here, 'key') ?? document.spanOf(here, 'value'));
    if (span) return positionAt(document.file, document.text, span.start);
  }
  return { file: document.file, line: 1, column: 1 };
}

/** A path as it is shown: relative to the folder when it is inside. */
export function shownPath(baseDir: string, path: string): string {
  if (path === '') return path;
  const inside = relative(baseDir, path);
  const isInside = inside !== '' && inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
  return isInside ? inside : path;
}

/** `city.yaml:14:5` */
export function shownPosition(baseDir: string, { file, line, column }: SourcePosition): string {
  return `${shownPath(baseDir, file)}:${line}:${column}`;
}

/** `agents[2].env.PORT` */
export function pathText(path: ValuePath): string {
  return path
    .map((segment, index) =>
      typeof segment === 'number' ? `[${segment}]` : `${index > 0 ? '.' : ''}${segment}`,
    )
    .join('');
}

/** The inverse of `pathText`, for paths whose keys hold neither dots nor brackets. */
export function parsePathText(text: string): ValuePath {
  return [...text.matchAll(/\[(\d+)\]|[^.[\]]+/g)].map((match) =>
    match[1] === undefined ? match[0] : Number(match[1]),
  );
}

/** The value at a path, `undefined` when there is none. */
export function valueAt(data: unknown, path: ValuePath): unknown {
  let current = data;
  for (const segment of path) {
    if (Array.isArray(current) && typeof segment === 'number') current = current[segment];
    else if (isMap(current) && Object.hasOwn(current, segment)) current = current[segment];
    else return undefined;
  }
  return current;
}

export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
