import { isDeepStrictEqual } from 'node:util';
import { parseText } from '../document/read-source.ts';
import {
  isMap,
  locate,
  type SourceDocument,
  type SourceFormat,
  shownPosition,
  type ValuePath,
} from '../document/source-document.ts';
import { type Comments, commentsOf, shownKey } from './comments.ts';
import { EditError } from './edit-error.ts';
import { writeToml } from './write-toml.ts';
import { writeYaml } from './write-yaml.ts';

export interface Converted {
  readonly text: string;
  /** What a person should know about the new text. */
  readonly notes: readonly string[];
}

/**
 * A configuration text in the other format: equal data, comments before keys, tables and items and at line ends, order
 * as far as TOML can keep it (values before tables).
 * @throws EditError `config-unreadable`, `cannot-convert` with the place of what the other format cannot say
 */
export async function convertText(
  text: string,
  file: string,
  to: SourceFormat,
  baseDir: string,
): Promise<Converted> {
  const result = await parseText(file, text);
  if (result.kind !== 'parsed') {
    const reason = result.problems.map((problem) => problem.message).join('; ');
    throw new EditError('config-unreadable', `${file} cannot be converted: ${reason}`, {
      next: 'repair the file first',
    });
  }
  const { document } = result;
  const foreign = foreignValue(document.data, [], to);
  if (foreign) {
    const place = shownPosition(baseDir, locate(document, foreign.path, 'value'));
    throw new EditError('cannot-convert', `${place}: ${shownKey(foreign.path)} ${foreign.what}`, {
      next: foreign.next,
    });
  }
  const comments = commentsOf(document);
  const written = withEol(
    to === 'toml' ? writeToml(document, comments) : writeYaml(document, comments),
    text,
  );
  const again = await parseText(to === 'toml' ? 'city.toml' : 'city.yaml', written);
  if (again.kind !== 'parsed' || !isDeepStrictEqual(again.document.data ?? {}, document.data ?? {})) {
    throw new EditError('cannot-convert', `${file} cannot be written as ${to} without a change of meaning`, {
      next: 'convert it by hand',
    });
  }
  return { text: written, notes: notesOf(document, comments) };
}

const withEol = (written: string, before: string): string =>
  before.includes('\r\n') ? written.replaceAll('\n', '\r\n') : written;

function notesOf(document: SourceDocument, comments: Comments): readonly string[] {
  const notes: string[] = [];
  if (document.format === 'yaml' && hasAlias(document, [], document.data)) {
    notes.push('anchors and aliases are written out where they were used');
  }
  const all = [...comments.head, ...comments.below([]), ...comments.tail];
  const sample = document.format === 'toml' ? /^#\s*(\[|[\w.-]+\s*=)/ : /^#\s*(- )?[\w.-]+:(\s|$)/;
  if (all.some((comment) => sample.test(comment))) {
    notes.push(
      `configuration inside comments keeps its ${document.format === 'toml' ? 'TOML' : 'YAML'} spelling`,
    );
  }
  return notes;
}

function hasAlias(document: SourceDocument, path: ValuePath, value: unknown): boolean {
  const span = document.spanOf(path, 'value');
  if (path.length > 0 && (span === undefined || document.text[span.start] === '*')) return true;
  if (!isMap(value) && !Array.isArray(value)) return false;
  return Object.entries(value).some(([key, inner]) =>
    hasAlias(document, [...path, Array.isArray(value) ? Number(key) : key], inner),
  );
}

interface Foreign {
  readonly path: ValuePath;
  readonly what: string;
  readonly next: string;
}

/** The first value that the other format has no spelling for. */
function foreignValue(value: unknown, path: ValuePath, to: SourceFormat): Foreign | undefined {
  if (value instanceof Date) {
    return { path, what: 'is a date, which YAML does not have', next: 'write it in quotes' };
  }
  if (to === 'toml' && value === null) {
    return {
      path,
      what: 'has no value, which TOML does not have',
      next: 'remove the key, or give it a value',
    };
  }
  // From 1e21 on a number is written with an exponent, which makes it no integer in TOML.
  const isInteger = typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 1e21;
  if (to === 'toml' && isInteger && !Number.isSafeInteger(value)) {
    return { path, what: 'is too large for an exact number', next: 'write it in quotes' };
  }
  if (!isMap(value) && !Array.isArray(value)) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const found = foreignValue(inner, [...path, Array.isArray(value) ? Number(key) : key], to);
    if (found) return found;
  }
  return undefined;
}
