import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { scratch } from '../testing/scratch-city.ts';
import { checkLock, readLock, writeLock } from './lock-file.ts';

const A = 'a'.repeat(40);
const B = 'b'.repeat(40);

describe('lock files', () => {
  it('are empty when they are missing', async () => {
    const lock = await readLock(scratch({}));
    expect([lock.packs.entries.size, lock.named.entries.size, lock.packs.problems]).toEqual([0, 0, []]);
  });

  it('are read in both forms', async () => {
    const lock = await readLock(
      scratch({
        'packs.lock': `schema = 1\n\n[packs]\n[packs."https://h.org/a.git//p"]\nversion = "sha:${A}"\ncommit = "${A}"\n`,
        'pack.lock': `[packs.x]\nsource = "https://h.org/x"\nref = "main"\ncommit = "${B}"\nhash = "sha256:1"\n`,
      }),
    );
    expect(lock.packs.entries.get('https://h.org/a.git//p')).toMatchObject({
      commit: A,
      version: `sha:${A}`,
    });
    expect(lock.named.entries.get('x')).toMatchObject({ commit: B, ref: 'main', source: 'https://h.org/x' });
  });

  it.each([
    ['a merge conflict', `schema = 1\n<<<<<<< ours\n[packs.x]\ncommit = "${A}"\n`, 2],
    ['a short commit', '[packs.x]\ncommit = "abc"\n', 1],
    ['a newer schema', 'schema = 2\n', 1],
    ['packs that are no table', 'packs = 1\n', 1],
  ])('%s has its place, and is never written over', async (_what, text, line) => {
    const root = scratch({ 'packs.lock': text });
    const { packs } = await readLock(root);
    expect(packs.problems.map(({ position }) => position?.line)).toEqual([line]);
    expect(() => checkLock(packs, root)).toThrow(`packs.lock:${line}:`);
    expect(readFileSync(join(root, 'packs.lock'), 'utf8')).toBe(text);
  });

  it('keep what others wrote into them', async () => {
    const root = scratch({
      'packs.lock': `schema = 1\nmine = "x"\n\n[packs.b]\ncommit = "${A}"\nfetched = 2026-01-02T03:04:05Z\n\n[packs.gone]\ncommit = "${A}"\n`,
    });
    const { packs } = await readLock(root);
    const entries = new Map([
      ['b', { commit: B, version: '1.0.0', ref: '' }],
      ['a', { commit: A, version: undefined }],
    ]);
    await writeLock(packs, entries);
    const text = readFileSync(packs.file, 'utf8');
    expect(text.replace(/^#.*\n/, '')).toBe(
      `schema = 1\nmine = "x"\n\n[packs.a]\ncommit = "${A}"\n\n[packs.b]\ncommit = "${B}"\nfetched = 2026-01-02T03:04:05.000Z\nversion = "1.0.0"\n`,
    );
    const again = await readLock(root);
    await writeLock(again.packs, entries);
    expect(readFileSync(packs.file, 'utf8')).toBe(text);
  });

  it('are not made for nothing', async () => {
    const { packs } = await readLock(scratch({}));
    await writeLock(packs, new Map());
    expect(existsSync(packs.file)).toBe(false);
  });
});
