import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { identityOf } from '../../../platform/process-identity.ts';
import { AgentRun } from '../testing/agent-run.ts';
import { Terminals } from './terminals.ts';
import { MAX_FILE_BYTES, TextFiles } from './text-files.ts';

const PATH = '/usr/local/bin:/usr/bin:/bin';

/** The real clock, on which short waits never end. */
function heldClockBelow(limitMs: number): Clock & { readonly firstWait: Promise<void> } {
  let waits: () => void = () => undefined;
  const firstWait = new Promise<void>((resolve) => {
    waits = resolve;
  });
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    if (ms > limitMs) return systemClock.sleep(ms, signal);
    waits();
    return new Promise(() => undefined);
  };
  return { now: systemClock.now, monotonic: systemClock.monotonic, sleep, firstWait };
}

describe('files for an agent', () => {
  let dir = '';
  let root = '';
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'gc-acp-'));
    root = join(dir, 'work');
    mkdirSync(root);
    writeFileSync(join(dir, 'secret'), 'not yours');
    writeFileSync(join(root, 'lines'), 'one\ntwo\nthree\nfour');
    writeFileSync(join(root, 'large'), `${'x'.repeat(MAX_FILE_BYTES)}\nlast\n`);
    symlinkSync('../secret', join(root, 'link'));
    symlinkSync('../made', join(root, 'dangling'));
    execFileSync('mkfifo', [join(root, 'pipe')]);
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  it.each([
    [undefined, undefined, 'one\ntwo\nthree\nfour'],
    [2, undefined, 'two\nthree\nfour'],
    [2, 2, 'two\nthree\n'],
    [4, 9, 'four'],
    [9, 1, ''],
    [1, 0, ''],
  ])('reads from line %s, %s lines', async (line, limit, text) => {
    expect(await new TextFiles(root).read(join(root, 'lines'), line, limit)).toBe(text);
  });

  it('reads a few lines of a file that is too large as a whole', async () => {
    const files = new TextFiles(root);
    await expect(files.read('large', undefined, undefined)).rejects.toThrow(/ask for fewer lines/);
    expect(await files.read('large', 2, 1)).toBe('last\n');
  });

  it.each([
    ['../secret', /not in the work dir/],
    ['/etc/passwd', /not in the work dir/],
    ['link', /not in the work dir/],
    ['pipe', /is not a file/],
    ['.', /not a file|EISDIR/],
    ['none', /Resource not found/],
    ['lines/none', /Resource not found/],
  ])('does not read %s', async (path, why) => {
    await expect(new TextFiles(root).read(path, undefined, undefined)).rejects.toThrow(why);
  });

  it('writes a whole file, with the folders above it', async () => {
    const files = new TextFiles(root);
    await files.write('new/deep/file', 'first, longer');
    await files.write(join(root, 'new/deep/file'), 'second');
    expect(readFileSync(join(root, 'new/deep/file'), 'utf8')).toBe('second');
  });

  it.each(['../made', 'link', 'dangling', 'new/../../made', '/tmp/made-by-an-agent'])(
    'writes nothing to %s',
    async (path) => {
      await expect(new TextFiles(root).write(path, 'x')).rejects.toThrow(/not in the work dir/);
      expect(readFileSync(join(dir, 'secret'), 'utf8')).toBe('not yours');
      expect(existsSync(join(dir, 'made'))).toBe(false);
      expect(existsSync('/tmp/made-by-an-agent')).toBe(false);
    },
  );

  it('leaves a file as it is when its new text is too large', async () => {
    await expect(new TextFiles(root).write('lines', 'x'.repeat(MAX_FILE_BYTES + 1))).rejects.toThrow(
      /at most/,
    );
    expect(readFileSync(join(root, 'lines'), 'utf8')).toContain('one');
  });

  it('are read and written over the protocol', () =>
    AgentRun.with(
      {
        prompts: [
          {
            steps: [
              { writeFile: { path: 'a.txt', content: 'one\ntwo\n' } },
              { readFile: { path: 'a.txt', line: 2, limit: 1 } },
              { readFile: { path: '/etc/passwd' } },
            ],
          },
        ],
      },
      async (run) => {
        await run.turn('x');
        expect(run.text).toContain(
          '[write] {}\n[read] {"content":"two\\n"}\n[read] error -32602 /etc/passwd is not in',
        );
      },
    ));
});

describe.concurrent('terminals for an agent', () => {
  const terminals = () =>
    new Terminals({ cwd: tmpdir(), env: { PATH, GC_INSTANCE_TOKEN: 'tok' }, clock: systemClock });
  const run = (command: string, more: object = {}) => ({ sessionId: 's', command, ...more });

  it('run a line of the shell, or a program with arguments, in the work dir', async () => {
    const all = terminals();
    const line = await all.create(run('pwd; echo $GC_ACP_TERMINAL_OF; exit 3'), 1);
    const program = await all.create(
      run('printf', { args: ['%s', '$HOME'], env: [{ name: 'X', value: 'y' }] }),
      1,
    );
    expect(await all.exit(line)).toEqual({ exitCode: 3, signal: null });
    expect(all.output(line)).toMatchObject({ output: `${tmpdir()}\ntok\n`, exitStatus: { exitCode: 3 } });
    await all.exit(program);
    expect(all.output(program).output).toBe('$HOME');
    await expect(all.create(run('no-such-program', { args: ['x'] }), 1)).rejects.toThrow(/ENOENT/);
    await expect(all.create(run('ls', { cwd: '/none' }), 1)).rejects.toThrow(/not a directory/);
    all.endAll();
  });

  it('keep the end of the output, in whole characters', async () => {
    const all = terminals();
    const id = await all.create(run('printf "ééééé%s" end', { outputByteLimit: 6 }), 1);
    await all.exit(id);
    expect(all.output(id)).toMatchObject({ output: 'éend', truncated: true });
    all.endAll();
  });

  it('end with everything they started: killed, released, or with the agent', async () => {
    const all = terminals();
    const script = 'sleep 301 & echo $!; exec sleep 302';
    const ids = [
      await all.create(run(script), 1),
      await all.create(run(script), 1),
      await all.create(run(script), 2),
    ];
    const pids: number[] = [];
    for (const id of ids) {
      while (!all.output(id).output.includes('\n')) await systemClock.sleep(5);
      pids.push(Number(all.output(id).output));
    }
    const [killed = '', released = '', left = ''] = ids;
    all.kill(killed);
    all.release(released);
    expect((await all.exit(killed)).signal).toBe('SIGTERM');
    expect(all.output(killed).output).toBe(`${pids[0]}\n`);
    expect(() => all.output(released)).toThrow(/no terminal/);
    expect(all.output(left).exitStatus).toBeUndefined();
    expect(all.processes().length).toBeGreaterThan(0);
    all.endAll();
    while (pids.some((pid) => identityOf(pid) !== undefined)) await systemClock.sleep(10);
    while (all.processes().length > 0) await systemClock.sleep(10);
    await expect(all.create(run('true'), 3)).rejects.toThrow(/the session is over/);
  });

  it('are bounded in number', async () => {
    const all = terminals();
    for (let i = 0; i < 32; i += 1) await all.create(run('exec true'), 1);
    await expect(all.create(run('true'), 1)).rejects.toThrow(/release one first/);
    all.endAll();
  });

  it('that print without end are read in portions, and no more is kept than was asked for', async () => {
    const clock = heldClockBelow(20);
    const all = new Terminals({ cwd: tmpdir(), env: { PATH }, clock });
    const id = await all.create(run('yes; true', { outputByteLimit: 1_000 }), 1);
    await clock.firstWait;
    const [shell] = all.processes();
    expect(shell).toBeDefined();
    expect(all.output(id)).toMatchObject({ truncated: true, output: 'y\n'.repeat(500) });
    all.endAll();
    while (all.processes().length > 0) await systemClock.sleep(10);
  });
});
