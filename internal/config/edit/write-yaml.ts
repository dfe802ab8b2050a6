import { isMap, type SourceDocument, type ValuePath } from '../document/source-document.ts';
import { parseYaml } from '../document/yaml-document.ts';
import type { Comments } from './comments.ts';
import { yamlFlow, yamlScalar } from './value-text.ts';

/** A list of plain values up to this length stays on one line. */
const MAX_FLOW_COLUMNS = 100;
const STEP = '  ';

/** The data of a document as YAML with its comments; line breaks are `\n`. */
export function writeYaml(document: SourceDocument, comments: Comments): string {
  const data = isMap(document.data) ? document.data : {};
  const writer = new YamlWriter(document, comments);
  const lines = [...comments.head, ...writer.map([], data, '')];
  if (Object.keys(data).length === 0) lines.push('{}');
  const tail = comments.tail.length > 0 ? comments.tail : [];
  return `${trimmedEnd([...lines, ...tail]).join('\n')}\n`;
}

export function trimmedEnd(lines: readonly string[]): readonly string[] {
  const last = lines.findLastIndex((line) => line !== '');
  return lines.slice(0, last + 1);
}

class YamlWriter {
  readonly #document: SourceDocument;
  readonly #comments: Comments;

  constructor(document: SourceDocument, comments: Comments) {
    this.#document = document;
    this.#comments = comments;
  }

  map(path: ValuePath, value: Readonly<Record<string, unknown>>, indent: string): readonly string[] {
    return Object.entries(value).flatMap(([key, inner], index) => {
      const here = [...path, key];
      const isBlock = (isMap(inner) || Array.isArray(inner)) && !this.#isFlow(here, inner);
      const isSection = path.length === 0 && index > 0 && isBlock;
      const before = this.#before(here, indent);
      return [
        ...(isSection && before[0] !== '' ? [''] : []),
        ...before,
        ...this.#entry(here, key, inner, indent),
      ];
    });
  }

  #entry(path: ValuePath, key: string, value: unknown, indent: string): readonly string[] {
    const head = `${indent}${yamlScalar(key, false)}:`;
    const inner = indent + STEP;
    if (isMap(value) && !this.#isFlow(path, value)) {
      return [this.#ended(head, path), ...this.map(path, value, inner)];
    }
    if (Array.isArray(value) && !this.#isFlow(path, value)) {
      return [
        this.#ended(head, path),
        ...value.flatMap((item: unknown, at) => this.#item([...path, at], item, inner)),
      ];
    }
    const [first = '', ...rest] = this.#inline(value, inner);
    return [this.#ended(`${head} ${first}`, path), ...rest];
  }

  #item(path: ValuePath, value: unknown, indent: string): readonly string[] {
    const before = this.#before(path, indent);
    const after = this.#comments.after(path);
    const inner = indent + STEP;
    if (isMap(value) && !this.#isFlow(path, value)) {
      const lines = this.map(path, value, inner);
      const first = lines.findIndex((line) => line !== '' && !line.trimStart().startsWith('#'));
      // Comments of the first key would stand between the dash and the key.
      const own = lines.slice(0, first).map((line) => line.replace(inner, indent));
      const dashed = `${indent}- ${lines[first]?.slice(inner.length) ?? '{}'}`;
      return [...before, ...(after ? [indent + after] : []), ...own, dashed, ...lines.slice(first + 1)];
    }
    if (Array.isArray(value) && !this.#isFlow(path, value)) {
      const inside = value.flatMap((item: unknown, at) => this.#item([...path, at], item, inner));
      return [...before, this.#ended(`${indent}-`, path), ...inside];
    }
    const [first = '', ...rest] = this.#inline(value, inner);
    return [...before, this.#ended(`${indent}- ${first}`, path), ...rest];
  }

  /** A value that fits on the line of its key, or a text in block style. */
  #inline(value: unknown, indent: string): readonly string[] {
    if (isMap(value) || Array.isArray(value)) return [yamlFlow(value)];
    if (typeof value === 'string' && value.includes('\n'))
      return blockText(value, indent) ?? [yamlScalar(value, false)];
    return [yamlScalar(value, false)];
  }

  #isFlow(path: ValuePath, value: object): boolean {
    if (Object.keys(value).length === 0) return true;
    const own = [...this.#comments.before(path), this.#comments.after(path)].filter((line) => line !== '');
    if (this.#comments.below(path).length > own.length) return false;
    if (!isShort(value)) return false;
    if (Array.isArray(value))
      return !value.some((item) => isMap(item) || Array.isArray(item)) || this.#isBracketed(path);
    return this.#isBracketed(path);
  }

  #isBracketed(path: ValuePath): boolean {
    const span = this.#document.spanOf(path, 'value');
    const isTable = this.#document.layoutOf(path)?.style === 'line';
    return span !== undefined && !isTable && /[[{]/.test(this.#document.text[span.start] ?? '');
  }

  #before(path: ValuePath, indent: string): readonly string[] {
    return this.#comments.before(path).map((line) => (line === '' ? '' : indent + line));
  }

  #ended(line: string, path: ValuePath): string {
    const comment = this.#comments.after(path);
    return comment === '' ? line : `${line} ${comment}`;
  }
}

function isShort(value: object): boolean {
  const text = yamlFlow(value);
  return text.length <= MAX_FLOW_COLUMNS && !text.includes('\\n');
}

/** A text of several lines as it reads, `undefined` when YAML would read another one. */
function blockText(value: string, indent: string): readonly string[] | undefined {
  // Line breaks at the very end are easily lost by editors.
  if (value.endsWith('\n\n')) return undefined;
  const end = value.endsWith('\n') ? '' : '-';
  const body = value.replace(/\n$/, '').split('\n');
  const lines = [`|${end}`, ...body.map((line) => (line === '' ? '' : indent + line))];
  const again = parseYaml('text.yaml', `k: ${lines.join('\n')}\nz: 1\n`);
  if (again.kind !== 'parsed' || !isMap(again.document.data)) return undefined;
  return again.document.data['k'] === value ? lines : undefined;
}
