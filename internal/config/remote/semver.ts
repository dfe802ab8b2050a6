/** A version by semver.org; build metadata is left out: it does not take part in any order. */
export interface Version {
  readonly numbers: readonly [number, number, number];
  /** Empty for a release. */
  readonly pre: readonly (string | number)[];
}

/** Alternatives, each a list of bounds that all must hold. */
export type Range = readonly (readonly Bound[])[];

interface Bound {
  readonly op: '>=' | '>' | '<' | '<=' | '=';
  readonly version: Version;
}

const VERSION =
  /^v?(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+[0-9A-Za-z.-]+)?$/;
const PARTIAL =
  /^v?(x|X|\*|0|[1-9]\d*)(?:\.(x|X|\*|0|[1-9]\d*))?(?:\.(x|X|\*|0|[1-9]\d*))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;

/** A whole version, with or without `v`; `undefined` for anything else, such as the moving tag `v1`. */
export function parseVersion(text: string): Version | undefined {
  const found = VERSION.exec(text);
  if (!found) return undefined;
  const numbers = [Number(found[1]), Number(found[2]), Number(found[3])] as const;
  if (numbers.some((number) => !Number.isSafeInteger(number))) return undefined;
  return { numbers, pre: parsePre(found[4]) };
}

/** Below 0: `a` comes first. Source: semver.org 2.0.0, item 11. */
export function compareVersions(a: Version, b: Version): number {
  for (let index = 0; index < 3; index += 1) {
    const difference = (a.numbers[index] ?? 0) - (b.numbers[index] ?? 0);
    if (difference !== 0) return difference;
  }
  if (a.pre.length === 0 || b.pre.length === 0) return b.pre.length - a.pre.length;
  for (let index = 0; index < Math.min(a.pre.length, b.pre.length); index += 1) {
    const difference = comparePre(a.pre[index] ?? 0, b.pre[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return a.pre.length - b.pre.length;
}

/**
 * A range in npm's words: `^1.2`, `~1.2.3`, `1.2.x`, `*`, `>=1.0 <2` (a blank or a comma between), `1.2 - 2`, `a || b`.
 * `undefined` when it is none.
 */
export function parseRange(text: string): Range | undefined {
  const alternatives: Bound[][] = [];
  for (const part of text.split('||')) {
    const bounds = parseAlternative(part.trim());
    if (!bounds) return undefined;
    alternatives.push(bounds);
  }
  return alternatives;
}

/** A pre-release is taken only by a bound that names a pre-release of the same three numbers. Source: npm's rule. */
export function satisfies(version: Version, range: Range): boolean {
  return range.some((bounds) => {
    if (!bounds.every((bound) => holds(version, bound))) return false;
    const isNamed = (bound: Bound) =>
      bound.version.pre.length > 0 && bound.version.numbers.every((n, index) => n === version.numbers[index]);
    return version.pre.length === 0 || bounds.some(isNamed);
  });
}

function parsePre(text: string | undefined): (string | number)[] {
  if (text === undefined) return [];
  return text.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part));
}

function comparePre(a: string | number, b: string | number): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'number') return -1;
  if (typeof b === 'number') return 1;
  return a === b ? 0 : a < b ? -1 : 1;
}

function holds(version: Version, bound: Bound): boolean {
  const order = compareVersions(version, bound.version);
  switch (bound.op) {
    case '>=':
      return order >= 0;
    case '>':
      return order > 0;
    case '<':
      return order < 0;
    case '<=':
      return order <= 0;
    case '=':
      return order === 0;
  }
}

function parseAlternative(text: string): Bound[] | undefined {
  const hyphen = /^(\S+)\s+-\s+(\S+)$/.exec(text);
  if (hyphen) {
    const from = partial(hyphen[1] ?? '');
    const to = partial(hyphen[2] ?? '');
    return from && to ? [atLeast(from), ...upTo(to)] : undefined;
  }
  const bounds: Bound[] = [];
  const words = text.replace(/([<>=^~]+)\s+/g, '$1').split(/[\s,]+/);
  for (const word of words.filter((each) => each !== '')) {
    const found = /^(\^|~|>=|<=|>|<|=)?(.+)$/.exec(word);
    const version = partial(found?.[2] ?? '');
    if (!version) return undefined;
    bounds.push(...boundsOf(found?.[1] ?? '', version));
  }
  return bounds.length > 0 ? bounds : undefined;
}

interface PartialVersion {
  /** How many of the three numbers were written. */
  readonly given: number;
  readonly version: Version;
}

function partial(text: string): PartialVersion | undefined {
  const found = PARTIAL.exec(text);
  if (!found) return undefined;
  const written = [found[1], found[2], found[3]];
  const firstOpen = written.findIndex((part) => part === undefined || /^[xX*]$/.test(part));
  const given = firstOpen === -1 ? 3 : firstOpen;
  const number = (index: number) => (index < given ? Number(written[index]) : 0);
  if (given < 3 && found[4] !== undefined) return undefined;
  return { given, version: { numbers: [number(0), number(1), number(2)], pre: parsePre(found[4]) } };
}

function boundsOf(op: string, wanted: PartialVersion): Bound[] {
  const { given, version } = wanted;
  const [major, minor] = version.numbers;
  switch (op) {
    case '^': {
      const place = major > 0 || given <= 1 ? 0 : minor > 0 || given === 2 ? 1 : 2;
      return given === 0 ? [atLeast(wanted)] : [atLeast(wanted), below(version, place)];
    }
    case '~':
      return given === 0 ? [atLeast(wanted)] : [atLeast(wanted), below(version, given === 1 ? 0 : 1)];
    case '>=':
      return [atLeast(wanted)];
    case '>':
      return given === 3 ? [{ op: '>', version }] : [{ op: '>=', version: raised(version, given - 1) }];
    case '<':
      return [{ op: '<', version }];
    case '<=':
      return upTo(wanted);
    default:
      if (given === 3) return [{ op: '=', version }];
      return given === 0 ? [atLeast(wanted)] : [atLeast(wanted), below(version, given - 1)];
  }
}

function atLeast({ version }: PartialVersion): Bound {
  return { op: '>=', version };
}

function upTo({ given, version }: PartialVersion): Bound[] {
  if (given === 3) return [{ op: '<=', version }];
  return given === 0 ? [] : [below(version, given - 1)];
}

function below(version: Version, place: number): Bound {
  return { op: '<', version: raised(version, place) };
}

/** The first version in which the number at this place is one higher. */
function raised(version: Version, place: number): Version {
  const [major, minor, patch] = version.numbers;
  const numbers: readonly [number, number, number] =
    place <= 0 ? [major + 1, 0, 0] : place === 1 ? [major, minor + 1, 0] : [major, minor, patch + 1];
  return { numbers, pre: [] };
}
