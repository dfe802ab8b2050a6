import { parse, stringify, TomlDate, TomlError } from 'smol-toml';
import type { ConfigProblem } from '../city.ts';
import { isMap, type ParseResult, positionAt, type ValuePath } from './source-document.ts';
import { type TomlLayout, tomlLayoutReader } from './toml-layout.ts';

/**
 * What TOML 1.1 added leaves one of these: an inline table over several lines or with a comma at its end, the escapes
 * `\\e` and `\\x`, a time without seconds.
 */
const MAY_BE_TOML_11 = /\{[^{}"'\n]*\n|\{\s*\n|,\s*\}|,[ \t]*\n|\n\s*\}|\\[ex]|\d:\d\d(?!:)/;

/** Reads TOML. The reader stops at the first syntax error; later checks report all there is. */
export async function parseToml(file: string, text: string): Promise<ParseResult> {
  let data: unknown;
  try {
    data = plain(parse(text));
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const message = (error.message.split('\n')[0] ?? '').replace(/^Invalid TOML document: /, '');
    const duplicate = message.includes('redefine');
    return {
      kind: 'unreadable',
      problems: [
        {
          severity: 'error',
          code: duplicate ? 'duplicate-key' : 'toml-syntax',
          message: duplicate ? 'this key or table is already defined above' : message,
          position: { file, line: error.line, column: error.column },
          hint: undefined,
        },
      ],
    };
  }
  const layoutReader = await tomlLayoutReader();
  // Most files are right, and then nobody asks where their values stand.
  let known: TomlLayout | undefined;
  const layout = (): TomlLayout => {
    known ??= layoutReader(text);
    return known;
  };
  const forbidden = forbiddenKey(data, []);
  if (forbidden) {
    const span = layout().spanOf(forbidden, 'key');
    return {
      kind: 'unreadable',
      problems: [
        {
          severity: 'error',
          code: 'bad-key',
          message: 'a key cannot be named "__proto__"',
          position: positionAt(file, text, span?.start ?? 0),
          hint: undefined,
        },
      ],
    };
  }
  const warnings: ConfigProblem[] = [];
  const beyond = MAY_BE_TOML_11.test(text) ? layout().beyondToml10 : undefined;
  if (beyond) {
    warnings.push({
      severity: 'warning',
      code: 'toml-1.1',
      message: `this needs a TOML 1.1 reader: ${beyond.what}`,
      position: positionAt(file, text, beyond.offset),
      hint: 'other programs that read this file may follow TOML 1.0',
    });
  }
  return {
    kind: 'parsed',
    document: {
      file,
      format: 'toml',
      text,
      data,
      spanOf: (path: ValuePath, part) => layout().spanOf(path, part),
      layoutOf: (path: ValuePath) => layout().layoutOf(path),
    },
    warnings,
  };
}

/** TOML text of plain data; `undefined` values are left out. */
export function stringifyToml(data: Record<string, unknown>): string {
  return stringify(data);
}

/** The path of a key that no JavaScript map should carry. */
function forbiddenKey(value: unknown, path: ValuePath): ValuePath | undefined {
  if (Array.isArray(value)) {
    for (const [index, inner] of value.entries()) {
      const found = forbiddenKey(inner, [...path, index]);
      if (found) return found;
    }
    return undefined;
  }
  if (!isMap(value)) return undefined;
  for (const [key, inner] of Object.entries(value)) {
    const found = key === '__proto__' ? [...path, key] : forbiddenKey(inner, [...path, key]);
    if (found) return found;
  }
  return undefined;
}

/** Ordinary objects instead of prototype-less ones, so that both formats give equal data. Dates stay as they are. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null || value instanceof TomlDate) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}
