import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { systemClock } from '../../platform/clock.ts';
import { systemIds } from '../../platform/ids.ts';
import { ensureWorktree } from '../ensure-worktree.ts';
import { gitIn } from '../git.ts';
import { inspectRecord } from '../inspect-worktrees.ts';
import { type Pruned, pruneWorktree } from '../prune-worktrees.ts';
import { type WorktreeHome, withRegistry } from '../registry.ts';
import type { WorktreeState } from '../why-it-stays.ts';
import type { ReadyWorktree, WorktreeSpec } from '../worktree-spec.ts';

/** A city folder and a rig with one commit, in a private home. */
export class ScratchRig {
  readonly base = realpathSync(mkdtempSync(join(tmpdir(), 'gc-worktree-')));
  readonly rig = join(this.base, 'rig');
  readonly env = {
    PATH: process.env['PATH'],
    HOME: join(this.base, 'home'),
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_SYSTEM: '/dev/null',
  };
  readonly home: WorktreeHome = {
    gcDir: join(this.base, 'city', '.gc'),
    env: this.env,
    clock: systemClock,
    ids: systemIds,
  };
  usedBy: string | undefined;
  readonly #signal = new AbortController().signal;

  constructor() {
    for (const dir of [this.rig, this.env.HOME, this.home.gcDir]) mkdirSync(dir, { recursive: true });
    this.git(this.rig, 'init', '--quiet', '--initial-branch=main');
    this.git(this.rig, 'config', 'user.name', 'Test');
    this.git(this.rig, 'config', 'user.email', 'test@example.com');
    this.write('rig/.gitignore', '.env*\nkeys/\n');
    this.write('rig/tracked.txt', 'tracked\n');
    this.commit(this.rig, 'first');
  }

  git(dir: string, ...args: string[]): string {
    const env = { ...this.env, PATH: this.env.PATH ?? '' };
    return execFileSync('git', args, {
      cwd: dir,
      env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  }

  /** Path from the base. */
  write(path: string, text: string): string {
    const file = join(this.base, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  }

  commit(dir: string, message: string): void {
    this.git(dir, 'add', '-A');
    this.git(dir, 'commit', '--quiet', '-m', message);
  }

  path(name: string): string {
    return join(this.home.gcDir, 'worktrees', 'rig', name);
  }

  spec(name: string, more: Partial<WorktreeSpec> = {}): WorktreeSpec {
    return {
      path: this.path(name),
      rig: { name: 'rig', path: this.rig },
      session: name,
      branch: `gc/rig/${name}`,
      base: '',
      setup: [],
      archive: [],
      copy: [],
      ports: 0,
      env: this.env as Record<string, string>,
      facts: { GC_RIG: 'rig' },
      ...more,
    };
  }

  ensure(
    name: string,
    more: Partial<WorktreeSpec> = {},
    signal = new AbortController().signal,
  ): Promise<ReadyWorktree> {
    return ensureWorktree(this.home, this.spec(name, more), signal);
  }

  prune(name: string, dryRun = false): Promise<Pruned> {
    const usedBy = async () => this.usedBy;
    return pruneWorktree(this.home, this.path(name), { usedBy, dryRun, signal: this.#signal });
  }

  async look(name: string): Promise<WorktreeState> {
    const record = await withRegistry(this.home, (registry) => registry.find(this.path(name)));
    if (!record) throw new Error(`no record of ${name}`);
    return inspectRecord(gitIn(this.env), record, async () => this.usedBy);
  }

  end(): void {
    rmSync(this.base, { recursive: true, force: true });
  }
}
