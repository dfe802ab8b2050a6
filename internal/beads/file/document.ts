import { GcError, messageOf } from '../../platform/errors.ts';
import type { Dependency } from '../store.ts';

/** One object of the file as it stands there, with whatever keys others keep in it. Never changed in place. */
export type RawBead = Readonly<Record<string, unknown>>;

/**
 * What `beads.json` holds. Source of the layout: Gas City's file store: `seq`, `beads`, `deps`. What is not understood
 * is kept and written back.
 */
export interface BeadDocument {
  /** The last number that was given out. */
  readonly seq: number;
  /** By id, in the order of the file. */
  readonly beads: ReadonlyMap<string, RawBead>;
  readonly deps: readonly RawBead[];
  /** Entries of `beads` that are no beads. */
  readonly oddBeads: readonly unknown[];
  /** Entries of `deps` that are no objects. */
  readonly oddDeps: readonly unknown[];
  /** Other keys of the root. */
  readonly rest: Readonly<Record<string, unknown>>;
}

export const EMPTY_DOCUMENT: BeadDocument = {
  seq: 0,
  beads: new Map(),
  deps: [],
  oddBeads: [],
  oddDeps: [],
  rest: {},
};

/** A number that a bead's id ends in, whatever its prefix. */
const NUMBERED = /-(\d{1,15})$/;

/** @throws GcError `store-corrupt`; `file` is named in it */
export function parseDocument(text: string, file: string): BeadDocument {
  const root = parsed(text, file);
  if (!isObject(root)) throw corrupt(file, 'it holds no JSON object');
  const { seq, beads, deps, ...rest } = root;
  const entries = listIn(beads, 'beads', file);
  const links = listIn(deps, 'deps', file);
  const byId = new Map<string, RawBead>();
  const oddBeads: unknown[] = [];
  for (const entry of entries) {
    const id = isObject(entry) ? entry['id'] : undefined;
    if (!isObject(entry) || typeof id !== 'string' || id === '' || byId.has(id)) oddBeads.push(entry);
    else byId.set(id, entry);
  }
  return {
    seq: highest(byId.keys(), wholeNumber(seq)),
    beads: byId,
    deps: links.filter(isObject),
    oddBeads,
    oddDeps: links.filter((link) => !isObject(link)),
    rest,
  };
}

/** As it is written: indented, as Gas City does. */
export function documentText({ seq, beads, deps, oddBeads, oddDeps, rest }: BeadDocument): string {
  const links = [...deps, ...oddDeps];
  const root = {
    seq,
    beads: [...beads.values(), ...oddBeads],
    ...(links.length === 0 ? {} : { deps: links }),
    ...rest,
  };
  return `${JSON.stringify(root, null, 2)}\n`;
}

function listIn(value: unknown, key: string, file: string): readonly unknown[] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value;
  throw corrupt(file, `"${key}" is not a list`);
}

export function toDependency(raw: RawBead): Dependency {
  return {
    issue_id: textOf(raw['issue_id']),
    depends_on_id: textOf(raw['depends_on_id']),
    type: textOf(raw['type']),
  };
}

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

export function isObject(value: unknown): value is RawBead {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whoever wrote a bead without counting must not have its id given out again. */
function highest(ids: Iterable<string>, seq: number): number {
  let found = seq;
  for (const id of ids) found = Math.max(found, Number(NUMBERED.exec(id)?.[1] ?? 0));
  return found;
}

const wholeNumber = (value: unknown): number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : 0;

function parsed(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw corrupt(file, messageOf(error), error);
  }
}

function corrupt(file: string, why: string, cause?: unknown): GcError {
  return new GcError('store-corrupt', `${file} cannot be read as beads: ${why}`, {
    cause,
    next: `mend it, or move ${file} away; nothing is written into it meanwhile`,
  });
}
