import { GcError } from '../../platform/errors.ts';
import { isCommit } from './checkout.ts';
import type { LockEntry } from './lock-file.ts';
import { compareVersions, parseRange, parseVersion, type Range, satisfies, type Version } from './semver.ts';
import { checkedRef, type RemoteSource } from './source.ts';

/** What a repository offers. */
export interface RemoteRefs {
  /** The commit of its default branch; `undefined` for an empty repository. */
  readonly head: string | undefined;
  readonly tags: ReadonlyMap<string, string>;
  readonly branches: ReadonlyMap<string, string>;
}

/** One commit, and what it was found by. */
export interface Pin {
  readonly commit: string;
  /** A version without `v`, or `sha:<commit>`; `''` when a lock file does not say. */
  readonly version: string;
  /** Tag or branch; `''`: the commit itself or the default branch. */
  readonly ref: string;
}

/** A version that somebody asks of a repository, and who. */
export interface Wanted {
  /** `^1.2`, `>=1.0 <2`, `1.2.x`, a tag, a branch or `sha:<hex>`. */
  readonly version: string;
  /** `import "x" of the city` */
  readonly by: string;
}

const LEAST_HEX = 7;
const SHOWN_VERSIONS = 5;

/**
 * The commit that meets everything that is asked. Without anything asked: the ref in the source, else the default
 * branch. @throws GcError `version-not-found`, `version-conflict`, `bad-version`
 */
export function choosePin(source: RemoteSource, refs: RemoteRefs, wanted: readonly Wanted[]): Pin {
  const [first] = wanted;
  if (!first) return source.ref === '' ? pinOfHead(source, refs) : pinOfRef(source, refs, source.ref);
  const ranges = wanted.map(({ version }) => rangeOf(version, refs));
  const fixed = wanted.find((_, index) => ranges[index] === undefined);
  const pin = fixed
    ? pinOfRef(source, refs, fixed.version)
    : newest(
        source,
        refs,
        ranges.flatMap((range) => (range ? [range] : [])),
        wanted,
      );
  const against = wanted.find(({ version }) => !meets(pin, version));
  if (!against) return pin;
  const other = fixed ?? first;
  throw new GcError(
    'version-conflict',
    `${source.original}: ${other.by} wants ${other.version}, ${against.by} wants ${against.version}`,
    { next: 'make them agree on one version' },
  );
}

/** Whether a pinned commit is one that this version asks for. `''` asks for nothing. */
export function meets(pin: Pick<LockEntry, 'commit' | 'version' | 'ref'>, version: string): boolean {
  if (version === '') return true;
  const sha = shaOf(version);
  if (sha !== undefined) return pin.commit.startsWith(sha);
  // An entry that a person wrote with nothing but a commit is taken at its word.
  if (pin.version === '' && pin.ref === '') return true;
  if (version === pin.ref || version === pin.version) return true;
  const range = parseRange(version);
  const pinned = parseVersion(pin.version);
  return range !== undefined && pinned !== undefined && satisfies(pinned, range);
}

/** The constraint that a new import gets: everything compatible with the newest release, or nothing without releases. */
export function defaultConstraint(refs: RemoteRefs): string {
  const found = versionsOf(refs).findLast(({ version }) => version.pre.length === 0);
  return found ? `^${found.version.numbers[0]}.${found.version.numbers[1]}` : '';
}

/** @throws GcError `bad-version` */
export function checkVersion(version: string): void {
  if (shaOf(version) !== undefined || parseRange(version) !== undefined) return;
  if (/^sha:/.test(version)) throw badVersion(version);
  try {
    checkedRef(version, version);
  } catch (error) {
    throw badVersion(version, error);
  }
}

function badVersion(version: string, cause?: unknown): GcError {
  return new GcError('bad-version', `"${version}" is no version`, {
    next: 'write for example ^1.2, >=1.0 <2, 1.2.x, a tag, a branch or sha:<commit>',
    cause,
  });
}

function shaOf(version: string): string | undefined {
  return /^sha:([0-9a-f]{7,64})$/.exec(version)?.[1];
}

/** A range, unless a tag or branch has that very name. */
function rangeOf(version: string, refs: RemoteRefs): Range | undefined {
  if (refs.tags.has(version) || shaOf(version) !== undefined) return undefined;
  const range = parseRange(version);
  if (!range) return undefined;
  const isOnlyBranch =
    refs.branches.has(version) && !versionsOf(refs).some((tag) => satisfies(tag.version, range));
  return isOnlyBranch ? undefined : range;
}

function pinOfHead(source: RemoteSource, refs: RemoteRefs): Pin {
  if (refs.head === undefined) throw notFound(source, 'the repository is empty');
  return { commit: refs.head, version: `sha:${refs.head}`, ref: '' };
}

function pinOfRef(source: RemoteSource, refs: RemoteRefs, name: string): Pin {
  checkVersion(name);
  const tag = refs.tags.get(name);
  if (tag !== undefined) {
    const isVersion = parseVersion(name) !== undefined;
    return { commit: tag, version: isVersion ? name.replace(/^v/, '') : `sha:${tag}`, ref: name };
  }
  const branch = refs.branches.get(name);
  if (branch !== undefined) return { commit: branch, version: `sha:${branch}`, ref: name };
  const hex = shaOf(name) ?? name;
  if (isCommit(hex)) return { commit: hex, version: `sha:${hex}`, ref: '' };
  return pinOfShortHex(source, refs, hex, name);
}

/** A shortened commit is known only when a tag or branch stands at it. */
function pinOfShortHex(source: RemoteSource, refs: RemoteRefs, hex: string, name: string): Pin {
  const tips = new Set([...refs.tags.values(), ...refs.branches.values(), ...(refs.head ? [refs.head] : [])]);
  const isHex = hex.length >= LEAST_HEX && /^[0-9a-f]+$/.test(hex);
  const found = isHex ? [...tips].filter((commit) => commit.startsWith(hex)) : [];
  const [commit] = found;
  if (commit !== undefined && found.length === 1) return { commit, version: `sha:${commit}`, ref: '' };
  throw notFound(
    source,
    shaOf(name) === undefined
      ? `there is no tag, branch or commit "${name}"`
      : `no tag or branch stands at ${hex}; write the whole commit`,
  );
}

function newest(
  source: RemoteSource,
  refs: RemoteRefs,
  ranges: readonly Range[],
  wanted: readonly Wanted[],
): Pin {
  const versions = versionsOf(refs);
  const found = versions.findLast(({ version }) => ranges.every((range) => satisfies(version, range)));
  if (found) return { commit: found.commit, version: found.tag.replace(/^v/, ''), ref: found.tag };
  const alone = wanted.find(
    (_, index) => !versions.some(({ version }) => satisfies(version, ranges[index] ?? [])),
  );
  const [first, second] = wanted;
  if (alone || !first || !second) {
    const tags = versions.slice(-SHOWN_VERSIONS).map(({ tag }) => tag);
    const offered = tags.length === 0 ? 'it has no version tags' : `newest: ${tags.reverse().join(', ')}`;
    throw notFound(source, `no version meets ${(alone ?? first)?.version ?? ''} (${offered})`);
  }
  const asked = wanted.map(({ by, version }) => `${by} wants ${version}`).join(', ');
  throw new GcError('version-conflict', `${source.original}: no version meets all: ${asked}`, {
    next: 'make them agree on one version',
  });
}

/** Tags that are versions, oldest first. */
function versionsOf(refs: RemoteRefs): readonly { tag: string; commit: string; version: Version }[] {
  return [...refs.tags]
    .flatMap(([tag, commit]) => {
      const version = parseVersion(tag);
      return version ? [{ tag, commit, version }] : [];
    })
    .sort((a, b) => compareVersions(a.version, b.version));
}

function notFound(source: RemoteSource, message: string): GcError {
  return new GcError('version-not-found', `${source.original}: ${message}`, {
    next: `git ls-remote ${source.url}`,
  });
}
