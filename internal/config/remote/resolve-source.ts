import { join, resolve, sep } from 'node:path';
import { GcError } from '../../platform/errors.ts';
import { pathKind } from '../document/read-source.ts';
import { shownPosition } from '../document/source-document.ts';
import type { RawPackSource } from '../schema/schema-import.ts';
import { cacheDirOf, includeCacheDir, namedPackDir } from './cache-paths.ts';
import { headOf, insideOf } from './checkout.ts';
import type { Lock, LockTable } from './lock-file.ts';
import { meets } from './pin.ts';
import { parseSource, type RemoteSource, withParts } from './source.ts';

/** Who asks, and from where. */
export interface SourceContext {
  readonly cityRoot: string;
  /** The user's home: `~` in a path, and where fetched repositories are. */
  readonly home: string;
  /** What relative paths start from: the folder of the file that names the source. */
  readonly baseDir: string;
  readonly lock: Lock;
  /** What the import asks for; `''` or absent: anything. */
  readonly version?: string | undefined;
  /** The repository that the asking pack came in: its paths stay inside. */
  readonly root?: string | undefined;
}

export type ResolvedSource =
  | {
      readonly kind: 'dir';
      readonly dir: string;
      /** Nothing of this pack may lead out of it; `undefined` for a folder of the user's own. */
      readonly root: string | undefined;
    }
  | {
      readonly kind: 'missing';
      /** `bad-source`, `no-folder`, `leaves-repository`, `lock-unreadable`, `not-locked`, `lock-outdated`, `not-cached`, `cache-changed`. */
      readonly code: string;
      readonly message: string;
      /** What to type, or to do. */
      readonly next: string;
    };

const INSTALL = 'gc import install';
const FETCH = 'gc pack fetch';

/** The folder of a pack, from what is on this machine: nothing is ever fetched here. */
export async function resolveSource(text: string, context: SourceContext): Promise<ResolvedSource> {
  return parsed(
    () => parseSource(text),
    (source) =>
      source.kind === 'local' ? resolveLocal(source.path, context) : resolveRemote(source, context),
  );
}

/** The folder of `[packs.<name>]`. Source: Gas City named packs. */
export async function resolveNamedPack(
  name: string,
  declared: RawPackSource,
  context: SourceContext,
): Promise<ResolvedSource> {
  return parsed(
    () => namedSource(declared),
    async (source) => {
      if (source.kind === 'local') return resolveLocal(join(source.path, declared.path ?? ''), context);
      const repository = namedPackDir(context.cityRoot, name);
      const entry = context.lock.named.entries.get(name);
      if (entry && entry.source !== '' && entry.source !== declared.source) {
        return missing(
          'lock-outdated',
          `pack "${name}": pack.lock is about another source, ${entry.source}`,
          FETCH,
        );
      }
      return checkout(`pack "${name}"`, repository, entry?.commit, source, FETCH);
    },
  );
}

/** What `[packs.<name>]` says with its three keys. @throws GcError `bad-source` */
export function namedSource(declared: RawPackSource): ReturnType<typeof parseSource> {
  const source = parseSource(declared.source);
  return source.kind === 'local' ? source : withParts(source, declared.path ?? '', declared.ref ?? '');
}

async function parsed<T>(
  parse: () => T,
  then: (source: T) => Promise<ResolvedSource>,
): Promise<ResolvedSource> {
  let source: T;
  try {
    source = parse();
  } catch (error) {
    if (!(error instanceof GcError)) throw error;
    return missing(error.code, error.message, error.next ?? 'correct the source');
  }
  return then(source);
}

async function resolveLocal(path: string, context: SourceContext): Promise<ResolvedSource> {
  const { root } = context;
  const dir = localPath(path, context);
  if (root !== undefined) {
    const where = await insideOf(root, dir);
    const isAnchored = path.startsWith('/') || path.startsWith('~');
    if (where === 'outside' || isAnchored) {
      return missing(
        'leaves-repository',
        `a fetched pack may not use a folder outside its repository: ${path}`,
        'ask the author of the pack, or take it out',
      );
    }
  }
  if (path.startsWith('//') && !isWithin(dir, context.cityRoot)) {
    return missing(
      'no-folder',
      `"//" is the city's folder, and ${path} leads out of it`,
      'correct the source',
    );
  }
  if ((await pathKind(dir)) !== 'folder') {
    return missing('no-folder', `there is no folder ${dir}`, 'create it, or correct the source');
  }
  return { kind: 'dir', dir, root };
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder + sep);
}

function localPath(path: string, { cityRoot, home, baseDir }: SourceContext): string {
  if (path.startsWith('//')) return join(cityRoot, path.slice(2));
  if (path === '~' || path.startsWith('~/')) return join(home, path.slice(1));
  return resolve(baseDir, path);
}

async function resolveRemote(source: RemoteSource, context: SourceContext): Promise<ResolvedSource> {
  const { cityRoot, home, lock, version = '' } = context;
  const { packs } = lock;
  const broken = brokenLock(packs, cityRoot);
  if (broken) return broken;
  const entry = packs.entries.get(source.original);
  if (!entry) {
    const included = includeCacheDir(cityRoot, source);
    if ((await headOf(included)) !== undefined)
      return checkout(source.original, included, undefined, source, INSTALL);
    return missing('not-locked', `${source.original} has not been fetched yet`, INSTALL);
  }
  if (!meets(entry, version)) {
    const pinned = entry.version || entry.commit;
    return missing(
      'lock-outdated',
      `${source.original} is locked at ${pinned} (${shownPosition(cityRoot, entry.position)}), but ${version} is asked for`,
      INSTALL,
    );
  }
  const dir = cacheDirOf(home, source.url, entry.commit);
  return checkout(source.original, dir, entry.commit, source, INSTALL);
}

function brokenLock(table: LockTable, cityRoot: string): ResolvedSource | undefined {
  const [problem] = table.problems;
  if (!problem) return undefined;
  const place = problem.position ? shownPosition(cityRoot, problem.position) : table.file;
  return missing('lock-unreadable', `${place}: ${problem.message}`, problem.hint ?? 'repair the lock file');
}

/** The pack's folder in a repository on disk, which must be at the commit that is expected. */
async function checkout(
  what: string,
  repository: string,
  commit: string | undefined,
  source: RemoteSource,
  next: string,
): Promise<ResolvedSource> {
  const head = await headOf(repository);
  if (head === undefined) {
    const pinned =
      commit === undefined ? 'has not been fetched yet' : `is locked at ${short(commit)} but not cached`;
    return missing('not-cached', `${what} ${pinned}`, next);
  }
  if (commit !== undefined && head !== commit) {
    return missing(
      'cache-changed',
      `${what} is locked at ${short(commit)}, but its folder is at ${short(head)}: ${repository}`,
      next,
    );
  }
  const dir = join(repository, source.subpath);
  const where = await insideOf(repository, dir);
  if (where === 'outside') {
    return missing(
      'leaves-repository',
      `${what}: the folder "${source.subpath}" is a link out of the repository`,
      'ask the author of the pack, or take it out',
    );
  }
  if (where === 'absent' || (await pathKind(dir)) !== 'folder') {
    return missing(
      'no-folder',
      `${what}: there is no folder "${source.subpath}" at ${short(head)}`,
      'correct the source, or take another version',
    );
  }
  return { kind: 'dir', dir, root: repository };
}

const SHORT_COMMIT = 12;

function short(commit: string): string {
  return commit.slice(0, SHORT_COMMIT);
}

function missing(code: string, message: string, next: string): ResolvedSource {
  return { kind: 'missing', code, message, next };
}
