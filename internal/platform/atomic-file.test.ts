import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ensurePrivateDir, ensurePrivateDirFor } from './atomic-file.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-folders-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe('a private folder', () => {
  it('is made with its parents, for its owner only, and is made once', () => {
    ensurePrivateDir(join(dir, 'a', 'b'));
    ensurePrivateDir(join(dir, 'a', 'b'));
    ensurePrivateDirFor(join(dir, 'c', 'd', 'file'));
    expect(['a', 'a/b', 'c', 'c/d'].map((path) => modeOf(join(dir, path)))).toEqual([
      0o700, 0o700, 0o700, 0o700,
    ]);
  });

  it('is tightened when others could enter it', () => {
    mkdirSync(join(dir, 'open'));
    chmodSync(join(dir, 'open'), 0o755);
    ensurePrivateDir(join(dir, 'open'));
    expect(modeOf(join(dir, 'open'))).toBe(0o700);
  });

  it('is refused below a file', () => {
    writeFileSync(join(dir, 'file'), '');
    expect(() => ensurePrivateDir(join(dir, 'file'))).toThrow(/EEXIST/);
    expect(() => ensurePrivateDir(join(dir, 'file', 'a'))).toThrow(/ENOTDIR/);
  });

  it.runIf(existsSync('/proc/self'))('is refused, at once, where the file system takes none', () => {
    expect(() => ensurePrivateDirFor('/proc/nope/deeper/file')).toThrow(/ENOENT/);
  });
});
