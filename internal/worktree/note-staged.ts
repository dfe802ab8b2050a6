import { gitIn } from './git.ts';
import { nextKnown, untrackedNow } from './known-files.ts';
import { isMarked } from './ownership.ts';
import { type WorktreeHome, withRegistry } from './registry.ts';

/**
 * Runs `stage`, which puts files of the configuration into a worktree, and remembers what it put there: as long as these
 * files stay as they are, they are nobody's work. The caller keeps the agent out meanwhile.
 */
export async function noteStaged(
  home: WorktreeHome,
  path: string,
  signal: AbortSignal,
  stage: () => Promise<void>,
): Promise<void> {
  await withRegistry(home, async (registry) => {
    const record = await registry.find(path);
    if (record?.state !== 'ready' || !(await isMarked(record))) return stage();
    const git = gitIn(home.env, signal);
    const before = await untrackedNow(git, path);
    await stage();
    const known = nextKnown(record.known, before, await untrackedNow(git, path));
    await registry.put({ ...record, known });
  });
}
