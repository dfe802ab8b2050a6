import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hashPathContent } from './path-hash.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-hash-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const sha = (text: string) => createHash('sha256').update(text).digest('hex');

describe('hashPathContent', () => {
  it('of a file is the hash of its bytes', async () => {
    writeFileSync(join(dir, 'f'), 'hello');
    expect(await hashPathContent(join(dir, 'f'))).toBe(sha('hello'));
  });

  it('of a folder is path, NUL, content, NUL in bytewise order', async () => {
    mkdirSync(join(dir, 'sub'));
    writeFileSync(join(dir, 'b'), '2');
    writeFileSync(join(dir, 'sub', 'c'), '3');
    writeFileSync(join(dir, 'B'), '1');
    writeFileSync(join(dir, 'sub.txt'), '4');
    expect(await hashPathContent(dir)).toBe(sha('B\x001\0b\x002\0sub.txt\x004\0sub/c\x003\0'));
  });

  it('of an empty folder is the hash of nothing, of a missing path empty', async () => {
    expect(await hashPathContent(dir)).toBe(sha(''));
    expect(await hashPathContent(join(dir, 'missing'))).toBe('');
  });

  it('follows a link to a folder, which the original could not read', async () => {
    mkdirSync(join(dir, 'real'));
    writeFileSync(join(dir, 'real', 'x'), '1');
    symlinkSync('real', join(dir, 'link'));
    expect(await hashPathContent(dir)).toBe(sha('link/x\x001\0real/x\x001\0'));
  });

  it('is empty as a whole for a dangling link, a loop, or something that is no file', async () => {
    symlinkSync('nowhere', join(dir, 'dangling'));
    expect(await hashPathContent(dir)).toBe('');
    rmSync(join(dir, 'dangling'));
    symlinkSync('.', join(dir, 'loop'));
    expect(await hashPathContent(dir)).toBe('');
    rmSync(join(dir, 'loop'));
    execFileSync('mkfifo', [join(dir, 'pipe')]);
    expect(await hashPathContent(dir)).toBe('');
  });
});
