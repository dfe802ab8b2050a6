import type { City, Rig } from '../../../internal/config/city.ts';
import { shownPath } from '../../../internal/config/document/source-document.ts';
import { deriveBeadPrefix } from '../../../internal/config/qualified-name.ts';
import { GcError } from '../../../internal/platform/errors.ts';

export interface RigRequest {
  /** Absolute, symlinks resolved as far as it exists. */
  readonly path: string;
  readonly name: string;
  /** `undefined`: derived from the name. */
  readonly prefix: string | undefined;
  /** `undefined`: not asked for. */
  readonly includes: readonly string[] | undefined;
  readonly suspended: boolean;
}

export interface KnownCity extends Pick<City, 'root' | 'workspace'> {
  readonly rigs: readonly Pick<Rig, 'name' | 'path' | 'prefix' | 'includes'>[];
}

export type RigPlan =
  | { readonly kind: 'same'; readonly prefix: string; readonly includes: readonly string[] }
  | {
      readonly kind: 'add';
      readonly prefix: string;
      readonly includes: readonly string[];
      /** What is written into the city file. */
      readonly values: Readonly<Record<string, unknown>>;
    };

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;

/** What adding a rig means for a city. @throws GcError `bad-rig-name`, `bad-prefix`, `prefix-collision`, `rig-exists` */
export function planRig(city: KnownCity, request: RigRequest): RigPlan {
  const { name, path } = request;
  if (!NAME.test(name)) {
    throw new GcError('bad-rig-name', `"${name}" cannot be the name of a rig`, {
      next: 'use letters, digits, ".", "_" and "-": gc rig add <path> --name <name>',
    });
  }
  const prefix = request.prefix ?? deriveBeadPrefix(name);
  if (prefix === '' || /[^A-Za-z0-9_]/.test(prefix)) {
    throw new GcError('bad-prefix', `the bead prefix "${prefix}" must be letters and digits, without "-"`, {
      next: 'gc rig add <path> --prefix <letters>',
    });
  }
  const same = city.rigs.find((rig) => rig.name === name);
  if (same) return again(same, request);
  const other = city.rigs.find((rig) => rig.path === path);
  if (other) {
    throw new GcError('rig-exists', `${path} is rig "${other.name}" already`, {
      next: `gc rig status ${other.name}`,
    });
  }
  requireFreePrefix(city, prefix);
  const includes = request.includes ?? city.workspace.defaultRigIncludes;
  const values = {
    name,
    path: writtenPath(city.root, path),
    prefix: request.prefix,
    suspended: request.suspended ? true : undefined,
    includes: includes.length > 0 ? [...includes] : undefined,
  };
  return { kind: 'add', prefix, includes, values };
}

/** The same rig once more is fine; one that would be different is not. */
function again(known: KnownCity['rigs'][number], request: RigRequest): RigPlan {
  const differs = (what: string, now: string, next: string) =>
    new GcError('rig-exists', `rig "${known.name}" has ${what} ${now} already`, { next });
  const anew = `gc rig remove ${known.name}, then add it again`;
  if (known.path !== request.path) {
    throw differs('the path', known.path, 'gc rig add <path> --name <another name>');
  }
  if (request.prefix !== undefined && request.prefix.toLowerCase() !== known.prefix.toLowerCase()) {
    throw differs('the prefix', `"${known.prefix}"`, anew);
  }
  if (request.includes !== undefined && request.includes.join('\n') !== known.includes.join('\n')) {
    throw differs('the packs', known.includes.join(', ') || '(none)', anew);
  }
  return { kind: 'same', prefix: known.prefix, includes: known.includes };
}

function requireFreePrefix(city: KnownCity, prefix: string): void {
  const wanted = prefix.toLowerCase();
  const rig = city.rigs.find((candidate) => candidate.prefix.toLowerCase() === wanted);
  const isCitys = city.workspace.prefix.toLowerCase() === wanted;
  if (!rig && !isCitys) return;
  const holder = rig ? `rig "${rig.name}"` : 'the city itself';
  throw new GcError('prefix-collision', `the bead prefix "${prefix}" is that of ${holder}`, {
    next: 'choose another one: gc rig add <path> --prefix <letters>',
  });
}

/** `./repo` inside the city, absolute elsewhere. */
function writtenPath(root: string, path: string): string {
  const shown = shownPath(root, path);
  return shown === path ? path : `./${shown}`;
}
