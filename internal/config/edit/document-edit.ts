import { isDeepStrictEqual } from 'node:util';
import { parseText } from '../document/read-source.ts';
import {
  isMap,
  pathText,
  type SourceDocument,
  type ValuePath,
  valueAt,
} from '../document/source-document.ts';
import { EditError, unreadable } from './edit-error.ts';
import { type Candidates, tomlAppend, tomlInsertTable, tomlRemove, tomlSet } from './toml-edit.ts';
import { yamlAppend, yamlInsert, yamlRemove, yamlSet } from './yaml-edit.ts';

/**
 * Edits of a city file, pack or manifest as text. Comments, order, unknown keys, line breaks and indentation stay as
 * they are; the new text means the old data with exactly the one change, or `ambiguous-edit` is thrown.
 * `file` gives the format and the name for messages; nothing is read or written.
 */

/** Adds a table that is not there yet: `['imports', 'gastown']` is `[imports.gastown]` or a map in a map. */
export async function insertTable(
  text: string,
  file: string,
  path: readonly string[],
  values: Record<string, unknown>,
): Promise<string> {
  const document = await parsed(text, file);
  const wanted = cleaned(values);
  if (valueAt(document.data, path) !== undefined) {
    throw new EditError('already-there', `${file} has "${pathText(path)}" already`, {
      next: 'change it by hand, or remove it first',
    });
  }
  const candidates =
    document.format === 'toml' ? tomlInsertTable(document, path, wanted) : yamlInsert(document, path, wanted);
  return settled(document, path, candidates, [withValue(document.data, path, wanted)]);
}

/** Adds a map at the end of a list, which is made when it is missing: `[[rigs]]` or `- name: ...`. */
export async function appendItem(
  text: string,
  file: string,
  listPath: ValuePath,
  values: Record<string, unknown>,
): Promise<string> {
  const document = await parsed(text, file);
  const wanted = cleaned(values);
  const list = valueAt(document.data, listPath) ?? [];
  if (!Array.isArray(list)) throw ambiguous(document, listPath);
  const candidates =
    document.format === 'toml'
      ? tomlAppend(document, listPath, wanted)
      : yamlAppend(document, listPath, wanted);
  return settled(document, listPath, candidates, [withValue(document.data, listPath, [...list, wanted])]);
}

/**
 * Takes out a value, a table or an item of a list, with the comments that belong to it: those right above it, and those
 * right below it that nothing else follows. A map or list that holds nothing else goes with it.
 */
export async function removeAt(text: string, file: string, path: ValuePath): Promise<string> {
  const document = await parsed(text, file);
  if (path.length === 0 || valueAt(document.data, path) === undefined) {
    throw new EditError('not-there', `${file} has no "${pathText(path)}"`, { next: 'gc config show' });
  }
  const candidates = document.format === 'toml' ? tomlRemove(document, path) : yamlRemove(document, path);
  return settled(document, path, candidates, withoutValue(document.data, path));
}

/** Changes or adds one value: a text, number, boolean, list, or small map. */
export async function setValue(text: string, file: string, path: ValuePath, value: unknown): Promise<string> {
  const document = await parsed(text, file);
  if (isDeepStrictEqual(valueAt(document.data, path), value)) return text;
  const candidates =
    document.format === 'toml' ? tomlSet(document, path, value) : yamlSet(document, path, value);
  return settled(document, path, candidates, [withValue(document.data, path, value)]);
}

async function parsed(text: string, file: string): Promise<SourceDocument> {
  const result = await parseText(file, text);
  if (result.kind === 'parsed') return result.document;
  throw unreadable(file, result.problems);
}

/** The first text that means one of the accepted things. */
async function settled(
  document: SourceDocument,
  path: ValuePath,
  candidates: Candidates,
  accepted: readonly unknown[],
): Promise<string> {
  for (const candidate of candidates) {
    const again = await parseText(document.file, candidate);
    if (again.kind !== 'parsed') continue;
    const { data } = again.document;
    if (accepted.some((wanted) => isDeepStrictEqual(data, wanted))) return candidate;
  }
  throw ambiguous(document, path);
}

function ambiguous(document: SourceDocument, path: ValuePath): EditError {
  return new EditError(
    'ambiguous-edit',
    `"${pathText(path)}" in ${document.file} cannot be changed without touching more`,
    { next: 'edit the file by hand' },
  );
}

/** Without entries that are `undefined`, as they are written. */
function cleaned(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values)
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [key, isMap(value) ? cleaned(value) : value]),
  );
}

function withValue(data: unknown, path: ValuePath, value: unknown): unknown {
  const [segment, ...rest] = path;
  if (segment === undefined) return value;
  if (Array.isArray(data) && typeof segment === 'number') {
    return data.map((item: unknown, index) => (index === segment ? withValue(item, rest, value) : item));
  }
  const map = isMap(data) ? data : {};
  return {
    ...map,
    [segment]: withValue(Object.hasOwn(map, segment) ? map[segment] : undefined, rest, value),
  };
}

/** What may be left: the containers of the value may be empty, or gone when they held nothing else. */
function withoutValue(data: unknown, path: ValuePath): readonly unknown[] {
  const parent = path.slice(0, -1);
  const last = path.at(-1);
  const holder = valueAt(data, parent);
  const left = Array.isArray(holder)
    ? holder.filter((_, index) => index !== last)
    : Object.fromEntries(Object.entries(isMap(holder) ? holder : {}).filter(([key]) => key !== last));
  const without = parent.length === 0 ? left : withValue(data, parent, left);
  const isEmpty = Object.keys(left).length === 0;
  if (!isEmpty) return [without];
  if (parent.length === 0) return [without, null];
  return [without, ...withoutValue(data, parent)];
}
