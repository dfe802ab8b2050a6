import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { defaultBranchOf } from './default-branch.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-branch-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text);
}

it('is what the origin says, from any folder of the repository', async () => {
  put('repo/.git/refs/remotes/origin/HEAD', 'ref: refs/remotes/origin/release/next\n');
  put('repo/src/deep/file', '');
  expect(await defaultBranchOf(join(dir, 'repo'))).toBe('release/next');
  expect(await defaultBranchOf(join(dir, 'repo/src/deep'))).toBe('release/next');
});

it('is that of the repository in a linked work tree', async () => {
  put('repo/.git/refs/remotes/origin/HEAD', 'ref: refs/remotes/origin/trunk\n');
  put('repo/.git/worktrees/w/commondir', '../..\n');
  put('tree/.git', `gitdir: ${join(dir, 'repo/.git/worktrees/w')}\n`);
  expect(await defaultBranchOf(join(dir, 'tree'))).toBe('trunk');
});

it('is main where nobody says', async () => {
  put('repo/.git/HEAD', 'ref: refs/heads/work\n');
  put('odd/.git', 'not a link');
  expect(await defaultBranchOf(join(dir, 'repo'))).toBe('main');
  expect(await defaultBranchOf(join(dir, 'odd'))).toBe('main');
  expect(await defaultBranchOf(join(dir, 'nowhere'))).toBe('main');
});
