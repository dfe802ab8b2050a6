import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';
import { codeOf, messageOf } from '../../platform/errors.ts';
import type { ConfigProblem } from '../city.ts';
import { nearest } from './nearest.ts';
import type { ParseResult } from './source-document.ts';
import { parseToml } from './toml-document.ts';

// Small local files, hundreds of them: reading them one after the other at once costs a tenth of doing so through the
// thread pool. The functions are asynchronous all the same, and a load pauses between packs.

/** A configuration file above this size is something else. */
const MAX_SOURCE_BYTES = 4 * 1024 * 1024;
export const CITY_FILE_NAMES = ['city.yaml', 'city.yml', 'city.toml'] as const;

export type FoundCityFile =
  | { readonly kind: 'found'; readonly file: string }
  | { readonly kind: 'missing'; readonly file: string; readonly problems: readonly ConfigProblem[] };

/** The city file of a folder, or the file itself when one is named. */
export async function findCityFile(dirOrFile: string): Promise<FoundCityFile> {
  const path = resolve(dirOrFile);
  const missing = (code: string, message: string, hint?: string, line?: { file: string }): FoundCityFile => ({
    kind: 'missing',
    file: path,
    problems: [
      {
        severity: 'error',
        code,
        message,
        position: { file: line?.file ?? path, line: 1, column: 1 },
        hint,
      },
    ],
  });
  let names: string[];
  try {
    if (!statSync(path).isDirectory()) return { kind: 'found', file: path };
    names = readdirSync(path);
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') {
      return missing(
        'city-file-not-found',
        'there is no such file or folder',
        'make a city here with: gc init',
      );
    }
    return missing('city-file-unreadable', `cannot be read: ${messageOf(error)}`);
  }
  const found = CITY_FILE_NAMES.filter((name) => names.includes(name));
  const [first, second] = found;
  if (first === undefined) {
    const close = names.find((name) => nearest(name, CITY_FILE_NAMES) !== undefined);
    return missing(
      'city-file-not-found',
      `no city.yaml or city.toml in this folder${close === undefined ? '' : `; did you mean "${close}" to be one?`}`,
      'make a city here with: gc init',
    );
  }
  if (second !== undefined) {
    return missing(
      'two-city-files',
      `the folder has both ${found.join(' and ')}`,
      'keep the one that is meant, rename the other',
      { file: join(path, first) },
    );
  }
  return { kind: 'found', file: join(path, first) };
}

export type TextResult =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'unreadable'; readonly problems: readonly ConfigProblem[] };

/** The text of a file: UTF-8, without byte order mark. */
export async function readText(file: string): Promise<TextResult> {
  const bad = (code: string, message: string, hint?: string): TextResult => ({
    kind: 'unreadable',
    problems: [{ severity: 'error', code, message, position: { file, line: 1, column: 1 }, hint }],
  });
  let bytes: Buffer;
  let descriptor: number | undefined;
  try {
    // Without waiting for a writer, should it be a pipe.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const info = fstatSync(descriptor);
    if (!info.isFile()) return bad('not-a-file', 'this is not a file');
    if (info.size > MAX_SOURCE_BYTES) {
      return bad('too-large', `the file has ${info.size} bytes; at most ${MAX_SOURCE_BYTES} are read`);
    }
    bytes = info.size === 0 ? Buffer.alloc(0) : readFileSync(descriptor);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return bad('file-not-found', 'there is no such file');
    if (codeOf(error) === 'EACCES') return bad('no-permission', 'no permission to read this file');
    return bad('unreadable', `cannot be read: ${messageOf(error)}`);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
  if (bytes.includes(0)) return bad('binary', 'this is a binary file, not text');
  try {
    return { kind: 'text', text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return bad('not-utf8', 'the file is not UTF-8 text', 'save it as UTF-8');
  }
}

/** Reads and parses a city file or a manifest by its ending; anything but `.toml` is YAML. */
export async function readDocument(file: string): Promise<{ parsed: ParseResult; text: string }> {
  const read = await readText(file);
  if (read.kind === 'unreadable') return { parsed: read, text: '' };
  return { parsed: await parseText(file, read.text), text: read.text };
}

/** Parses a text as the file of that name. */
export async function parseText(file: string, text: string): Promise<ParseResult> {
  if (isToml(file)) return parseToml(file, text);
  // A city of TOML files, and there are many, never needs the other reader.
  const { parseYaml } = await import('./yaml-document.ts');
  return parseYaml(file, text);
}

export function isToml(file: string): boolean {
  return extname(file).toLowerCase() === '.toml';
}

export type PathKind = 'file' | 'folder' | 'absent';

/** What is at a path; anything that cannot be looked at counts as absent. */
export async function pathKind(path: string): Promise<PathKind> {
  return kindOnDisk(path);
}

/** The same for those who may not wait. */
export function kindOnDisk(path: string): PathKind {
  try {
    const info = statSync(path, { throwIfNoEntry: false });
    if (!info) return 'absent';
    return info.isDirectory() ? 'folder' : 'file';
  } catch {
    // Whatever the reason, it cannot be used as a file or folder; the message about it names the path.
    return 'absent';
  }
}

/** Sorted names in a folder, empty when it is not there. */
export async function namesIn(dir: string): Promise<readonly string[]> {
  try {
    return readdirSync(dir).sort();
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return [];
    throw error;
  }
}
