import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { copyUntracked } from './copy-untracked.ts';
import { gitIn } from './git.ts';
import { ScratchRig } from './testing/scratch-rig.ts';

let s: ScratchRig;
beforeEach(() => {
  s = new ScratchRig();
});
afterEach(() => s.end());

describe('copies', () => {
  it.each([
    ['3 files', { files: 2, bytes: 1_000 }],
    ['more than 0 MiB', { files: 3, bytes: 10 }],
  ])('that are too many or too large (%s) are refused before the first', async (what, limits) => {
    for (const name of ['a', 'b', 'c']) s.write(`rig/keys/${name}`, 'four');
    const target = join(s.base, 'target');
    await expect(copyUntracked(gitIn(s.env), s.rig, target, ['keys/**'], limits)).rejects.toMatchObject({
      code: 'copy-too-large',
      message: expect.stringContaining(`worktree.copy (keys/**) matches ${what}`),
    });
    expect(existsSync(target)).toBe(false);
  });

  it('leave out what a pattern with ! names, and the state of a city inside of the rig', async () => {
    for (const name of ['a.key', 'b.key', '.gc/city.key']) s.write(`rig/${name}`, name);
    const target = join(s.base, 'target');
    await copyUntracked(gitIn(s.env), s.rig, target, ['**/*.key', '!b.key']);
    expect(readFileSync(join(target, 'a.key'), 'utf8')).toBe('a.key');
    expect(existsSync(join(target, 'b.key'))).toBe(false);
    expect(existsSync(join(target, '.gc'))).toBe(false);
  });
});
