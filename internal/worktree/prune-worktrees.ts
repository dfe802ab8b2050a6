import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { writeFileAtomic } from '../platform/atomic-file.ts';
import { codeOf, messageOf } from '../platform/errors.ts';
import { commitOf, type Git, gitIn, listWorktrees } from './git.ts';
import { inspectRecord, type UsedBy } from './inspect-worktrees.ts';
import { changesIn, statusOf } from './known-files.ts';
import { entryAt } from './ownership.ts';
import { type WorktreeHome, type WorktreeRecord, withRegistry } from './registry.ts';
import { placeVariables, runCommands, WORKTREE_COMMAND_TIMEOUT_MS } from './session-commands.ts';
import { type WorktreeState, whyItStays } from './why-it-stays.ts';
import { withRigLock, withWorktreeLock } from './worktree-lock.ts';

/** Somebody who makes or removes it now is not waited for: it stays. */
const LOCK_WAIT_MS = 2_000;

export type Pruned =
  | { readonly kind: 'removed'; readonly branchDeleted: boolean }
  /** With `dryRun`: nothing keeps it. */
  | { readonly kind: 'would-go' }
  | { readonly kind: 'stays'; readonly why: string };

export interface PruneOptions {
  readonly usedBy: UsedBy;
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
}

/**
 * Removes one worktree of ours that nothing keeps: its archive commands run first, then git removes it, without force.
 * Its branch goes too when we made it and all of it is in its base.
 */
export async function pruneWorktree(
  home: WorktreeHome,
  path: string,
  options: PruneOptions,
): Promise<Pruned> {
  try {
    return await withWorktreeLock(home, path, { signal: options.signal, waitMs: LOCK_WAIT_MS }, () =>
      prune(home, path, options),
    );
  } catch (error) {
    options.signal.throwIfAborted();
    return { kind: 'stays', why: messageOf(error) };
  }
}

async function prune(home: WorktreeHome, path: string, options: PruneOptions): Promise<Pruned> {
  return withRegistry(home, async (registry) => {
    const git = gitIn(home.env, options.signal);
    const record = await registry.find(path);
    if (!record) return { kind: 'stays', why: 'it was not made by this city' };
    const look = () => inspectRecord(git, record, options.usedBy);
    const before = await look();
    const why = whyItStays(before);
    if (why !== undefined) return { kind: 'stays', why };
    if (options.dryRun) return { kind: 'would-go' };
    if (before.folder === 'there' && record.archive.length > 0) {
      await archive(home, record, before, await registry.editPorts(path, (own) => own), options.signal);
      // What they left behind may be work too.
      const after = whyItStays(await look());
      if (after !== undefined) return { kind: 'stays', why: `after its archive commands: ${after}` };
    }
    const branchDeleted = await withRigLock(home, record.rigPath, options.signal, async () => {
      await removeWorktree(home, git, record, before.folder);
      return deleteMergedBranch(git, record);
    });
    await registry.remove(path);
    return { kind: 'removed', branchDeleted };
  });
}

async function archive(
  home: WorktreeHome,
  record: WorktreeRecord,
  state: WorktreeState,
  ports: Parameters<typeof placeVariables>[2],
  signal: AbortSignal,
): Promise<void> {
  await runCommands('archive', record.archive, {
    path: record.path,
    env: { ...home.env, ...record.facts, ...placeVariables(record.path, state.branch, ports) },
    timeoutMs: WORKTREE_COMMAND_TIMEOUT_MS,
    signal,
  });
}

/** git looks once more itself, and refuses what it finds; only the files that are ours are named to it as such. */
async function removeWorktree(
  home: WorktreeHome,
  git: Git,
  record: WorktreeRecord,
  folder: WorktreeState['folder'],
): Promise<void> {
  // Gone already, with `git worktree remove`.
  const entry = await entryAt(await listWorktrees(git, record.rigPath), record.path);
  if (!entry) return;
  const file = join(home.gcDir, 'runtime', 'worktrees', `${record.id}.exclude`);
  const status = folder === 'there' ? await statusOf(git, entry.path) : [];
  const { ours } = await changesIn(entry.path, status, record.known);
  await writeFileAtomic(
    file,
    `${await personalExcludes(git, home, record)}\n${ours
      .filter((path) => !path.includes('\n'))
      .map(excludeLine)
      .join('')}`,
    0o600,
  );
  try {
    const args = ['-c', `core.excludesFile=${file}`, 'worktree', 'remove', '--', record.path];
    await git.run(record.rigPath, args);
  } finally {
    await rm(file, { force: true });
  }
}

/** What the person has git ignore everywhere: the setting that is replaced for the removal. */
async function personalExcludes(git: Git, { env }: WorktreeHome, record: WorktreeRecord): Promise<string> {
  const set = await git.ask(record.rigPath, ['config', '--type=path', '--get', 'core.excludesFile']);
  const config = env['XDG_CONFIG_HOME'] || join(env['HOME'] ?? '/', '.config');
  const file = set.ok ? set.stdout.trim() : join(config, 'git', 'ignore');
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return '';
    throw error;
  }
}

/** One path and nothing else. Source: gitignore(5). */
function excludeLine(path: string): string {
  return `/${path.replace(/[\\*?[\]!# ]/g, '\\$&')}\n`;
}

/** Only one that we made, that nobody has checked out, and whose every commit is in its base. */
async function deleteMergedBranch(git: Git, record: WorktreeRecord): Promise<boolean> {
  const { rigPath, branch, base } = record;
  if (!record.madeBranch) return false;
  const tip = await commitOf(git, rigPath, `refs/heads/${branch}`);
  const into = await commitOf(git, rigPath, base === '' ? 'HEAD' : base);
  if (tip === undefined || into === undefined) return false;
  if ((await listWorktrees(git, rigPath)).some((entry) => entry.branch === branch)) return false;
  if (!(await git.ask(rigPath, ['merge-base', '--is-ancestor', tip, into])).ok) return false;
  // Only while it still is what was looked at.
  if (!(await git.ask(rigPath, ['update-ref', '-d', `refs/heads/${branch}`, tip])).ok) return false;
  await git.ask(rigPath, ['config', '--remove-section', `branch.${branch}`]); // none: nothing to remove
  return true;
}
