import { sep } from 'node:path';
import type { BeadFilter } from '../../../internal/beads/store.ts';
import { GcError } from '../../../internal/platform/errors.ts';

/** The prefixes of a city and its rigs: what the city file says about ids. */
export interface Prefixes {
  readonly city: string;
  /** Paths are absolute, symlinks resolved. */
  readonly rigs: readonly { readonly name: string; readonly path: string; readonly prefix: string }[];
}

/** Whose work is meant, and what a new bead's id starts with. */
export interface Scope {
  readonly prefix: string;
  readonly filter: Pick<BeadFilter, 'idPrefix' | 'notIdPrefixes'>;
}

export interface ScopeChoice {
  /** `--rig`; `''` is the city. */
  readonly rigOption: string | undefined;
  readonly allRigs: boolean;
  /** `GC_RIG`. */
  readonly envRig: string | undefined;
  /** Absolute, symlinks resolved. */
  readonly cwd: string;
}

/**
 * The rig that was named, else that of `GC_RIG`, else the one whose folder this is; else the city, to which everything
 * belongs that no rig claims. @throws GcError `unknown-rig`
 */
export function chooseScope(prefixes: Prefixes, choice: ScopeChoice): Scope {
  const rig = rigOf(prefixes, choice);
  const prefix = rig?.prefix ?? prefixes.city;
  if (choice.allRigs) return { prefix, filter: {} };
  if (rig) return { prefix, filter: { idPrefix: rig.prefix } };
  return { prefix, filter: { notIdPrefixes: prefixes.rigs.map((each) => each.prefix) } };
}

function rigOf({ rigs }: Prefixes, { rigOption, envRig, cwd }: ScopeChoice) {
  const named = rigOption ?? (envRig || undefined);
  if (named === '') return undefined;
  if (named !== undefined) {
    const rig = rigs.find(({ name }) => name === named);
    if (rig) return rig;
    const known = rigs.map(({ name }) => name).join(', ') || 'none';
    const from = rigOption === undefined ? 'GC_RIG names' : 'there is';
    throw new GcError('unknown-rig', `${from} no rig "${named}" of this city (its rigs: ${known})`);
  }
  const around = rigs.filter(
    ({ path }) => cwd === path || cwd.startsWith(path.endsWith(sep) ? path : path + sep),
  );
  return around.toSorted((a, b) => b.path.length - a.path.length)[0];
}
