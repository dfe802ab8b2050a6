import { mkdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf } from '../platform/errors.ts';
import { copyUntracked } from './copy-untracked.ts';
import { WorktreeError } from './errors.ts';
import { commitOf, type Git, gitIn, listWorktrees } from './git.ts';
import { nextKnown, untrackedNow } from './known-files.ts';
import { entryAt, gitDirOf, mark } from './ownership.ts';
import type { PortBlock, WorktreeHome, WorktreeRecord, WorktreeRegistry } from './registry.ts';
import { placeVariables, runCommands, WORKTREE_COMMAND_TIMEOUT_MS } from './session-commands.ts';
import { layStaged, removeEmptyUpTo, settleStaged, targetState } from './staged-folder.ts';
import type { WorktreeEntry } from './worktree-list.ts';
import { withRigLock } from './worktree-lock.ts';
import type { WorktreeSpec } from './worktree-spec.ts';

export interface Making {
  readonly home: WorktreeHome;
  readonly spec: WorktreeSpec;
  readonly registry: WorktreeRegistry;
  readonly git: Git;
  readonly signal: AbortSignal;
  readonly ports: PortBlock | undefined;
}

/** What this call made, to be taken back when it fails. */
interface Undo {
  readonly record: WorktreeRecord;
  branchMade: boolean;
  movedAside: boolean;
  /** The topmost folder that had to be made above the worktree. */
  topFolder: string | undefined;
  wasEmptyFolder: boolean;
}

/** Makes the worktree, all of it or nothing. Answers notes for people. @throws WorktreeError */
export async function makeWorktree(making: Making): Promise<readonly string[]> {
  const { spec, home, registry } = making;
  await restoreAside(registry, spec.path);
  const target = await targetState(spec.path);
  const branch = await chooseBranch(making);
  const id = home.ids.hex(16);
  const aside = target === 'filled' ? `${spec.path}.before-${id.slice(0, 8)}` : '';
  const undo: Undo = {
    record: newRecord(spec, id, branch, aside),
    branchMade: false,
    movedAside: false,
    topFolder: undefined,
    wasEmptyFolder: target === 'empty',
  };
  await registry.put(undo.record);
  try {
    undo.topFolder = await mkdir(dirname(spec.path), { recursive: true });
    if (aside !== '') {
      await rename(spec.path, aside);
      undo.movedAside = true;
    }
    await withRigLock(home, spec.rig.path, making.signal, () => addWorktree(making, branch, undo));
    return await complete(making, undo.record);
  } catch (error) {
    const left = await takeBack(making, undo);
    throw left === '' ? error : withLeft(error, left);
  }
}

/** Goes on where a process that died had come to. Nothing is removed: what is there may have been seen by a person. */
export async function resumeWorktree(
  making: Making,
  record: WorktreeRecord,
  entry: WorktreeEntry,
): Promise<readonly string[]> {
  const { rig, path } = making.spec;
  if (entry.locked === 'initializing') {
    throw new WorktreeError('worktree-interrupted', `the making of the worktree at ${path} was interrupted`, {
      next: `git -C ${rig.path} worktree remove -f -f ${path}`,
    });
  }
  return complete(making, record);
}

interface ChosenBranch {
  readonly exists: boolean;
  /** The commit that a new branch starts from, or the tip of an old one. */
  readonly start: string;
}

async function chooseBranch({ git, spec }: Making): Promise<ChosenBranch> {
  const { rig, branch, base } = spec;
  const tip = await commitOf(git, rig.path, `refs/heads/${branch}`);
  if (tip !== undefined) {
    const holder = (await listWorktrees(git, rig.path)).find((entry) => entry.branch === branch);
    if (!holder) return { exists: true, start: tip };
    throw new WorktreeError('branch-taken', `branch ${branch} is checked out in ${holder.path}`, {
      next: `switch that one to another branch, or give the agent another worktree.branch`,
    });
  }
  const start = await commitOf(git, rig.path, base === '' ? 'HEAD' : base);
  if (start !== undefined) return { exists: false, start };
  if (base === '') {
    throw new WorktreeError('rig-without-commit', `rig "${rig.name}" has no commit yet: ${rig.path}`, {
      next: 'commit something there first',
    });
  }
  throw new WorktreeError('base-not-found', `worktree.base "${base}" names no commit in ${rig.path}`, {
    next: `git -C ${rig.path} fetch, or correct worktree.base`,
  });
}

async function addWorktree({ git, spec }: Making, branch: ChosenBranch, undo: Undo): Promise<void> {
  if (!branch.exists) {
    await git.run(spec.rig.path, ['branch', '--no-track', '--', spec.branch, branch.start]);
    undo.branchMade = true;
  }
  await git.run(spec.rig.path, ['worktree', 'add', '--', spec.path, spec.branch]);
}

async function complete(making: Making, begun: WorktreeRecord): Promise<readonly string[]> {
  const { spec, git, registry, signal, ports } = making;
  const gitDir = await gitDirOf(git, spec.path);
  await mark(gitDir, begun.id);
  const record = { ...begun, gitDir };
  await registry.put(record);
  if (record.aside !== '') await layStaged(record.aside, spec.path);
  const before = await untrackedNow(git, spec.path);
  const notes = await copyInto(making);
  const place = placeVariables(spec.path, begun.branch, ports);
  await runCommands('setup', spec.setup, {
    path: spec.path,
    env: { ...spec.env, ...place },
    timeoutMs: WORKTREE_COMMAND_TIMEOUT_MS,
    signal,
  });
  const known = nextKnown({}, before, await untrackedNow(git, spec.path));
  const kept = record.aside === '' ? [] : await settleStaged(record.aside, spec.path);
  await registry.put({ ...record, known, aside: '', state: 'ready' });
  if (kept.length === 0) return notes;
  return [
    ...notes,
    `${kept.length} files that stood there before differ from tracked ones: see ${record.aside}`,
  ];
}

/** The rig may be a folder within its repository: copies keep their place. */
async function copyInto({ git, spec }: Making): Promise<readonly string[]> {
  if (spec.copy.length === 0) return [];
  const prefix = (await git.run(spec.rig.path, ['rev-parse', '--show-prefix'])).replace(/\n$/, '');
  return copyUntracked(git, spec.rig.path, join(spec.path, prefix), spec.copy);
}

/** A process died between two steps: the folder that it had moved away comes back. */
async function restoreAside(registry: WorktreeRegistry, path: string): Promise<void> {
  const record = await registry.find(path);
  if (record?.state !== 'making' || record.aside === '') return;
  if ((await targetState(record.aside)) === 'absent') return;
  if ((await targetState(path)) !== 'filled') return rename(record.aside, path);
  throw new WorktreeError('worktree-interrupted', `the making of the worktree at ${path} was interrupted`, {
    next: `what stood there before is in ${record.aside}; keep one of the two, and move the other away`,
  });
}

/** Answers what could not be taken back. Nothing of the caller's signal: it may be what ended the making. */
async function takeBack({ home, spec, registry }: Making, undo: Undo): Promise<string> {
  const { record } = undo;
  const git = gitIn(home.env);
  try {
    await withRigLock(home, spec.rig.path, new AbortController().signal, () => removeMade(git, spec, undo));
    if (undo.movedAside) await rename(record.aside, spec.path);
    else if (undo.wasEmptyFolder) await mkdir(spec.path, { recursive: true });
    else if (undo.topFolder !== undefined) await removeEmptyUpTo(dirname(spec.path), undo.topFolder);
    await registry.remove(spec.path);
    return '';
  } catch (error) {
    return messageOf(error);
  }
}

async function removeMade(
  git: Git,
  { rig, path }: WorktreeSpec,
  { record, branchMade }: Undo,
): Promise<void> {
  const entry = await entryAt(await listWorktrees(git, rig.path), path);
  // Made by this call: it was not there before, and no session has been in it.
  if (entry) await git.run(rig.path, ['worktree', 'remove', '--force', '--force', '--', entry.path]);
  // Only while it has nothing of its own.
  if (branchMade) await git.ask(rig.path, ['update-ref', '-d', `refs/heads/${record.branch}`, record.start]);
}

function withLeft(error: unknown, left: string): WorktreeError {
  const lastLines = error instanceof WorktreeError ? error.lastLines : '';
  return new WorktreeError('worktree-left', `${messageOf(error)}; and it could not be taken back: ${left}`, {
    cause: error,
    next: 'gc worktree list',
    lastLines,
  });
}

function newRecord(spec: WorktreeSpec, id: string, branch: ChosenBranch, aside: string): WorktreeRecord {
  return {
    path: spec.path,
    id,
    rig: spec.rig.name,
    rigPath: spec.rig.path,
    gitDir: '',
    branch: spec.branch,
    start: branch.start,
    madeBranch: !branch.exists,
    base: spec.base,
    session: spec.session,
    state: 'making',
    aside,
    archive: spec.archive,
    facts: spec.facts,
    known: {},
  };
}
