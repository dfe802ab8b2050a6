import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { GcError } from '../platform/errors.ts';
import { KeyedMutex } from '../platform/keyed-mutex.ts';
import { acquireLifetimeLock } from '../platform/lifetime-lock.ts';
import type { WorktreeHome } from './registry.ts';

const RETRY_MS = 200;

/** Of this process: the lock file is for the others. */
const here = new KeyedMutex();

export interface LockWait {
  readonly signal: AbortSignal;
  /** How long another process may have it, milliseconds. */
  readonly waitMs: number;
}

/** git itself has no lock around adding and removing worktrees: two at once read each other half-written. */
const RIG_WAIT_MS = 10 * 60_000;

/** Runs `work`, which adds or removes worktrees of a repository, while nobody else of this city does. */
export function withRigLock<T>(
  home: WorktreeHome,
  rigPath: string,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  return withWorktreeLock(home, rigPath, { signal, waitMs: RIG_WAIT_MS }, work);
}

/**
 * Runs `work` while nobody else makes, changes or removes the worktree at `path`.
 * @throws GcError `worktree-busy` when another process has it for longer than `waitMs`
 */
export async function withWorktreeLock<T>(
  home: WorktreeHome,
  path: string,
  { signal, waitMs }: LockWait,
  work: () => Promise<T>,
): Promise<T> {
  const name = createHash('sha256').update(path).digest('hex').slice(0, 16);
  const file = join(home.gcDir, 'runtime', 'worktrees', `${name}.lock`);
  const take = async () => {
    const since = home.clock.monotonic();
    for (;;) {
      signal.throwIfAborted();
      const lock = acquireLifetimeLock(file, { pid: process.pid, path });
      if (lock) return lock;
      if (home.clock.monotonic() - since >= waitMs) {
        throw new GcError('worktree-busy', `another gc is at work on ${path}`, { next: 'try again' });
      }
      await home.clock.sleep(RETRY_MS, signal);
    }
  };
  return here.run(
    file,
    async () => {
      const lock = await take();
      try {
        return await work();
      } finally {
        lock.release();
      }
    },
    signal,
  );
}
