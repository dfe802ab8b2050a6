import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withRegistry } from './registry.ts';
import { ScratchRig } from './testing/scratch-rig.ts';

let s: ScratchRig;
beforeEach(() => {
  s = new ScratchRig();
});
afterEach(() => s.end());

const read = (...parts: string[]) => readFileSync(join(...parts), 'utf8');
const branches = () => s.git(s.rig, 'branch', '--format=%(refname:short)').split('\n');
const worktrees = () => s.git(s.rig, 'worktree', 'list').split('\n').length;

/** Nothing of a failed making is left. */
async function expectNothingLeft(name: string) {
  expect(existsSync(s.path(name))).toBe(false);
  expect(worktrees()).toBe(1);
  expect(branches()).toEqual(['main']);
  expect(await withRegistry(s.home, (registry) => registry.all())).toEqual([]);
  expect(existsSync(join(s.home.gcDir, 'worktrees'))).toBe(false);
}

describe('a worktree', () => {
  it('is made on a branch of its own, from the commit of the rig', async () => {
    const ready = await s.ensure('w1');
    expect(ready).toEqual({
      path: s.path('w1'),
      branch: 'gc/rig/w1',
      made: true,
      env: { GC_WORKTREE: s.path('w1'), GC_BRANCH: 'gc/rig/w1' },
      notes: [],
    });
    expect(read(s.path('w1'), 'tracked.txt')).toBe('tracked\n');
    expect(s.git(s.path('w1'), 'rev-parse', 'HEAD')).toBe(s.git(s.rig, 'rev-parse', 'HEAD'));
    expect(s.git(s.path('w1'), 'status', '--porcelain')).toBe('');
  });

  it('is taken again with everything in it, on whatever its agent has checked out', async () => {
    await s.ensure('w1', { setup: ['echo run >> "$HOME/setup-runs"'] });
    writeFileSync(join(s.path('w1'), 'work.txt'), 'work');
    s.git(s.path('w1'), 'switch', '--quiet', '-c', 'feature');
    const again = await s.ensure('w1', { setup: ['echo run >> "$HOME/setup-runs"'], branch: 'another' });
    expect(again).toMatchObject({ made: false, branch: 'feature', env: { GC_BRANCH: 'feature' } });
    expect(read(s.path('w1'), 'work.txt')).toBe('work');
    expect(read(s.env.HOME, 'setup-runs')).toBe('run\n');
  });

  it('takes up a branch that is there and free, and a base', async () => {
    s.git(s.rig, 'branch', 'old');
    s.write('rig/next.txt', 'next');
    s.commit(s.rig, 'second');
    expect(await s.ensure('w1', { branch: 'old' })).toMatchObject({ branch: 'old' });
    expect(existsSync(join(s.path('w1'), 'next.txt'))).toBe(false);
    await s.ensure('w2', { base: 'main~1' });
    expect(existsSync(join(s.path('w2'), 'next.txt'))).toBe(false);
  });

  it('comes again when somebody removed its folder', async () => {
    await s.ensure('w1');
    rmSync(s.path('w1'), { recursive: true });
    expect(await s.ensure('w1')).toMatchObject({ made: true, branch: 'gc/rig/w1' });
    expect(worktrees()).toBe(2);
  });

  it('runs no hook of the repository', async () => {
    s.write('rig/.git/hooks/post-checkout', '#!/bin/sh\ntouch "$HOME/hooked"\n');
    chmodSync(join(s.rig, '.git/hooks/post-checkout'), 0o755);
    await s.ensure('w1');
    expect(existsSync(join(s.env.HOME, 'hooked'))).toBe(false);
  });

  it('is not turned to the repository that the caller stands in', async () => {
    const env = {
      ...s.spec('w1').env,
      GIT_DIR: '/nonexistent',
      GIT_INDEX_FILE: '/nonexistent',
      GIT_WORK_TREE: '/tmp',
    };
    Object.assign(s.home, { env });
    await s.ensure('w1', { env, setup: ['git status > "$HOME/status"'] });
    expect(read(s.env.HOME, 'status')).toContain('gc/rig/w1');
  });
});

describe('files that were there before', () => {
  it('are kept, and tracked files are not overwritten', async () => {
    s.write('city/.gc/worktrees/rig/w1/.claude/settings.json', '{"staged":true}');
    s.write('city/.gc/worktrees/rig/w1/tracked.txt', 'tracked\n');
    expect((await s.ensure('w1')).notes).toEqual([]);
    expect(read(s.path('w1'), '.claude', 'settings.json')).toBe('{"staged":true}');
    expect(readdirSync(join(s.path('w1'), '..'))).toEqual(['w1']);
    expect((await s.look('w1')).uncommitted).toEqual(['.claude/settings.json']);
  });

  it('stay in a folder beside it when a tracked one differs', async () => {
    s.write('city/.gc/worktrees/rig/w1/tracked.txt', 'mine\n');
    const { notes } = await s.ensure('w1');
    const aside = readdirSync(join(s.path('w1'), '..')).filter((name) => name !== 'w1');
    expect(aside).toHaveLength(1);
    expect(read(s.path('w1'), '..', aside[0] ?? '', 'tracked.txt')).toBe('mine\n');
    expect(notes[0]).toContain(aside[0]);
    expect(read(s.path('w1'), 'tracked.txt')).toBe('tracked\n');
  });

  it('are back at their place after a failure', async () => {
    s.write('city/.gc/worktrees/rig/w1/a/note.txt', 'mine');
    await expect(s.ensure('w1', { setup: ['exit 1'] })).rejects.toThrow('exit 1');
    expect(read(s.path('w1'), 'a', 'note.txt')).toBe('mine');
    expect(readdirSync(s.path('w1'))).toEqual(['a']);
    expect(worktrees()).toBe(1);
  });

  it('of another repository, and links, are left alone', async () => {
    mkdirSync(s.path('w1'), { recursive: true });
    s.git(s.path('w1'), 'init', '--quiet');
    await expect(s.ensure('w1')).rejects.toMatchObject({ code: 'worktree-path-taken' });
    symlinkSync(s.rig, s.path('w2'));
    await expect(s.ensure('w2')).rejects.toMatchObject({ code: 'worktree-path-taken' });
    await expect(s.ensure('w2', { branch: 'main' })).rejects.toMatchObject({ code: 'worktree-path-taken' });
    await expect(s.ensure('w3', { path: s.rig, branch: 'main' })).rejects.toMatchObject({
      code: 'worktree-path-taken',
    });
    expect(existsSync(join(s.rig, 'tracked.txt'))).toBe(true);
  });
});

describe('untracked files of the rig', () => {
  it('come with it when a pattern names them, and no others', async () => {
    s.write('rig/.env', 'A=1');
    s.write('rig/sub/.env.local', 'B=1');
    s.write('rig/keys/deep/k.pem', 'key');
    s.write('rig/other.txt', 'no');
    await s.ensure('w1', { copy: ['.env', '**/.env.local', 'keys'] });
    expect(read(s.path('w1'), '.env')).toBe('A=1');
    expect(read(s.path('w1'), 'sub', '.env.local')).toBe('B=1');
    expect(read(s.path('w1'), 'keys', 'deep', 'k.pem')).toBe('key');
    expect(existsSync(join(s.path('w1'), 'other.txt'))).toBe(false);
    expect((await s.look('w1')).uncommitted).toEqual([]);
  });

  it('are never found behind a link that leads out of the rig, and never in .git', async () => {
    const outside = s.write('outside/secret', 'secret');
    symlinkSync(join(s.base, 'outside'), join(s.rig, 'linked'));
    symlinkSync('../outside/secret', join(s.rig, '.env'));
    s.write('rig/.env.real', 'x');
    symlinkSync('.env.real', join(s.rig, '.env.link'));
    const { notes } = await s.ensure('w1', { copy: ['**', '.git/**', 'linked/**'] });
    expect(existsSync(join(s.path('w1'), 'linked'))).toBe(false);
    expect(existsSync(join(s.path('w1'), '.env'))).toBe(false);
    expect(lstatSync(join(s.path('w1'), '.env.link')).isSymbolicLink()).toBe(true);
    expect(notes.join('\n')).toContain('.env was left out');
    expect(read(outside)).toBe('secret');
    expect(lstatSync(join(s.path('w1'), '.git')).isFile()).toBe(true);
  });
});

describe('set-up', () => {
  it('runs in the worktree, with its variables', async () => {
    await s.ensure('w1', { ports: 2, setup: ['pwd > here', 'echo "$GC_BRANCH $GC_PORT_COUNT" >> here'] });
    expect(read(s.path('w1'), 'here')).toBe(`${s.path('w1')}\ngc/rig/w1 2\n`);
    expect((await s.look('w1')).uncommitted).toEqual([]);
  });

  it('that fails leaves nothing, and says what and why', async () => {
    const setup = ['true', 'echo "no such package" >&2; exit 3'];
    await expect(s.ensure('w1', { ports: 5, setup })).rejects.toMatchObject({
      code: 'worktree-setup-failed',
      message: expect.stringMatching(/worktree\.setup\[1\].*exit 3: no such package/),
      lastLines: 'no such package',
    });
    await expectNothingLeft('w1');
  });

  it('that is called off leaves nothing, and none of its processes', async () => {
    const over = new AbortController();
    const pidFile = join(s.base, 'pid');
    const setup = [`sleep 600 & echo $! > ${pidFile}.new; mv ${pidFile}.new ${pidFile}; wait`];
    const making = s.ensure('w1', { setup }, over.signal);
    const failed = expect(making).rejects.toThrow('called off');
    while (!existsSync(pidFile)) await s.home.clock.sleep(10);
    over.abort(new Error('called off'));
    await failed;
    await expectNothingLeft('w1');
    const pid = Number(read(pidFile));
    while (isAlive(pid)) await s.home.clock.sleep(10);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/.test(read(`/proc/${pid}/stat`));
  } catch {
    return false;
  }
}

describe('a making whose process died', () => {
  const asMaking = (name: string, aside = '') =>
    withRegistry(s.home, async (registry) => {
      const record = await registry.find(s.path(name));
      if (record) await registry.put({ ...record, state: 'making', aside });
    });

  it('goes on with the next start, and stays until then', async () => {
    await s.ensure('w1');
    await asMaking('w1');
    expect(await s.prune('w1')).toMatchObject({ kind: 'stays', why: expect.stringContaining('interrupted') });
    expect(await s.ensure('w1', { setup: ['echo x > made'] })).toMatchObject({ made: true });
    expect(read(s.path('w1'), 'made')).toBe('x\n');
    expect(await s.look('w1')).toMatchObject({ making: false, uncommitted: [] });
  });

  it('has the files back that it had moved away', async () => {
    await s.ensure('w1');
    s.git(s.rig, 'worktree', 'remove', s.path('w1'));
    await asMaking('w1', `${s.path('w1')}.before-x`);
    s.write('city/.gc/worktrees/rig/w1.before-x/note.txt', 'mine');
    await s.ensure('w1');
    expect(read(s.path('w1'), 'note.txt')).toBe('mine');
    expect(read(s.path('w1'), 'tracked.txt')).toBe('tracked\n');
    expect(readdirSync(join(s.path('w1'), '..'))).toEqual(['w1']);
  });
});

describe('what cannot be', () => {
  it.each([
    ['base-not-found', { base: 'nowhere' }],
    ['branch-taken', { branch: 'main' }],
    ['git-failed', { branch: 'main/below' }],
  ])('%s', async (code, more) => {
    await expect(s.ensure('w1', more)).rejects.toMatchObject({ code });
    await expectNothingLeft('w1');
  });

  it('a rig that is no repository, or has no commit', async () => {
    const rig = { name: 'none', path: join(s.base, 'none') };
    mkdirSync(rig.path);
    await expect(s.ensure('w1', { rig })).rejects.toMatchObject({ code: 'rig-not-git' });
    s.git(rig.path, 'init', '--quiet');
    await expect(s.ensure('w1', { rig })).rejects.toMatchObject({ code: 'rig-without-commit' });
  });

  it('a worktree that somebody else made is taken on the wanted branch only', async () => {
    s.git(s.rig, 'worktree', 'add', '--quiet', '-b', 'theirs', s.path('w1'));
    await expect(s.ensure('w1')).rejects.toMatchObject({ code: 'worktree-foreign' });
    expect(await s.ensure('w1', { branch: 'theirs' })).toMatchObject({ made: false, branch: 'theirs' });
    expect(await s.prune('w1')).toEqual({ kind: 'stays', why: 'it was not made by this city' });
  });
});
