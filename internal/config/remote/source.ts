import { GcError } from '../../platform/errors.ts';

/** Where a pack comes from. */
export type Source = LocalSource | RemoteSource;

export interface LocalSource {
  readonly kind: 'local';
  /** As written: absolute, `~/x`, `//x` (the city's folder), else relative to the file that names it. */
  readonly path: string;
}

export interface RemoteSource {
  readonly kind: 'remote';
  /** What git is given, in one spelling. */
  readonly url: string;
  /** Folder of the pack in the repository, without slashes at its ends; `''`: the repository itself. */
  readonly subpath: string;
  /** The branch, tag or commit written into the source; `''`: none. */
  readonly ref: string;
  /** As written: the key in `packs.lock`. */
  readonly original: string;
}

const SCHEMES: ReadonlySet<string> = new Set(['https', 'http', 'ssh', 'file']);
const URL_PATTERN = /^([a-z][a-z0-9+.-]*):\/\/(.*)$/i;
const SCP_PATTERN = /^([\w.-]+)@([^/:@]+):(.+)$/;
const GITHUB = 'github.com/';
/** Source: git's rules for ref names, and what a shell or an option parser could take for something else. */
const REF_PATTERN = /^[A-Za-z0-9_][A-Za-z0-9_./+-]*$/;
const HOST_PATTERN = /^[A-Za-z0-9[][A-Za-z0-9.:[\]_-]*$/;

/**
 * Reads the source of an import or include: a folder, or a git repository as `url//subpath#ref` or as the address of a
 * folder on GitHub. Source: Gas City remote sources. @throws GcError `bad-source`
 */
export function parseSource(text: string): Source {
  if (text === '') throw bad('a pack source must not be empty');
  if (/[\x00-\x1f\x7f-\x9f]/.test(text)) throw bad('a pack source must not hold control characters');
  if (text.startsWith('-')) throw bad(`a pack source must not start with "-": ${text}`);
  if (text.startsWith(GITHUB)) return parseUrl(text, 'https', text);
  const url = URL_PATTERN.exec(text);
  if (url) return parseUrl(text, (url[1] ?? '').toLowerCase(), url[2] ?? '');
  const scp = SCP_PATTERN.exec(text);
  if (scp) return parseScp(text, scp[1] ?? '', scp[2] ?? '', scp[3] ?? '');
  return { kind: 'local', path: text };
}

/** The same repository with another folder or ref: what `[packs.<name>]` writes in keys of its own. @throws GcError `bad-source` */
export function withParts(source: RemoteSource, subpath: string, ref: string): RemoteSource {
  return {
    ...source,
    subpath: subpath === '' ? source.subpath : checkedSubpath(subpath, source.original),
    ref: ref === '' ? source.ref : checkedRef(ref, source.original),
  };
}

/** `git` is given it as a ref: never an option, never a range. @throws GcError `bad-source` */
export function checkedRef(ref: string, shown: string): string {
  const isSafe = REF_PATTERN.test(ref) && !ref.includes('..') && !ref.endsWith('.lock') && !ref.endsWith('/');
  if (!isSafe) throw bad(`"${ref}" is not a usable branch, tag or commit (in ${shown})`);
  return ref;
}

/** The name that an import gets when none is given: the pack's folder, else the repository. */
export function defaultName(source: Source): string {
  const path = source.kind === 'local' ? source.path : source.subpath || source.url;
  const last = path.split(/[/:]/).findLast((part) => part !== '' && part !== '.' && part !== '..') ?? '';
  return last
    .replace(/\.git$/, '')
    .replace(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+|-+$/g, '');
}

function parseUrl(original: string, scheme: string, afterScheme: string): RemoteSource {
  if (!SCHEMES.has(scheme)) {
    throw bad(`"${scheme}://" is not a pack source (${[...SCHEMES].join(', ')}, git@host:path or a folder)`);
  }
  const { base, subpath, ref } = splitParts(afterScheme);
  const slash = base.indexOf('/');
  const authority = slash === -1 ? base : base.slice(0, slash);
  const path = slash === -1 ? '' : base.slice(slash + 1).replace(/\/+$/, '');
  const host = checkedAuthority(scheme, authority);
  const shown = `${scheme}://${host}/${path}`;
  if (path === '') throw bad(`${shown} names no repository`);
  if (path.includes('?')) throw bad(`${shown.split('?')[0]}: a pack source takes no query ("?...")`);
  const tree = githubTree(host, path);
  if (tree && (subpath !== '' || ref !== '')) {
    throw bad(`${shown} names a folder and a ref already; "//" and "#" do not go with it`);
  }
  return {
    kind: 'remote',
    url: `${scheme}://${host}/${tree ? tree.path : path}`,
    subpath: checkedSubpath(tree ? tree.subpath : subpath, shown),
    ref: optionalRef(tree ? tree.ref : ref, shown),
    original,
  };
}

function parseScp(original: string, user: string, host: string, rest: string): RemoteSource {
  const { base, subpath, ref } = splitParts(rest);
  const shown = `${user}@${host}:${base}`;
  if (!HOST_PATTERN.test(host) || user.startsWith('-') || base.startsWith('-')) {
    throw bad(`${shown} is not a usable address`);
  }
  const path = base.replace(/\/+$/, '');
  if (path === '') throw bad(`${shown} names no repository`);
  return {
    kind: 'remote',
    url: `${user}@${host}:${path}`,
    subpath: checkedSubpath(subpath, shown),
    ref: optionalRef(ref, shown),
    original,
  };
}

/** `repository//subpath#ref` */
function splitParts(text: string): { base: string; subpath: string; ref: string } {
  const hash = text.indexOf('#');
  const ref = hash === -1 ? '' : text.slice(hash + 1);
  const rest = hash === -1 ? text : text.slice(0, hash);
  // A file URL starts with an empty host, so its path begins after one slash.
  const double = rest.indexOf('//', rest.startsWith('/') ? 1 : 0);
  return double === -1
    ? { base: rest, subpath: '', ref }
    : { base: rest.slice(0, double), subpath: rest.slice(double + 2), ref };
}

/** Credentials belong to git: a source stands in files that are shared. */
function checkedAuthority(scheme: string, authority: string): string {
  const at = authority.lastIndexOf('@');
  const user = at === -1 ? '' : authority.slice(0, at);
  const host = authority.slice(at + 1).toLowerCase();
  if (user !== '' && (scheme !== 'ssh' || user.includes(':'))) {
    throw new GcError('bad-source', `the source on ${host} has a credential in its URL`, {
      next: `write it without: git asks its credential helper (git help credentials), or use ssh://git@${host}/...`,
    });
  }
  if (scheme === 'file') {
    if (host !== '' && host !== 'localhost') throw bad('a file source is written file:///path');
    return '';
  }
  if (!HOST_PATTERN.test(host) || (user !== '' && !/^[\w.-]+$/.test(user)) || user.startsWith('-')) {
    throw bad(`"${host}" is not a usable host`);
  }
  return user === '' ? host : `${user}@${host}`;
}

/** `owner/repository/tree/<ref>/<path>`: the ref is one path component. Source: Gas City GitHub tree URLs. */
function githubTree(host: string, path: string): { path: string; ref: string; subpath: string } | undefined {
  if (host !== 'github.com') return undefined;
  const [owner, repository, word, ref, ...rest] = path.split('/');
  if (word !== 'tree' || !owner || !repository || !ref) return undefined;
  return { path: `${owner}/${repository.replace(/\.git$/, '')}.git`, ref, subpath: rest.join('/') };
}

function checkedSubpath(subpath: string, shown: string): string {
  const path = subpath.replace(/^\/+|\/+$/g, '');
  const parts = path === '' ? [] : path.split('/');
  if (parts.some((part) => part === '..' || part.toLowerCase() === '.git') || path.includes('\\')) {
    throw bad(`"${subpath}" leaves the repository (in ${shown})`);
  }
  return parts.filter((part) => part !== '' && part !== '.').join('/');
}

function optionalRef(ref: string, shown: string): string {
  return ref === '' ? '' : checkedRef(ref, shown);
}

function bad(message: string): GcError {
  return new GcError('bad-source', message, {
    next: 'write a folder, or a repository such as https://host/owner/repository//folder',
  });
}
