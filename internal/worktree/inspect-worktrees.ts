import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, messageOf } from '../platform/errors.ts';
import { leadsOut } from './copy-new.ts';
import { commitOf, type Git, gitIn, listWorktrees } from './git.ts';
import { changesIn, statusOf } from './known-files.ts';
import { entryAt, gitDirOf, isMarked, realOf } from './ownership.ts';
import { hasRegistry, type WorktreeHome, type WorktreeRecord, withRegistry } from './registry.ts';
import type { WorktreeState } from './why-it-stays.ts';
import type { WorktreeEntry } from './worktree-list.ts';

/** Which living session is in a folder; asked anew each time. */
export type UsedBy = (path: string) => Promise<string | undefined>;

export interface Rig {
  readonly name: string;
  readonly path: string;
}

/** Every worktree that the city made, and those of its rigs that somebody else put into the city's folder for them. */
export async function inspectWorktrees(
  home: WorktreeHome,
  rigs: readonly Rig[],
  usedBy: UsedBy,
  signal: AbortSignal,
): Promise<readonly WorktreeState[]> {
  const git = gitIn(home.env, signal);
  const records = await recordsOf(home);
  const states: WorktreeState[] = [];
  for (const record of records) states.push(await inspectRecord(git, record, usedBy));
  const seen = new Set(await Promise.all(records.map((record) => realOf(record.path))));
  for (const rig of rigs) {
    for (const entry of await foreignEntries(git, home, rig)) {
      const path = await realOf(entry.path);
      if (seen.has(path)) continue;
      seen.add(path);
      states.push({
        ...unlooked(rig.name, entry.path),
        branch: entry.branch,
        usedBy: await usedBy(entry.path),
      });
    }
  }
  return states;
}

export async function recordsOf(home: WorktreeHome): Promise<readonly WorktreeRecord[]> {
  if (!hasRegistry(home.gcDir)) return [];
  return withRegistry(home, (registry) => registry.all());
}

/** One look at one worktree of ours. What cannot be told is told so, and nothing is removed on it. */
export async function inspectRecord(
  git: Git,
  record: WorktreeRecord,
  usedBy: UsedBy,
): Promise<WorktreeState> {
  const { path, rig, session, branch } = record;
  const base = { ...unlooked(rig, path), session, branch, making: record.state === 'making' };
  const used = await usedBy(path);
  try {
    const entry = await entryAt(await listWorktrees(git, record.rigPath), path);
    if (!entry && !(await exists(path))) {
      // Somebody removed it with git: only our own notes are left, and what was moved away for it.
      return { ...base, usedBy: used, ours: true, folder: 'gone', making: record.aside !== '' };
    }
    if (!entry || !(await isOurs(git, record, entry))) return { ...base, usedBy: used };
    return { ...base, usedBy: used, ours: true, ...(await contentOf(git, record, entry)) };
  } catch (error) {
    return { ...base, usedBy: used, ours: true, unreadable: messageOf(error).split('\n')[0] };
  }
}

async function foreignEntries(git: Git, home: WorktreeHome, rig: Rig): Promise<readonly WorktreeEntry[]> {
  const folder = await realOf(join(home.gcDir, 'worktrees'));
  // A rig that is no repository, or gone, has no worktrees.
  const entries = await listWorktrees(git, rig.path).catch(() => []);
  return entries.filter((entry) => !leadsOut(folder, entry.path));
}

function unlooked(rig: string, path: string): WorktreeState {
  return {
    path,
    rig,
    session: '',
    branch: '',
    ours: false,
    folder: 'there',
    making: false,
    locked: undefined,
    uncommitted: [],
    unpushed: 0,
    underWay: undefined,
    nested: [],
    usedBy: undefined,
    unreadable: undefined,
  };
}

/** Its mark, and, while the folder is there, that this folder belongs to what is marked. */
async function isOurs(git: Git, record: WorktreeRecord, entry: WorktreeEntry): Promise<boolean> {
  if (record.state === 'making' && record.gitDir === '') return true;
  if (!(await isMarked(record))) return false;
  if (!(await exists(entry.path))) return true;
  return (await realOf(await gitDirOf(git, entry.path))) === (await realOf(record.gitDir));
}

type Content = Pick<
  WorktreeState,
  'branch' | 'folder' | 'locked' | 'uncommitted' | 'unpushed' | 'underWay' | 'nested'
>;

async function contentOf(git: Git, record: WorktreeRecord, entry: WorktreeEntry): Promise<Content> {
  const unpushed = await unpushedCommits(git, record, entry);
  const common = { branch: entry.branch, locked: entry.locked, unpushed };
  const isThere = await exists(entry.path);
  if (!isThere || record.state === 'making') {
    const folder = isThere ? ('there' as const) : ('gone' as const);
    return { ...common, folder, uncommitted: [], underWay: undefined, nested: [] };
  }
  const status = await statusOf(git, entry.path);
  return {
    ...common,
    folder: 'there',
    uncommitted: (await changesIn(entry.path, status, record.known)).work,
    underWay: await underWay(record.gitDir),
    nested: await nestedRepositories(git, entry.path),
  };
}

/** Commits of what is checked out that nothing else has: no remote, no other branch, not what it began with. */
async function unpushedCommits(git: Git, record: WorktreeRecord, entry: WorktreeEntry): Promise<number> {
  const { rigPath, branch, start, base } = record;
  const known = [start, base === '' ? '' : await commitOf(git, rigPath, base)];
  const out: string[] = [];
  // A base that git does not have any more takes nothing away.
  for (const commit of known) if (commit && (await commitOf(git, rigPath, commit))) out.push(commit);
  const own = [...new Set([branch, entry.branch])].filter((name) => name !== '');
  const args = [
    'rev-list',
    '--count',
    entry.head === '' ? 'HEAD' : entry.head,
    '--not',
    ...out,
    ...own.map((name) => `--exclude=${name}`),
    '--branches',
    '--remotes',
  ];
  return Number((await git.run(rigPath, args)).trim());
}

const STEPS: readonly (readonly [file: string, word: string])[] = [
  ['rebase-merge', 'rebase'],
  ['rebase-apply', 'rebase'],
  ['MERGE_HEAD', 'merge'],
  ['CHERRY_PICK_HEAD', 'cherry-pick'],
  ['REVERT_HEAD', 'revert'],
  ['BISECT_LOG', 'bisect'],
];

async function underWay(gitDir: string): Promise<string | undefined> {
  for (const [file, word] of STEPS) if (await exists(join(gitDir, file))) return word;
  return undefined;
}

/** Repositories among what git ignores: git removes them with the rest, with whatever is only in them. */
async function nestedRepositories(git: Git, worktree: string): Promise<readonly string[]> {
  const args = ['ls-files', '--others', '--ignored', '--exclude-standard', '--directory', '-z'];
  const folders = (await git.run(worktree, args)).split('\0').filter((path) => path.endsWith('/'));
  const nested: string[] = [];
  for (const folder of folders) if (await exists(join(worktree, folder, '.git'))) nested.push(folder);
  return nested;
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return false;
      throw error;
    },
  );
}
