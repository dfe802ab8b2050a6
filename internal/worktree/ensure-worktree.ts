import { lstat } from 'node:fs/promises';
import { codeOf } from '../platform/errors.ts';
import { WorktreeError } from './errors.ts';
import { type Git, gitIn, listWorktrees } from './git.ts';
import { makeWorktree, resumeWorktree } from './make-worktree.ts';
import { entryAt, isMarked } from './ownership.ts';
import { portsFor } from './ports.ts';
import { type WorktreeHome, type WorktreeRecord, type WorktreeRegistry, withRegistry } from './registry.ts';
import { placeVariables } from './session-commands.ts';
import { pathTaken } from './staged-folder.ts';
import type { WorktreeEntry } from './worktree-list.ts';
import { withWorktreeLock } from './worktree-lock.ts';
import type { ReadyWorktree, WorktreeSpec } from './worktree-spec.ts';

/** A set-up of another process on the same worktree may take this long. */
const LOCK_WAIT_MS = 30 * 60_000;

/**
 * Makes the worktree of a session, or takes the one that is there. One that we made is taken as it is, whatever its agent
 * has checked out since; one that somebody else made must be of this rig and on the wanted branch. A failure leaves
 * nothing half-made, and never removes what stood there before.
 * @throws WorktreeError with a stable code, a next step and, of a failed command, its last lines
 */
export async function ensureWorktree(
  home: WorktreeHome,
  spec: WorktreeSpec,
  signal: AbortSignal,
): Promise<ReadyWorktree> {
  return withWorktreeLock(home, spec.path, { signal, waitMs: LOCK_WAIT_MS }, () =>
    withRegistry(home, async (registry) => {
      const hadPorts = await hasPorts(registry, spec.path);
      const ports = await portsFor(home, registry, spec.path, spec.ports);
      const job: Job = { home, spec, registry, git: gitIn(home.env, signal), signal };
      try {
        const { entry, made, notes } = await placeOf({ ...job, ports });
        return {
          path: spec.path,
          branch: entry.branch,
          made,
          env: placeVariables(spec.path, entry.branch, ports),
          notes,
        };
      } catch (error) {
        if (!hadPorts) await registry.editPorts(spec.path, () => undefined);
        throw error;
      }
    }),
  );
}

interface Job {
  readonly home: WorktreeHome;
  readonly spec: WorktreeSpec;
  readonly registry: WorktreeRegistry;
  readonly git: Git;
  readonly signal: AbortSignal;
}

interface Place {
  readonly entry: WorktreeEntry;
  readonly made: boolean;
  readonly notes: readonly string[];
}

async function hasPorts(registry: WorktreeRegistry, path: string): Promise<boolean> {
  let had = false;
  await registry.editPorts(path, (own) => {
    had = own !== undefined;
    return own;
  });
  return had;
}

async function placeOf(job: Parameters<typeof makeWorktree>[0]): Promise<Place> {
  const { spec, registry, git } = job;
  await requireRepository(git, spec);
  const entries = await listWorktrees(git, spec.rig.path);
  const there = await kindOf(spec.path);
  if (there === 'link') throw pathTaken(spec.path, 'a link');
  const entry = await entryAt(entries, spec.path);
  if (entry !== undefined && entry === entries[0]) throw pathTaken(spec.path, 'the rig itself');
  const record = await ownRecord(registry, spec.path, entry);
  if (entry && there === 'gone') {
    await forgetGone(git, spec, record, entry);
    return made(job);
  }
  if (!entry) return made(job);
  if (!record) return { entry: foreign(spec, entry), made: false, notes: [] };
  if (record.state === 'making') {
    const notes = await resumeWorktree(job, record, entry);
    return { entry, made: true, notes };
  }
  const { session, archive, facts, rig } = spec;
  await registry.put({ ...record, session, archive, facts, rig: rig.name, rigPath: rig.path });
  return { entry, made: false, notes: [] };
}

async function made(job: Parameters<typeof makeWorktree>[0]): Promise<Place> {
  const notes = await makeWorktree(job);
  const entry = await entryAt(await listWorktrees(job.git, job.spec.rig.path), job.spec.path);
  if (!entry)
    throw new WorktreeError('internal', `git does not know the worktree it made at ${job.spec.path}`);
  return { entry, made: true, notes };
}

async function requireRepository(git: Git, { rig }: WorktreeSpec): Promise<void> {
  const result = await git.ask(rig.path, ['rev-parse', '--git-dir']).catch((error: unknown) => {
    throw new WorktreeError('git-missing', `git cannot be run: ${String(error)}`, { cause: error });
  });
  if (result.ok) return;
  const said = result.tail.split('\n').at(-1) ?? '';
  throw new WorktreeError(
    'rig-not-git',
    `rig "${rig.name}" is no git repository: ${rig.path}: ${said || result.how}`,
    {
      next: `git init or clone it there, or take \`worktree\` out of the agent`,
    },
  );
}

/** What the registry says about the worktree that git has there; of another one nothing. */
async function ownRecord(
  registry: WorktreeRegistry,
  path: string,
  entry: WorktreeEntry | undefined,
): Promise<WorktreeRecord | undefined> {
  const record = await registry.find(path);
  if (!record || !entry) return undefined;
  // One whose making was interrupted may not have got its mark.
  if (record.state === 'making' && record.gitDir === '') return record;
  return (await isMarked(record)) ? record : undefined;
}

async function kindOf(path: string): Promise<'gone' | 'link' | 'there'> {
  const found = await lstat(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  });
  if (!found) return 'gone';
  return found.isSymbolicLink() ? 'link' : 'there';
}

/** Somebody removed its folder: git still keeps the name. */
async function forgetGone(
  git: Git,
  spec: WorktreeSpec,
  record: WorktreeRecord | undefined,
  entry: WorktreeEntry,
): Promise<void> {
  if (!record || entry.locked !== undefined) {
    throw new WorktreeError(
      'worktree-gone',
      `git has a worktree at ${spec.path}${entry.locked === undefined ? '' : ', locked'}, but its folder is gone`,
      { next: `git -C ${spec.rig.path} worktree remove ${spec.path}` },
    );
  }
  await git.run(spec.rig.path, ['worktree', 'remove', '--', entry.path]);
}

/** @throws WorktreeError `worktree-foreign` */
function foreign(spec: WorktreeSpec, entry: WorktreeEntry): WorktreeEntry {
  if (entry.branch === spec.branch) return entry;
  const has = entry.branch === '' ? 'a commit without a branch' : `branch ${entry.branch}`;
  throw new WorktreeError(
    'worktree-foreign',
    `the worktree at ${spec.path} was not made by this city and has ${has}, not ${spec.branch}`,
    { next: `git -C ${spec.path} switch ${spec.branch}, or give the agent another work_dir` },
  );
}
