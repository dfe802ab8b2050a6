import { GcError } from '../platform/errors.ts';

/**
 * Merges agent settings so that what several overlays say adds up. Source of the rules: Gas City overlay merge, with three
 * differences: objects are merged key by key at every depth, an entry without identity is not appended again when an equal
 * one is there, and entries of one identity within one overlay all stay. So nothing is lost, and staging twice changes
 * nothing.
 */

/** Relative paths of the files that are merged instead of replaced. */
const MERGEABLE: ReadonlySet<string> = new Set([
  '.claude/settings.json',
  '.gemini/settings.json',
  '.codex/hooks.json',
  '.cursor/hooks.json',
  '.github/hooks/gascity.json',
]);

export const mergeablePaths = (): readonly string[] => [...MERGEABLE];

export function isMergeable(relativePath: string): boolean {
  return MERGEABLE.has(relativePath);
}

type Json = null | boolean | number | string | readonly Json[] | JsonObject;
interface JsonObject {
  readonly [key: string]: Json;
}

/** `overlay` over `base`, both JSON texts. @throws GcError `overlay-merge` when one is not a JSON object (or null). */
export function mergeSettings(base: string, overlay: string): string {
  const under = parseObject(base, 'base');
  const over = parseObject(overlay, 'overlay');
  const merged = new Map<string, Json>();
  for (const key of new Set([...Object.keys(under), ...Object.keys(over)])) {
    const merge = key === 'hooks' ? mergeHooks : mergeValues;
    const value = merge(own(under, key), own(over, key));
    if (value !== undefined) merged.set(key, value);
  }
  return toStableJson(Object.fromEntries(merged));
}

/** Objects key by key; anything else is the overlay's, where it says something. */
function mergeValues(base: Json | undefined, overlay: Json | undefined): Json | undefined {
  if (overlay === undefined) return base;
  if (!isObject(base) || !isObject(overlay)) return overlay;
  const keys = new Set([...Object.keys(base), ...Object.keys(overlay)]);
  return Object.fromEntries(
    [...keys].map((key) => [key, mergeValues(own(base, key), own(overlay, key)) ?? null]),
  );
}

/** Not what every object inherits: a file may have any key. */
function own(object: JsonObject, key: string): Json | undefined {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function parseObject(text: string, which: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new GcError('overlay-merge', `merge: parsing ${which}: not valid JSON`, { cause: error });
  }
  if (value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new GcError('overlay-merge', `merge: parsing ${which}: not a JSON object`);
  }
  return value as JsonObject;
}

function mergeHooks(base: Json | undefined, overlay: Json | undefined): Json | undefined {
  if (!isObject(overlay)) return base;
  if (!isObject(base)) return overlay;
  const merged: Record<string, Json> = { ...base };
  for (const [category, entries] of Object.entries(overlay)) {
    const under = own(merged, category);
    merged[category] = isArray(under) && isArray(entries) ? mergeEntries(under, entries) : entries;
  }
  return merged;
}

/**
 * Entries of one identity replace the base's of that identity in place, the last ones first in line when it has more;
 * what finds no place is appended.
 */
function mergeEntries(base: readonly Json[], overlay: readonly Json[]): readonly Json[] {
  const merged = [...base];
  const places = new Map<string, number[]>();
  for (const entry of overlay) {
    const identity = identityOf(entry);
    if (identity === undefined) {
      if (!merged.some((other) => toStableJson(other) === toStableJson(entry))) merged.push(entry);
      continue;
    }
    const open = places.get(identity) ?? placesOf(identity, base, overlay);
    places.set(identity, open);
    const at = open.shift();
    if (at === undefined) merged.push(entry);
    else merged[at] = entry;
  }
  return merged;
}

/** Where the overlay's entries of an identity go: as many of the base's last ones as the overlay has. */
function placesOf(identity: string, base: readonly Json[], overlay: readonly Json[]): number[] {
  const has = (entry: Json) => identityOf(entry) === identity;
  const there = base.flatMap((entry, index) => (has(entry) ? [index] : []));
  return there.slice(-overlay.filter(has).length);
}

/** `undefined`: the entry can not be told from another one. A key that is there with a value of another type ends the search. */
function identityOf(entry: Json): string | undefined {
  if (!isObject(entry)) return undefined;
  for (const [key, prefix] of [
    ['matcher', ''],
    ['command', 'cmd:'],
    ['bash', 'bash:'],
  ] as const) {
    if (!(key in entry)) continue;
    const value = entry[key];
    return typeof value === 'string' ? prefix + value : undefined;
  }
  return undefined;
}

/**
 * Two-space JSON with keys in bytewise order, `<`, `>`, `&`, U+2028 and U+2029 escaped, and a newline at the end.
 * Written by hand: an object cannot hold keys like `"10"` in any order of ours.
 */
function toStableJson(value: Json): string {
  return `${write(value, '').replace(/[<>&\u2028\u2029]/g, escapeUnit)}\n`;
}

function write(value: Json, indent: string): string {
  const inner = `${indent}  `;
  if (isArray(value)) {
    if (value.length === 0) return '[]';
    return `[\n${value.map((item) => inner + write(item, inner)).join(',\n')}\n${indent}]`;
  }
  if (!isObject(value)) return JSON.stringify(value);
  const keys = Object.keys(value).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  if (keys.length === 0) return '{}';
  const lines = keys.map((key) => `${inner}${JSON.stringify(key)}: ${write(value[key] ?? null, inner)}`);
  return `{\n${lines.join(',\n')}\n${indent}}`;
}

function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const isArray = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);
const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
