import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { inspectWorktrees } from './inspect-worktrees.ts';
import { noteStaged } from './note-staged.ts';
import { withRegistry } from './registry.ts';
import { ScratchRig } from './testing/scratch-rig.ts';

let s: ScratchRig;
beforeEach(() => {
  s = new ScratchRig();
});
afterEach(() => s.end());

const branches = () => s.git(s.rig, 'branch', '--format=%(refname:short)').split('\n');
const put = (name: string, file: string, text: string) => writeFileSync(join(s.path(name), file), text);

function commitIn(name: string, file = 'new.txt') {
  put(name, file, file);
  s.commit(s.path(name), file);
}

async function expectStays(name: string, why: string | RegExp) {
  const pruned = await s.prune(name);
  expect(pruned).toEqual({
    kind: 'stays',
    why: typeof why === 'string' ? why : expect.stringMatching(why),
  });
  expect(existsSync(s.path(name))).toBe(true);
}

describe('a worktree stays', () => {
  beforeEach(async () => {
    await s.ensure('w1');
  });

  it('while a session lives in it', async () => {
    s.usedBy = 'rig/w1';
    await expectStays('w1', 'session rig/w1 lives in it');
  });

  it('with files that are not committed', async () => {
    put('w1', 'new.txt', 'x');
    await expectStays('w1', '1 uncommitted file (new.txt)');
    put('w1', 'tracked.txt', 'changed');
    rmSync(join(s.path('w1'), '.gitignore'));
    await expectStays('w1', '3 uncommitted files (.gitignore, tracked.txt, ...)');
  });

  it('with commits that are nowhere else, on its branch, another one, or none', async () => {
    commitIn('w1');
    await expectStays('w1', '1 unpushed commit');
    s.git(s.path('w1'), 'switch', '--quiet', '-c', 'feature');
    commitIn('w1', 'b.txt');
    await expectStays('w1', '2 unpushed commits');
    s.git(s.path('w1'), 'checkout', '--quiet', '--detach');
    commitIn('w1', 'c.txt');
    await expectStays('w1', /unpushed commit/);
  });

  it('while it is locked, with the reason', async () => {
    s.git(s.rig, 'worktree', 'lock', '--reason', 'on a stick', s.path('w1'));
    await expectStays('w1', 'it is locked: on a stick');
  });

  it('while a merge or rebase is under way', async () => {
    commitIn('w1', 'tracked.txt');
    put('w1', 'tracked.txt', 'other');
    s.write('rig/tracked.txt', 'mine');
    s.commit(s.rig, 'mine');
    s.git(s.path('w1'), 'checkout', '--quiet', 'tracked.txt');
    expect(() => s.git(s.path('w1'), 'rebase', 'main')).toThrow();
    await expectStays('w1', 'a rebase is under way in it');
  });

  it('with another repository among its ignored files', async () => {
    s.write('city/.gc/worktrees/rig/w1/keys/repo/x', 'x');
    s.git(join(s.path('w1'), 'keys'), 'init', '--quiet');
    await expectStays('w1', 'another repository is in it: keys/');
  });

  it('when its archive command fails, or leaves work behind', async () => {
    await s.ensure('w1', { archive: ['echo "cannot save" >&2; exit 4'] });
    await expectStays('w1', /worktree\.archive\[0\] .* failed: exit 4: cannot save/);
    await s.ensure('w1', { archive: ['echo x > left.txt'] });
    await expectStays('w1', 'after its archive commands: 1 uncommitted file (left.txt)');
  });

  it('when it was replaced by another one at the same path', async () => {
    s.git(s.rig, 'worktree', 'remove', s.path('w1'));
    s.git(s.rig, 'worktree', 'add', '--quiet', '--detach', s.path('w1'));
    await expectStays('w1', 'it was not made by this city');
  });

  it('when a link stands at its place: what it leads to is left alone', async () => {
    s.git(s.rig, 'worktree', 'move', s.path('w1'), join(s.base, 'moved'));
    symlinkSync(join(s.base, 'moved'), s.path('w1'));
    await s.prune('w1');
    expect(existsSync(join(s.base, 'moved', 'tracked.txt'))).toBe(true);
  });

  it('when its rig cannot be asked', async () => {
    rmSync(s.rig, { recursive: true });
    await expectStays('w1', /^could not tell: git worktree list failed/);
  });
});

describe('a worktree goes', () => {
  it('with its branch when all of it is merged', async () => {
    await s.ensure('w1');
    commitIn('w1');
    s.git(s.rig, 'merge', '--quiet', 'gc/rig/w1');
    expect(await s.prune('w1', true)).toEqual({ kind: 'would-go' });
    expect(await s.prune('w1')).toEqual({ kind: 'removed', branchDeleted: true });
    expect(existsSync(s.path('w1'))).toBe(false);
    expect(branches()).toEqual(['main']);
    expect(await withRegistry(s.home, (registry) => registry.all())).toEqual([]);
  });

  it('but not its branch when that is pushed only, or was there before', async () => {
    s.git(s.base, 'init', '--quiet', '--bare', 'remote.git');
    s.git(s.rig, 'remote', 'add', 'origin', join(s.base, 'remote.git'));
    await s.ensure('w1');
    commitIn('w1');
    s.git(s.path('w1'), 'push', '--quiet', '-u', 'origin', 'gc/rig/w1');
    expect(await s.prune('w1')).toEqual({ kind: 'removed', branchDeleted: false });
    s.git(s.rig, 'branch', 'old');
    await s.ensure('w2', { branch: 'old' });
    expect(await s.prune('w2')).toEqual({ kind: 'removed', branchDeleted: false });
    expect(branches()).toEqual(['gc/rig/w1', 'main', 'old']);
  });

  it('after its archive commands, which know where they are', async () => {
    const archive = [`echo "$GC_BRANCH $GC_PORT_COUNT $GC_RIG $PWD" > ${join(s.base, 'archived')}`];
    await s.ensure('w1', { archive, ports: 2 });
    expect(await s.prune('w1')).toMatchObject({ kind: 'removed' });
    expect(readFileSync(join(s.base, 'archived'), 'utf8')).toBe(`gc/rig/w1 2 rig ${s.path('w1')}\n`);
  });

  it('with the files that we put there, as long as they are as they were', async () => {
    s.write('rig/local.cfg', 'x');
    const odd = 'we ird[1]#!.txt';
    await s.ensure('w1', { copy: ['local.cfg'], setup: [`echo x > '${odd}'`] });
    const stage = async (text: string) => put('w1', 'staged.json', text);
    const { signal } = new AbortController();
    await noteStaged(s.home, s.path('w1'), signal, () => stage('{}'));
    put('w1', 'staged.json', '{"by":"agent"}');
    await expectStays('w1', '1 uncommitted file (staged.json)');
    await noteStaged(s.home, s.path('w1'), signal, () => stage('{"by":"agent","merged":1}'));
    await expectStays('w1', '1 uncommitted file (staged.json)');
    rmSync(join(s.path('w1'), 'staged.json'));
    await noteStaged(s.home, s.path('w1'), signal, () => stage('{}'));
    expect(await s.prune('w1')).toMatchObject({ kind: 'removed' });
  });

  it('with links to what is elsewhere, which stays', async () => {
    await s.ensure('w1');
    const skill = s.write('city/skills/review/SKILL.md', 'skill');
    s.write('city/.gc/worktrees/rig/w1/.claude/skills/x', '');
    rmSync(join(s.path('w1'), '.claude/skills/x'));
    symlinkSync(join(s.base, 'city/skills/review'), join(s.path('w1'), '.claude/skills/review'));
    expect(await s.prune('w1')).toMatchObject({ kind: 'removed' });
    expect(readFileSync(skill, 'utf8')).toBe('skill');
  });

  it('when its folder was removed by hand, or with git', async () => {
    await s.ensure('w1');
    await s.ensure('w2');
    rmSync(s.path('w1'), { recursive: true });
    s.git(s.rig, 'worktree', 'remove', s.path('w2'));
    expect(await s.prune('w1')).toEqual({ kind: 'removed', branchDeleted: true });
    expect(await s.prune('w2')).toEqual({ kind: 'removed', branchDeleted: true });
    expect(s.git(s.rig, 'worktree', 'list').split('\n')).toHaveLength(1);
  });
});

describe('the list', () => {
  it('has ours, and those that somebody else put beside them', async () => {
    await s.ensure('w1');
    s.git(s.rig, 'worktree', 'add', '--quiet', '-b', 'theirs', s.path('w2'));
    s.git(s.rig, 'worktree', 'add', '--quiet', '-b', 'elsewhere', join(s.base, 'elsewhere'));
    const rigs = [
      { name: 'rig', path: s.rig },
      { name: 'gone', path: join(s.base, 'gone') },
    ];
    const usedBy = async (path: string) => (path === s.path('w2') ? 'someone' : undefined);
    const states = await inspectWorktrees(s.home, rigs, usedBy, new AbortController().signal);
    expect(states.map(({ path, ours, usedBy: by, branch }) => [path, ours, by, branch])).toEqual([
      [s.path('w1'), true, undefined, 'gc/rig/w1'],
      [s.path('w2'), false, 'someone', 'theirs'],
    ]);
  });

  it('is empty, and makes nothing, where there never was one', async () => {
    expect(await inspectWorktrees(s.home, [], async () => undefined, new AbortController().signal)).toEqual(
      [],
    );
    expect(existsSync(join(s.home.gcDir, 'worktrees.db'))).toBe(false);
  });
});
