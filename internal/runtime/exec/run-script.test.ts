import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { processLives } from '../../../conformance/provider/probe.ts';
import { runScript, STDERR_TAIL_BYTES } from './run-script.ts';
import { ScriptCalls } from './script-calls.ts';
import { scriptBench } from './testing/script-bench.ts';

const bench = scriptBench();
afterAll(() => bench.close());

const env = { PATH: process.env['PATH'] ?? '' };
const request = (text: string, over: Partial<Parameters<typeof runScript>[0]> = {}) => ({
  file: bench.script(text).file,
  args: ['op', 'name'],
  cwd: bench.dir,
  env,
  stdin: undefined,
  timeoutMs: 10_000,
  ...over,
});
const callsOf = (text: string, timeoutMs = 10_000, mode = 0o755) =>
  new ScriptCalls({
    script: bench.script(text, mode),
    env,
    cwd: bench.dir,
    timeouts: { startMs: timeoutMs, otherMs: timeoutMs },
  });
const errorOf = async (work: Promise<unknown>) =>
  work.then(
    () => new Error('it succeeded'),
    (error: unknown) => error as Error & { code?: string; next?: string },
  );
const pids = (file: string) => readFileSync(join(bench.dir, file), 'utf8').trim().split('\n').map(Number);

describe.concurrent('one run of a session script', () => {
  it('gives stdin byte for byte and takes half a line at the end as it is', async () => {
    const result = await runScript(request('cat; printf half', { stdin: "a\n é 🙂 'q' $x\n\n" }));
    expect(result).toMatchObject({ kind: 'ended', code: 0, stdout: "a\n é 🙂 'q' $x\n\nhalf" });
  });

  it('EXE-02 ends when the script ends, whoever holds its output, and leaves that one alone', async () => {
    const started = performance.now();
    const result = await runScript(request('sleep 30 & echo $! >"$d/daemon"; echo done'));
    expect(result).toMatchObject({ kind: 'ended', code: 0, stdout: 'done\n' });
    expect(performance.now() - started).toBeLessThan(5_000);
    const [daemon = 0] = pids('daemon');
    expect(processLives(daemon)).toBe(true);
    process.kill(daemon, 'SIGKILL');
  });

  it('EXE-03 survives a script that does not read what it is given', async () => {
    const result = await runScript(request('exit 0', { stdin: 'x'.repeat(1_048_576) }));
    expect(result).toMatchObject({ kind: 'ended', code: 0 });
  });

  it('EXE-04 gives an empty stdin to an operation without input', async () => {
    expect(await runScript(request('cat; echo end'))).toMatchObject({ kind: 'ended', stdout: 'end\n' });
  });

  it('EXE-05 reads a stderr of any length and keeps its tail', async () => {
    const text = 'head -c 1048576 /dev/zero | tr "\\0" x >&2; echo last words >&2; exit 1';
    const result = await runScript(request(text));
    expect(result).toMatchObject({ kind: 'ended', code: 1 });
    const tail = result.kind === 'ended' ? result.stderrTail : '';
    expect(tail.endsWith('last words')).toBe(true);
    expect(tail.length).toBeLessThanOrEqual(STDERR_TAIL_BYTES);
  });

  it('ends a script that floods its output, in bounded memory', async () => {
    const before = process.memoryUsage().rss;
    const result = await runScript(
      request('echo begins >&2; yes', { maxStdoutBytes: 1_048_576, timeoutMs: 30_000 }),
    );
    expect(result).toEqual({
      kind: 'too-much-output',
      stream: 'stdout',
      limitBytes: 1_048_576,
      stderrTail: 'begins',
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(100 * 1_048_576);
  });

  it('ends the whole group of a script whose time is over, those that ignore TERM too', async () => {
    const text = `trap '' TERM; sh -c 'trap "" TERM; echo $$ >>"$0/deaf"; while :; do sleep 1; done' "$d" &
echo $$ >>"$d/deaf"; while :; do sleep 1; done`;
    const result = await runScript(request(text, { timeoutMs: 400 }));
    expect(result).toMatchObject({ kind: 'timed-out', timeoutMs: 400 });
    expect(pids('deaf').filter(processLives)).toEqual([]);
  });

  it('SUB-01 ends the children of a script that obeys TERM while they do not', async () => {
    const text = `(trap '' TERM; sh -c 'echo $PPID' >"$d/child"; while :; do sleep 1; done) & wait`;
    await runScript(request(text, { timeoutMs: 400 }));
    expect(pids('child').filter(processLives)).toEqual([]);
  });

  it('rejects with the reason of an abort, its group gone', async () => {
    const cancel = new AbortController();
    const running = runScript(request('echo $$ >"$d/aborted"; sleep 30', { signal: cancel.signal }));
    const failed = errorOf(running);
    while (!existsSync(join(bench.dir, 'aborted')) || readFileSync(join(bench.dir, 'aborted'), 'utf8') === '')
      await new Promise((resolve) => setTimeout(resolve, 5));
    cancel.abort(new Error('cancelled by the test'));
    expect((await failed).message).toBe('cancelled by the test');
    expect(pids('aborted').filter(processLives)).toEqual([]);
  });
});

describe.concurrent('EXE-06 what a failed operation says', () => {
  it.each([
    ['its last lines', 'echo first >&2; echo broken >&2; exit 3', 0o755, 'first\nbroken'],
    ['its exit when it says nothing', 'exit 3', 0o755, 'exit 3, nothing on stderr'],
    ['the signal that ended it', 'kill -KILL $$', 0o755, 'ended by SIGKILL'],
    ['that it is not executable', 'exit 0', 0o644, 'is not executable'],
    ['that its interpreter is missing', '#!/no/such/program\n', 0o755, 'the program in its first line (#!)'],
  ])('%s', async (_, text, mode, said) => {
    const calls = callsOf(text, 10_000, mode);
    const error = await errorOf(calls.need('peek', ['mayor', '5']));
    expect(error).toMatchObject({ code: 'script-failed' });
    expect(error.message).toContain(`exec provider ${calls.script.shown} peek mayor 5:`);
    expect(error.message).toContain(said);
  });

  it('names the time and the last lines of one that does not end', async () => {
    const error = await errorOf(callsOf('echo stuck at x >&2; sleep 30', 300).need('stop', ['mayor']));
    expect(error.message).toContain('no end within 0.3 s, killed; its last lines:\nstuck at x');
  });

  it('names a script that is gone', async () => {
    const calls = new ScriptCalls({
      script: { shown: './gone', file: join(bench.dir, 'gone') },
      env,
      cwd: bench.dir,
      timeouts: { startMs: 1_000, otherMs: 1_000 },
    });
    expect((await errorOf(calls.need('stop', ['a']))).message).toContain('gone does not exist');
  });
});

describe('calls of a script', () => {
  it('drops newlines at the end of an answer and nothing else', async () => {
    const reply = await callsOf("printf 'a\\n b \\r\\n\\n'").call('peek', ['a', '5']);
    expect(reply).toEqual({ kind: 'ok', text: 'a\n b \r' });
  });

  it('EXE-01 asks an unknown operation once, and again when the script was changed', async () => {
    const calls = callsOf('[ "$1" = stop ] || exit 2');
    const asked = () => bench.calls().filter((call) => call === 'peek remembered 1').length;
    for (let i = 0; i < 3; i += 1)
      expect(await calls.call('peek', ['remembered', '1'])).toEqual({ kind: 'unsupported' });
    expect(asked()).toBe(1);
    const { writeFileSync, utimesSync } = await import('node:fs');
    writeFileSync(calls.script.file, '#!/bin/sh\necho now\n');
    utimesSync(calls.script.file, new Date(), new Date(Date.now() + 5_000));
    expect(await calls.call('peek', ['remembered', '1'])).toEqual({ kind: 'ok', text: 'now' });
  });

  it('runs a bounded number of scripts at once', async () => {
    const text = 'echo + >>"$d/at-once"; sleep 0.1; echo - >>"$d/at-once"';
    const calls = callsOf(text);
    await Promise.all(Array.from({ length: 20 }, (_, i) => calls.call('get-meta', [`n${i}`, 'k'])));
    let running = 0;
    let most = 0;
    for (const sign of readFileSync(join(bench.dir, 'at-once'), 'utf8').trim().split('\n')) {
      running += sign === '+' ? 1 : -1;
      most = Math.max(most, running);
    }
    expect(running).toBe(0);
    expect(most).toBeLessThanOrEqual(8);
  });
});

describe('a script whose end is seen before its output', () => {
  it('has its whole output all the same, however busy this process is', async () => {
    const block = (ms: number) => {
      const until = performance.now() + ms;
      while (performance.now() < until);
    };
    // While the words of another child are taken, the script ends: its end is then found together with that child's.
    const other = spawn('/bin/sh', ['-c', 'echo x'], { stdio: ['ignore', 'pipe', 'ignore'] });
    other.stdout.once('data', () => block(500));
    other.once('exit', () => setImmediate(() => block(300)));
    const running = runScript(request('sleep 0.5; sleep 30 & echo $! >"$d/held"; echo answer'));
    block(300);
    expect(await running).toMatchObject({ kind: 'ended', stdout: 'answer\n' });
    for (const pid of pids('held')) process.kill(pid, 'SIGKILL');
  });
});
