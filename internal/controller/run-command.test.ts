import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { identityOf } from '../platform/process-identity.ts';
import { type CommandRequest, runCommand } from './run-command.ts';

const run = (command: string, over: Partial<CommandRequest> = {}) =>
  runCommand({
    command,
    cwd: tmpdir(),
    env: { PATH: process.env['PATH'] ?? '' },
    timeoutMs: 10_000,
    signal: new AbortController().signal,
    ...over,
  });

describe('a command of the config', () => {
  it('answers what it printed, with the environment it was given and nothing else', async () => {
    expect(await run('echo "$A-$B-$HOME"', { env: { A: 'x', B: '' } })).toEqual({
      kind: 'ok',
      stdout: 'x--\n',
    });
  });

  it('fails with how it ended and what it said last', async () => {
    expect(await run('echo one >&2; echo two >&2; exit 3')).toEqual({ kind: 'failed', how: 'exit 3: two' });
    expect(await run('kill -9 $$')).toEqual({ kind: 'failed', how: 'signal SIGKILL' });
    expect(await run('true', { cwd: '/no/such/folder' })).toMatchObject({ kind: 'failed' });
  });

  it('is killed with what it started when it takes too long', async () => {
    const result = await run('sleep 60 & sleep 60', { timeoutMs: 100 });
    expect(result).toEqual({ kind: 'failed', how: 'no end within 0.1 s, killed' });
  });

  it('has answered when it ends, whatever it left behind with its output open, and that is ended', async () => {
    const left = async (command: string) => {
      const result = await run(`sleep 60 & echo $!; ${command}`);
      const pid = Number(result.kind === 'ok' ? result.stdout : result.how.split(' ').at(-1));
      await expect.poll(() => identityOf(pid)).toBeUndefined();
      return result.kind;
    };
    expect(await Promise.all([left('true'), left('echo $! >&2; exit 3')])).toEqual(['ok', 'failed']);
  });

  it('ends when the city ends', async () => {
    const ending = new AbortController();
    const result = run('sleep 60', { signal: ending.signal });
    ending.abort();
    expect(await result).toEqual({ kind: 'failed', how: 'the city is ending' });
  });
});
