import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { findScript } from './find-script.ts';

const dir = mkdtempSync(join(tmpdir(), 'gc-find-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
const put = (path: string, mode: number) => {
  writeFileSync(join(dir, path), '#!/bin/sh\n');
  chmodSync(join(dir, path), mode);
};
for (const folder of ['city', 'bin', 'shipped']) mkdirSync(join(dir, folder));
put('city/mine', 0o755);
put('city/plain', 0o644);
put('bin/both', 0o755);
put('shipped/both', 0o755);
put('shipped/ours', 0o755);

const find = (script: string) =>
  findScript({ script, root: join(dir, 'city'), path: join(dir, 'bin'), shipped: join(dir, 'shipped') });
const caught = (script: string) => {
  try {
    return find(script);
  } catch (error) {
    return error as Error & { code: string; next?: string };
  }
};

describe('where a session script is found', () => {
  it.each([
    ['./mine', 'city/mine'],
    ['both', 'bin/both'],
    ['ours', 'shipped/ours'],
  ])('%s', (script, file) => {
    expect(find(script)).toEqual({ shown: script, file: join(dir, file) });
  });

  it('takes an absolute path as it is', () => {
    expect(find(join(dir, 'bin/both')).file).toBe(join(dir, 'bin/both'));
  });

  it.each([
    ['mine', 'script-missing', 'not found on the PATH nor in', 'exec:./mine'],
    ['nobody', 'script-missing', 'not found on the PATH nor in', 'exec:./my-script'],
    ['', 'script-missing', 'names no script', 'exec:gc-session-screen'],
    ['./gone', 'script-missing', 'does not exist', 'correct the path'],
    ['./plain', 'script-not-executable', 'not an executable file', 'chmod +x'],
  ])('says of %j where it looked and what to do', (script, code, said, next) => {
    const error = caught(script);
    expect(error).toMatchObject({ code });
    expect(error instanceof Error && error.message).toContain(said);
    if (next !== undefined) expect(error).toMatchObject({ next: expect.stringContaining(next) });
  });
});
