import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findOnPath } from './executable.ts';
import { lockFile } from './file-lock.ts';

const PATH = process.env['PATH'] ?? '';
const BUSY_MS = 60;
let dir: string;
let file: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-lock-'));
  file = join(dir, 'x.lock');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** The program itself: what is on the PATH may be a script that looks for it. */
function whereIs(program: string): string {
  if (program !== 'python3') return findOnPath(PATH, program) ?? '';
  return execFileSync(program, ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim();
}

/** A folder with one of the locking programs, and what that needs. */
function only(...programs: readonly string[]): string {
  const bin = join(dir, `bin-${programs.join('-')}`);
  mkdirSync(bin);
  for (const program of programs) symlinkSync(whereIs(program), join(bin, program));
  return bin;
}

describe('a file lock', () => {
  it('is made for its owner alone, held by one, and free after its release', async () => {
    const first = await lockFile(file, { path: PATH });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(first.isHeld()).toBe(true);
    await expect(lockFile(file, { path: PATH, timeoutMs: BUSY_MS })).rejects.toMatchObject({
      code: 'store-busy',
      message: expect.stringContaining(file) as string,
    });
    const waiting = lockFile(file, { path: PATH });
    first.release();
    (await waiting).release();
  });

  it('is not waited for after an abort', async () => {
    const held = await lockFile(file, { path: PATH });
    const abort = new AbortController();
    const waiting = lockFile(file, { path: PATH, signal: abort.signal });
    abort.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    held.release();
  });

  for (const keeper of [['perl'], ['python3']]) {
    const has = keeper.every((program) => findOnPath(PATH, program) !== undefined);
    it.skipIf(!has)(
      `is the same one whoever holds it: ${keeper[0]}${has ? '' : ' (not installed)'}`,
      async () => {
        const systemFolders: readonly string[] = [];
        const held = await lockFile(file, { path: only(...keeper), systemFolders });
        await expect(lockFile(file, { path: PATH, timeoutMs: BUSY_MS })).rejects.toMatchObject({
          code: 'store-busy',
        });
        const waiting = lockFile(file, { path: PATH });
        held.release();
        (await waiting).release();
      },
    );
  }

  it('says what is missing where nothing can hold it', async () => {
    const lacking = lockFile(file, { path: join(dir, 'nothing'), systemFolders: [] });
    await expect(lacking).rejects.toMatchObject({
      code: 'lock-unavailable',
      message: expect.stringContaining('flock, perl, python3') as string,
      next: expect.stringContaining('install') as string,
    });
  });
});
