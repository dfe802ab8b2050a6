import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { describeShellFailure, runShell, type ShellRequest, type ShellResult } from './run-shell.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-shell-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const run = (command: string, over: Partial<ShellRequest> = {}): Promise<ShellResult> =>
  runShell({
    command,
    cwd: dir,
    env: { PATH: process.env['PATH'] ?? '' },
    timeoutMs: 10_000,
    signal: new AbortController().signal,
    ...over,
  });

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = Date.now() + 5_000;
  while (!condition()) {
    if (Date.now() > deadline) throw new Error('it did not come true');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const pidIn = (file: string): number => Number(readFileSync(join(dir, file), 'utf8'));

describe('runShell', () => {
  it('runs in the folder with exactly the environment given', async () => {
    expect(
      await run('pwd > out; env | sort >> out', { env: { PATH: '/bin:/usr/bin', A: '', B: 'b' } }),
    ).toEqual({ kind: 'ok' });
    const [cwd, ...env] = readFileSync(join(dir, 'out'), 'utf8').trim().split('\n');
    expect(cwd).toBe(dir);
    expect(env).toContain('A=');
    expect(env).toContain('B=b');
    expect(env.some((line) => line.startsWith('HOME='))).toBe(false);
  });

  it('tells exit code or signal, and the end of stderr', async () => {
    const result = await run('head -c 5000 /dev/zero | tr "\\0" x >&2; echo the end >&2; exit 3');
    expect(result).toMatchObject({ kind: 'exited', exit: { code: 3 } });
    expect(result.kind === 'exited' && result.stderrTail.endsWith('the end')).toBe(true);
    expect(result.kind === 'exited' && result.stderrTail.length).toBeLessThanOrEqual(2_048);
    expect(await run('kill -9 $$')).toEqual({ kind: 'exited', exit: { signal: 'SIGKILL' }, stderrTail: '' });
  });

  it('kills the whole group at the timeout', async () => {
    const result = await run('echo waiting >&2; sleep 300 & echo $! > pid; wait', { timeoutMs: 300 });
    expect(result).toEqual({ kind: 'timed-out', timeoutMs: 300, stderrTail: 'waiting' });
    await until(() => !isAlive(pidIn('pid')));
  });

  it('kills the whole group when it is aborted', async () => {
    const controller = new AbortController();
    const result = run('sleep 300 & echo $! > pid; wait', { signal: controller.signal });
    const failure = expect(result).rejects.toThrow('enough');
    await until(() => {
      try {
        return pidIn('pid') > 0;
      } catch {
        return false; // not written yet
      }
    });
    controller.abort(new Error('enough'));
    await failure;
    await until(() => !isAlive(pidIn('pid')));
  });

  it('does not wait for a background child that keeps stderr open', async () => {
    const before = Date.now();
    expect(await run('sleep 30 & echo $! > pid')).toEqual({ kind: 'ok' });
    expect(Date.now() - before).toBeLessThan(5_000);
    process.kill(pidIn('pid'));
  });

  it('says when it could not start at all', async () => {
    const result = await run('true', { cwd: join(dir, 'missing') });
    expect(result.kind).toBe('not-started');
    expect(result.kind === 'not-started' && describeShellFailure(result)).toContain('ENOENT');
  });
});

describe('describeShellFailure', () => {
  it('is one line with what the command said last', () => {
    expect(describeShellFailure({ kind: 'exited', exit: { code: 2 }, stderrTail: 'no' })).toBe('exit 2: no');
    expect(describeShellFailure({ kind: 'exited', exit: { signal: 'SIGTERM' }, stderrTail: '' })).toBe(
      'signal SIGTERM',
    );
    expect(describeShellFailure({ kind: 'timed-out', timeoutMs: 10_000, stderrTail: 'x' })).toBe(
      'no end within 10 s, killed: x',
    );
  });
});
