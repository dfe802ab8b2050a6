import {
  isMap,
  pathText,
  type SourceDocument,
  type ValuePath,
  valueAt,
} from '../document/source-document.ts';

/** The comments of a document by what they belong to. Lines are trimmed; `''` is a blank line between two of them. */
export interface Comments {
  /** At the top, parted from what follows by a blank line. */
  readonly head: readonly string[];
  /** After everything. */
  readonly tail: readonly string[];
  /** On lines of their own before a key, a table or an item. */
  before(path: ValuePath): readonly string[];
  /** At the end of the line of a key, a table's header or a value. */
  after(path: ValuePath): string;
  /** Everything at and below a path, for what is written on one line. */
  below(path: ValuePath): readonly string[];
}

interface Atom {
  readonly path: ValuePath;
  /** A value, not a key or a header. */
  readonly isValue: boolean;
  readonly start: number;
  readonly end: number;
}

export function commentsOf(document: SourceDocument): Comments {
  return new Collector(document).comments();
}

/** Sorts the comments between what is written to what they stand at. */
class Collector {
  readonly #document: SourceDocument;
  readonly #atoms: readonly Atom[];
  readonly #before = new Map<string, string[]>();
  readonly #after = new Map<string, string>();
  /** At something that the data does not show, such as a merge key. */
  readonly #homeless: string[] = [];
  #head: readonly string[] = [];
  #tail: readonly string[] = [];

  constructor(document: SourceDocument) {
    this.#document = document;
    const atoms: Atom[] = [];
    collect(document, [], atoms);
    atoms.sort((a, b) => a.start - b.start || b.end - a.end || byDepth(a, b));
    this.#atoms = atoms;
  }

  comments(): Comments {
    this.#walk();
    return {
      head: this.#head,
      tail: [...this.#homeless, ...this.#tail],
      before: (path) => this.#before.get(id(path)) ?? [],
      after: (path) => this.#after.get(id(path)) ?? '',
      below: (path) => {
        const key = id(path);
        const inside = (other: string) =>
          path.length === 0 || other === key || other.startsWith(`${key.slice(0, -1)},`);
        const lines = [...this.#before].filter(([other]) => inside(other)).flatMap(([, found]) => found);
        const ends = [...this.#after].filter(([other]) => inside(other)).map(([, found]) => found);
        return [...lines, ...ends].filter((line) => line !== '');
      },
    };
  }

  #walk(): void {
    const { text, format } = this.#document;
    let end = 0;
    let last: Atom | undefined;
    for (let at = 0; at <= this.#atoms.length; at += 1) {
      const atom = this.#atoms[at];
      if (atom && atom.start < end) continue;
      this.#gap(gapLines(text.slice(end, atom?.start ?? text.length), format), last, at);
      if (!atom) return;
      const blockHeader = /^[|>][-+0-9]*[ \t]+(#.*)/.exec(text.slice(atom.start, atom.end))?.[1];
      if (blockHeader && format === 'yaml') this.#putAfter(atom.path, blockHeader.trimEnd());
      end = atom.end;
      last = namedBy(this.#atoms, at);
    }
  }

  #gap(found: readonly GapLine[], last: Atom | undefined, at: number): void {
    const isEnd = at === this.#atoms.length;
    const [same = '', ...lines] = this.#withoutClosed(found, last);
    if (last === undefined) {
      const all = squeezed([same, ...lines].filter((line, index) => line !== '' || index > 0));
      if (isEnd) this.#tail = all;
      else {
        const whole = withoutBlankEnd(all);
        const cut = whole.lastIndexOf('') + 1;
        this.#head = whole.slice(0, cut);
        this.#putBefore(ownerOf(this.#atoms, at), whole.slice(cut));
      }
      return;
    }
    if (same !== '') this.#putAfter(last.path, same);
    const own = squeezed(lines);
    if (isEnd) {
      this.#tail = own;
      return;
    }
    const [outer, inner] = [outerOf(this.#atoms, at), ownerOf(this.#atoms, at)];
    // What is parted from it by a blank line belongs to the whole list, what touches it to its first item.
    const cut = outer === inner ? 0 : own.lastIndexOf('', own.length - 3) + 1;
    this.#putBefore(outer, own.slice(0, cut));
    this.#putBefore(inner, withoutBlankEnd(own.slice(cut)));
  }

  /** Behind a closing bracket a comment belongs to what the brackets hold together. */
  #withoutClosed(found: readonly GapLine[], last: Atom | undefined): readonly string[] {
    const kept: string[] = [];
    for (const [index, line] of found.entries()) {
      if (!last?.isValue || !line.closesHere || line.comment === '') {
        kept.push(line.comment);
        continue;
      }
      this.#putAfter(last.path.slice(0, Math.max(1, last.path.length - line.closed)), line.comment);
      if (index === 0) kept.push('');
    }
    return kept;
  }

  #putBefore(path: ValuePath, lines: readonly string[]): void {
    if (!lines.some((line) => line !== '')) return;
    const known = this.#before.get(id(path)) ?? [];
    if (this.#isKnown(path)) this.#before.set(id(path), [...known, ...lines]);
    else this.#homeless.push(...lines);
  }

  #putAfter(path: ValuePath, comment: string): void {
    const known = this.#after.get(id(path));
    if (this.#isKnown(path)) this.#after.set(id(path), known === undefined ? comment : `${known} ${comment}`);
    else this.#homeless.push(comment);
  }

  #isKnown(path: ValuePath): boolean {
    return valueAt(this.#document.data, path) !== undefined;
  }
}

const id = (path: ValuePath): string => JSON.stringify(path);

/** All that starts where one atom does: a header names a list and an item of it. */
function together(atoms: readonly Atom[], at: number): readonly Atom[] {
  const start = atoms[at]?.start;
  let end = at;
  while (end < atoms.length && atoms[end]?.start === start) end += 1;
  return atoms.slice(at, end);
}

const byDepth = (a: Atom, b: Atom): number => a.path.length - b.path.length;

/** Of all that starts at one place, the outermost. */
function outerOf(atoms: readonly Atom[], at: number): ValuePath {
  return [...together(atoms, at)].sort(byDepth)[0]?.path ?? [];
}

/** Of all that starts at one place, the innermost item of a list, else the outermost thing. */
function ownerOf(atoms: readonly Atom[], at: number): ValuePath {
  const items = together(atoms, at).filter(({ path }) => typeof path.at(-1) === 'number');
  return [...items].sort(byDepth).at(-1)?.path ?? outerOf(atoms, at);
}

/** The comments of the line go to the innermost of what it names in full. */
function namedBy(atoms: readonly Atom[], at: number): Atom | undefined {
  const end = atoms[at]?.end;
  return [...together(atoms, at)]
    .filter((atom) => atom.end === end)
    .sort(byDepth)
    .at(-1);
}

/** The last line is the atom's own: nothing stands before it there, as a rule. */
function withoutBlankEnd(lines: readonly string[]): readonly string[] {
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

interface GapLine {
  /** `''` where there is none. */
  readonly comment: string;
  /** How many brackets were closed before it, on this line and the ones above. */
  readonly closed: number;
  readonly closesHere: boolean;
}

/** The comment on each line of what stands between two atoms. */
function gapLines(gap: string, format: SourceDocument['format']): readonly GapLine[] {
  const pattern = format === 'toml' ? /(#.*)$/ : /(?:^|[ \t])(#.*)$/;
  let closed = 0;
  return gap.split(/\r?\n/).map((line) => {
    const comment = pattern.exec(line)?.[1] ?? '';
    const here = line.slice(0, line.length - comment.length).match(/[\]}]/g)?.length ?? 0;
    closed += here;
    return { comment: comment.trimEnd(), closed, closesHere: here > 0 };
  });
}

/** One blank line where there were several. */
function squeezed(lines: readonly string[]): readonly string[] {
  return lines.filter((line, index) => line !== '' || index === 0 || lines[index - 1] !== '');
}

function collect(document: SourceDocument, path: ValuePath, atoms: Atom[]): void {
  const { text, format, data } = document;
  const value = valueAt(data, path);
  const span = document.spanOf(path, 'value');
  if (path.length > 0) {
    const key = document.spanOf(path, 'key');
    if (key) atoms.push({ path, isValue: false, ...key });
    else if (
      format === 'yaml' &&
      span &&
      typeof path.at(-1) === 'number' &&
      (isMap(value) || Array.isArray(value))
    )
      atoms.push({ path, isValue: false, start: span.start, end: span.start });
  }
  const isAlias =
    format === 'yaml' && span !== undefined && text[span.start] === '*' && span.end > span.start;
  if (isAlias || !(isMap(value) || Array.isArray(value)) || value instanceof Date) {
    if (span) atoms.push({ path, isValue: true, ...span });
    return;
  }
  for (const key of Array.isArray(value) ? value.keys() : Object.keys(value))
    collect(document, [...path, key], atoms);
  const merged = document.layoutOf(path)?.entries.filter(({ key }) => !Object.hasOwn(value, key)) ?? [];
  for (const { key, keySpan, valueSpan } of merged) {
    atoms.push({ path: [...path, key], isValue: true, start: keySpan.start, end: valueSpan.end });
  }
}

/** For messages. */
export const shownKey = (path: ValuePath): string => pathText(path) || 'the file';
