import { isMap, type SourceDocument, type ValuePath } from '../document/source-document.ts';
import type { Comments } from './comments.ts';
import { tomlKey, tomlValue } from './value-text.ts';
import { trimmedEnd } from './write-yaml.ts';

/** An array up to this length stays on one line. */
const MAX_LINE_COLUMNS = 100;
const STEP = '  ';

/** The data of a document as TOML with its comments; line breaks are `\n`. */
export function writeToml(document: SourceDocument, comments: Comments): string {
  const data = isMap(document.data) ? document.data : {};
  const tables = new TomlWriter(document, comments).table([], data);
  // The first table brings a blank line of its own.
  const isParted = comments.head.length === 0 || comments.head.at(-1) === '';
  const lines = [...comments.head, ...(isParted && tables[0] === '' ? tables.slice(1) : tables)];
  return `${trimmedEnd([...lines, ...comments.tail]).join('\n')}\n`;
}

type Entry = readonly [key: string, value: unknown];

class TomlWriter {
  readonly #document: SourceDocument;
  readonly #comments: Comments;

  constructor(document: SourceDocument, comments: Comments) {
    this.#document = document;
    this.#comments = comments;
  }

  /** The entries of a table, then the tables below it: TOML has no other order. */
  table(path: ValuePath, value: Readonly<Record<string, unknown>>): readonly string[] {
    const entries: readonly Entry[] = Object.entries(value);
    const plain = entries.filter(([key, inner]) => !this.#isSection([...path, key], inner));
    const lines = plain.flatMap(([key, inner]) => this.#entry([...path, key], key, inner));
    const sections = entries
      .filter((entry) => !plain.includes(entry))
      .flatMap(([key, inner]) => this.#section([...path, key], inner));
    return [...lines, ...sections];
  }

  #isSection(path: ValuePath, value: unknown): boolean {
    if (isMap(value) && !(value instanceof Date)) {
      return Object.keys(value).length > 0 && !(this.#isBracketed(path) && !this.#hasInside(path));
    }
    if (!Array.isArray(value) || value.length === 0 || !value.every((item) => isMap(item))) return false;
    return !(this.#isBracketed(path) && !this.#hasInside(path));
  }

  /** Comments that a line could not hold. */
  #hasInside(path: ValuePath): boolean {
    const own = [...this.#comments.before(path), this.#comments.after(path)].filter((line) => line !== '');
    return this.#comments.below(path).length > own.length;
  }

  #section(path: ValuePath, value: unknown): readonly string[] {
    const before = this.#comments.before(path);
    const after = this.#comments.after(path);
    if (Array.isArray(value)) {
      const above = [...before, ...(after ? [after] : [])];
      return value.flatMap((item: unknown, index) => {
        const here = [...path, index];
        const own = [...(index === 0 ? above : []), ...this.#comments.before(here)];
        const head = this.#ended(`[[${nameOf(path)}]]`, here);
        return [...parted(own), head, ...this.table(here, isMap(item) ? item : {})];
      });
    }
    const map = isMap(value) ? value : {};
    const hasOnlyTables = Object.entries(map).every(([key, inner]) => this.#isSection([...path, key], inner));
    const inner = this.table(path, map);
    if (hasOnlyTables && after === '')
      return before.length === 0 ? inner : [...parted(before), ...inner.slice(inner[0] === '' ? 1 : 0)];
    return [...parted(before), this.#ended(`[${nameOf(path)}]`, path), ...inner];
  }

  #entry(path: ValuePath, key: string, value: unknown): readonly string[] {
    const head = `${tomlKey(key)} = `;
    const before = this.#comments.before(path);
    if (Array.isArray(value) && value.length > 0) {
      const line = head + tomlValue(value);
      if (line.length > MAX_LINE_COLUMNS || this.#hasInside(path)) {
        const items = value.flatMap((item: unknown, index) => this.#element([...path, index], item));
        return [...before, `${head}[`, ...items, this.#ended(']', path)];
      }
    }
    const text = this.#text(value);
    return [...before, this.#ended(head + text, path)];
  }

  /** What is inside of it stands on one line, so its comments come before. */
  #element(path: ValuePath, value: unknown): readonly string[] {
    const isOne = !(isMap(value) || Array.isArray(value));
    const before = isOne ? this.#comments.before(path) : this.#comments.below(path);
    const line = `${STEP}${tomlValue(value)},`;
    return [
      ...before.map((comment) => (comment === '' ? '' : STEP + comment)),
      isOne ? this.#ended(line, path) : line,
    ];
  }

  #text(value: unknown): string {
    const isPlain = typeof value === 'string' && /^[\t\n -~\u00a0-\ud7ff\ue000-\uffff]*$/.test(value);
    if (!isPlain || !value.includes('\n') || value.includes("'''") || value.endsWith("'"))
      return tomlValue(value);
    return this.#document.text.includes('\r\n') ? tomlValue(value) : `'''\n${value}'''`;
  }

  #isBracketed(path: ValuePath): boolean {
    const span = this.#document.spanOf(path, 'value');
    const isTable = this.#document.layoutOf(path)?.style === 'line';
    const isItem = typeof path.at(-1) === 'number';
    return span !== undefined && !isTable && !isItem && /[[{]/.test(this.#document.text[span.start] ?? '');
  }

  #ended(line: string, path: ValuePath): string {
    const comment = this.#comments.after(path);
    return comment === '' ? line : `${line} ${comment}`;
  }
}

/** A blank line before what begins something new. */
const parted = (before: readonly string[]): readonly string[] =>
  before[0] === '' ? before : ['', ...before];

const nameOf = (path: ValuePath): string =>
  path
    .filter((segment) => typeof segment === 'string')
    .map(tomlKey)
    .join('.');
