import { GcError } from '../platform/errors.ts';

/**
 * Merges agent settings so that hooks of several overlays add up. Source of the rules: Gas City overlay merge; an entry
 * without identity is not appended again when an equal one is there, so that staging twice changes nothing.
 */

/** Relative paths of the files that are merged instead of replaced. */
const MERGEABLE: ReadonlySet<string> = new Set([
  '.claude/settings.json',
  '.gemini/settings.json',
  '.codex/hooks.json',
  '.cursor/hooks.json',
  '.github/hooks/gascity.json',
]);

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
  const hooks = mergeHooks(under['hooks'], over['hooks']);
  const { hooks: _dropped, ...rest } = { ...under, ...over };
  return toStableJson(hooks === undefined ? rest : { ...rest, hooks });
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
    const under = merged[category];
    merged[category] = isArray(under) && isArray(entries) ? mergeEntries(under, entries) : entries;
  }
  return merged;
}

function mergeEntries(base: readonly Json[], overlay: readonly Json[]): readonly Json[] {
  const merged = [...base];
  for (const entry of overlay) {
    const identity = identityOf(entry);
    if (identity === undefined) {
      if (!merged.some((other) => toStableJson(other) === toStableJson(entry))) merged.push(entry);
      continue;
    }
    const at = merged.findLastIndex((other) => identityOf(other) === identity);
    if (at < 0) merged.push(entry);
    else merged[at] = entry;
  }
  return merged;
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
