import type { SourcePosition } from '../city.ts';
import { locate, pathText, type SourceDocument, type ValuePath } from '../document/source-document.ts';
import type { CheckedPlace } from '../schema/check-schema.ts';

/** Where a value was written, and by which part of the configuration. */
export interface Origin {
  readonly document: SourceDocument;
  readonly path: ValuePath;
  /** As people speak of it: `city.toml`, `pack gastown`, `patch in pack gastown`, `override of rig api`. */
  readonly layer: string;
  /** Written by a pack about an agent, its own or one of another pack. */
  readonly ofPack?: true;
}

/** A table that holds together, where it stands, and who changed which of its values since. */
export interface Entry<T> extends CheckedPlace {
  readonly value: T;
  readonly layer: string;
  /** By path inside the table (`nudge`, `env.PORT`, `pre_start[2]`). */
  readonly changes?: ReadonlyMap<string, Origin>;
}

/** Where one of the entry's values was written: by the last one who set it, or in the entry itself. */
export function originOf(entry: Entry<unknown>, keys: ValuePath): Origin {
  for (let length = keys.length; length > 0; length -= 1) {
    const change = entry.changes?.get(pathText(keys.slice(0, length)));
    if (change) return { ...change, path: [...change.path, ...keys.slice(length)] };
  }
  return { document: entry.document, path: [...entry.path, ...keys], layer: entry.layer };
}

/** The line and column of one of the entry's values, or of the nearest thing around it. */
export function placeOf(
  entry: Entry<unknown>,
  keys: ValuePath,
  part: 'key' | 'value' = 'key',
): SourcePosition {
  const { document, path } = originOf(entry, keys);
  return locate(document, path, part);
}

/** The same, only when it is really written somewhere. */
export function writtenPlace(entry: Entry<unknown>, keys: ValuePath): SourcePosition | undefined {
  const { document, path } = originOf(entry, keys);
  const isThere = document.spanOf(path, 'key') ?? document.spanOf(path, 'value');
  return isThere && locate(document, path);
}

/** The entry with other values, each told to stand where `origin` says. */
export function changed<E extends Entry<unknown>>(
  entry: E,
  value: E['value'],
  origins: Readonly<Record<string, Origin>>,
): E {
  const before = [...(entry.changes ?? [])].filter(
    ([path]) => !Object.keys(origins).some((key) => isBelow(path, key)),
  );
  return { ...entry, value, changes: new Map([...before, ...Object.entries(origins)]) };
}

/** What was known about the parts of a value is void once the whole of it is set. */
function isBelow(path: string, key: string): boolean {
  return path.startsWith(`${key}.`) || path.startsWith(`${key}[`);
}
