import type { City, SourcePosition } from '../city.ts';
import { isMap } from '../document/source-document.ts';

/** Where something was written, and by which part of the configuration. */
export interface Written {
  readonly position: SourcePosition;
  /** `city.toml`, `pack gastown`, `patch in pack gastown`, `override of rig api`, `global of pack gastown`. */
  readonly layer: string;
}

/** One value that has no parts. */
export interface Leaf {
  /** In the city: `agents[0].env.PORT`. */
  readonly path: string;
  readonly value: unknown;
  readonly written: Written | undefined;
}

/** Keys that an older name may stand for. */
const OLD_NAMES: Readonly<Record<string, string>> = { 'daemon.formula_v2': 'daemon.graph_workflows' };

/** Where the value at a path of the city was written; `undefined`: nowhere. */
export function writtenAt({ provenance }: Pick<City, 'provenance'>, path: string): Written | undefined {
  for (const name of [path, OLD_NAMES[path]]) {
    const position = name === undefined ? undefined : provenance.positionOf(name);
    if (name !== undefined && position) return { position, layer: provenance.layerOf(name) ?? '' };
  }
  return undefined;
}

/** The parts of a value down to what has none; an empty list or map is one itself. */
export function leavesOf(city: Pick<City, 'provenance'>, path: string, value: unknown): readonly Leaf[] {
  const parts = partsOf(value);
  if (parts.length === 0) return [{ path, value, written: writtenAt(city, path) }];
  return parts.flatMap(([step, part]) => leavesOf(city, `${path}${step}`, part));
}

function partsOf(value: unknown): readonly (readonly [string, unknown])[] {
  if (Array.isArray(value)) return value.map((item: unknown, index) => [`[${index}]`, item]);
  if (!isMap(value)) return [];
  return Object.entries(value).flatMap(([key, part]) => (part === undefined ? [] : [[`.${key}`, part]]));
}

/** A layer that changes what another one declares, and so is worth naming beside the file. */
export function isChange(layer: string): boolean {
  return /^(patch in|override of|global of) /.test(layer);
}

/** Empty as a value that nobody wrote is. */
export function isZero(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0;
  if (isMap(value)) return Object.values(value).every(isZero);
  return value === undefined || value === '' || value === false || value === 0;
}

/** What of a table says something: written, even if it is zero, or neither empty nor the default. */
export function nonZero(
  table: Readonly<Record<string, unknown>>,
  defaults: Readonly<Record<string, unknown>>,
  isWritten: (key: string) => boolean,
): Record<string, unknown> {
  const kept = Object.entries(table).filter(
    ([key, value]) => value !== undefined && (isWritten(key) || (!isZero(value) && value !== defaults[key])),
  );
  return Object.fromEntries(
    kept.map(([key, value]) => [key, isMap(value) ? nonZero(value, {}, () => false) : value]),
  );
}
