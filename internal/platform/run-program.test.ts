import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { identityOf } from './process-identity.ts';
import { type ProgramOptions, runProgram } from './run-program.ts';

const dirs: string[] = [];
afterEach(() => {
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true, force: true });
});

const options = (over: Partial<ProgramOptions> = {}): ProgramOptions => ({
  env: { PATH: process.env['PATH'] },
  signal: new AbortController().signal,
  timeoutMs: 30_000,
  maxOutput: 1_000,
  ...over,
});
const sh = (script: string, over: Partial<ProgramOptions> = {}) =>
  runProgram('/bin/sh', ['-c', script], options(over));

/** Where a script writes its pids, and a wait until it has. */
function pidFile(): { path: string; read(): Promise<number> } {
  const dir = mkdtempSync(join(tmpdir(), 'gc-run-'));
  dirs.push(dir);
  const path = join(dir, 'pid');
  return {
    path,
    read: async () => {
      for (;;) {
        const text = readOr(path);
        if (text.endsWith('\n')) return Number(text);
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

async function untilGone(pid: number): Promise<void> {
  while (identityOf(pid)) await new Promise((resolve) => setImmediate(resolve));
}

describe('runProgram', () => {
  it('gives what was printed, byte for byte, and only the given environment', async () => {
    process.env['GC_TEST_LEAK'] = 'x';
    const result = await sh('echo out; echo err >&2; echo "$A$GC_TEST_LEAK"', {
      env: { PATH: process.env['PATH'], A: '1' },
    });
    delete process.env['GC_TEST_LEAK'];
    expect(result).toEqual({ kind: 'ok', stdout: 'out\n1\n', stderr: 'err\n' });
  });

  it('gives arguments without a shell', async () => {
    const result = await runProgram('printf', ['%s|', '$(id)', 'a b', ''], options());
    expect(result).toMatchObject({ stdout: '$(id)|a b||' });
  });

  it('tells failures apart', async () => {
    expect(await sh('echo no >&2; exit 3')).toEqual({
      kind: 'failed',
      code: 3,
      signal: undefined,
      stdout: '',
      stderr: 'no\n',
    });
    expect(await sh('kill -TERM $$')).toMatchObject({ kind: 'failed', signal: 'SIGTERM' });
    expect(await runProgram('/no/such/program', [], options())).toMatchObject({
      kind: 'not-started',
      code: 'ENOENT',
    });
    expect(await sh('yes')).toEqual({ kind: 'too-much-output', maxOutput: 1_000 });
  });

  it('ends the whole group at a timeout', async () => {
    const file = pidFile();
    const result = await sh(`sleep 600 & echo $! > ${file.path}; wait`, { timeoutMs: 300 });
    expect(result).toMatchObject({ kind: 'timed-out', timeoutMs: 300 });
    await untilGone(await file.read());
  });

  it('ends the whole group when it is aborted, and rejects with the reason', async () => {
    const file = pidFile();
    const abort = new AbortController();
    const running = sh(`sleep 600 & echo $! > ${file.path}; wait`, { signal: abort.signal });
    const pid = await file.read();
    abort.abort(new Error('enough'));
    await expect(running).rejects.toThrow('enough');
    await untilGone(pid);
    await expect(sh('true', { signal: abort.signal })).rejects.toThrow('enough');
  });
});
