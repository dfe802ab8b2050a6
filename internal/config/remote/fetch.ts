import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ensurePrivateDir } from '../../platform/atomic-file.ts';
import { codeOf, GcError } from '../../platform/errors.ts';
import type { Ids } from '../../platform/ids.ts';
import { identityOf } from '../../platform/process-identity.ts';
import { headOf } from './checkout.ts';
import { type GitContext, gitFailure, runGit } from './git.ts';
import type { Pin, RemoteRefs } from './pin.ts';

export interface FetchContext extends GitContext {
  readonly ids: Ids;
}

const ASK_LIMITS = { timeoutMs: 60_000, maxOutput: 32 * 1024 * 1024 };
const LOCAL_LIMITS = { timeoutMs: 120_000, maxOutput: 1024 * 1024 };
const FETCH_LIMITS = { timeoutMs: 600_000, maxOutput: 1024 * 1024 };
const SHA256_HEX = 64;
/** Others may publish the same folder at the same moment. */
const PUBLISH_ATTEMPTS = 5;
const SCRAP = /^\.(?:new|old)-(\d+)-[0-9a-f]+$/;
const SCRAP_BYTES = 6;

/** The branches and tags of a repository. @throws GcError `remote-unreachable`, `git-not-found` */
export async function askRemote(url: string, git: GitContext): Promise<RemoteRefs> {
  const result = await runGit(['ls-remote', '--quiet', '--', url], git, ASK_LIMITS);
  if (result.kind !== 'ok') throw unreachable(url, gitFailure(result));
  return parseRefs(result.stdout);
}

/** Reads what `git ls-remote` prints; an annotated tag stands for the commit it names. */
export function parseRefs(text: string): RemoteRefs {
  const tags = new Map<string, string>();
  const branches = new Map<string, string>();
  let head: string | undefined;
  for (const line of text.split('\n')) {
    const [, commit, ref] = /^([0-9a-f]{40}|[0-9a-f]{64})\t(.+)$/.exec(line) ?? [];
    if (commit === undefined || ref === undefined) continue;
    // The commit of an annotated tag follows the tag object and replaces it.
    if (ref === 'HEAD') head = commit;
    else if (ref.startsWith('refs/tags/')) tags.set(ref.slice(10).replace(/\^\{\}$/, ''), commit);
    else if (ref.startsWith('refs/heads/')) branches.set(ref.slice(11), commit);
  }
  return { head, tags, branches };
}

/**
 * Has the repository at this commit in a folder, whole or not at all; a folder that is at it already is left alone, one
 * that is not is replaced. Any number of processes may do this for one folder at once.
 * @throws GcError `fetch-failed`, `git-not-found`
 */
export async function fetchInto(
  dir: string,
  url: string,
  pin: Pick<Pin, 'commit'>,
  context: FetchContext,
): Promise<void> {
  if ((await headOf(dir)) === pin.commit) return;
  const parent = dirname(dir);
  ensurePrivateDir(parent);
  await removeScrap(parent);
  const fresh = scrapPath(parent, 'new', context.ids);
  try {
    await mkdir(fresh, { mode: 0o700 });
    await checkOut(fresh, url, pin.commit, context);
    await publish(fresh, dir, pin.commit, context.ids);
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

async function checkOut(dir: string, url: string, commit: string, context: FetchContext): Promise<void> {
  const failed = (reason: string) =>
    new GcError('fetch-failed', `${url} at ${commit.slice(0, 12)} cannot be fetched: ${reason}`, {
      next: `git ls-remote ${url}`,
    });
  const local = async (...args: readonly string[]) => {
    const result = await runGit(['-C', dir, ...args], context, LOCAL_LIMITS);
    if (result.kind !== 'ok') throw failed(gitFailure(result));
  };
  const format = commit.length === SHA256_HEX ? 'sha256' : 'sha1';
  await local('init', '--quiet', '--template=', `--object-format=${format}`);
  const fetchRefs = (...args: readonly string[]) =>
    runGit(
      ['-C', dir, 'fetch', '--quiet', '--no-tags', '--no-write-fetch-head', ...args],
      context,
      FETCH_LIMITS,
    );
  const one = await fetchRefs('--depth=1', '--', url, commit);
  // Not every server gives a commit by its name: then everything is fetched and the commit looked for.
  if (one.kind !== 'ok') {
    const all = await fetchRefs('--', url, '+refs/heads/*:refs/remotes/origin/*', '+refs/tags/*:refs/tags/*');
    if (all.kind !== 'ok') throw failed(gitFailure(all));
  }
  await local('checkout', '--quiet', '--detach', '--force', commit, '--');
  const head = await headOf(dir);
  if (head !== commit) throw failed(`the commit that came is ${head ?? 'none'}`);
}

async function publish(fresh: string, dir: string, commit: string, ids: Ids): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await rename(fresh, dir);
      return;
    } catch (error) {
      const code = codeOf(error);
      const isTaken = code === 'ENOTEMPTY' || code === 'EEXIST' || code === 'ENOTDIR';
      if (!isTaken || attempt === PUBLISH_ATTEMPTS) throw error;
    }
    if ((await headOf(dir)) === commit) return;
    await moveAside(dir, ids);
  }
}

async function moveAside(dir: string, ids: Ids): Promise<void> {
  const aside = scrapPath(dirname(dir), 'old', ids);
  try {
    await rename(dir, aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return; // somebody else was faster
    throw error;
  }
  await rm(aside, { recursive: true, force: true });
}

/** The process in the name is who works there. */
function scrapPath(parent: string, kind: 'new' | 'old', ids: Ids): string {
  return join(parent, `.${kind}-${process.pid}-${ids.hex(SCRAP_BYTES)}`);
}

/** Removes what processes that were killed have left. */
async function removeScrap(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const pid = Number(SCRAP.exec(basename(name))?.[1] ?? Number.NaN);
    if (Number.isNaN(pid) || pid === process.pid || identityOf(pid)) continue;
    await rm(join(parent, name), { recursive: true, force: true });
  }
}

function unreachable(url: string, reason: string): GcError {
  return new GcError('remote-unreachable', `${url} does not answer: ${reason}`, {
    next: `git ls-remote ${url}`,
  });
}
