import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { RemoteSource } from './source.ts';

/** Where this user's fetched repositories are, for all cities. Source: Gas City, whose path ignores `GC_HOME` here. */
export function repositoryCache(home: string): string {
  return join(home, '.gc', 'cache', 'repos');
}

/** The folder of one repository at one commit. */
export function cacheDirOf(home: string, url: string, commit: string): string {
  return join(repositoryCache(home), cacheKey(url, commit));
}

/** The same for imports of the whole machine, which do follow `GC_HOME`. */
export function implicitCacheDir(gcHome: string, url: string, commit: string): string {
  return join(gcHome, 'cache', 'repos', cacheKey(url, commit));
}

/** Where a city keeps a repository that it included without a lock entry. */
export function includeCacheDir(cityRoot: string, source: RemoteSource): string {
  const slug = (source.url.split(/[/:]/).at(-1) ?? '')
    .replace(/\.git$/, '')
    .replace(/[^A-Za-z0-9_.-]+/g, '-');
  const hash = createHash('sha256').update(source.original).digest('hex').slice(0, 12);
  return join(cityRoot, '.gc', 'cache', 'includes', `${slug}-${hash}`);
}

/** Where a city keeps the repository of `[packs.<name>]`. */
export function namedPackDir(cityRoot: string, name: string): string {
  return join(cityRoot, '.gc', 'cache', 'packs', name);
}

function cacheKey(url: string, commit: string): string {
  return createHash('sha256').update(`${url}${commit}`).digest('hex');
}
