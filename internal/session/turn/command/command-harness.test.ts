import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { systemIds } from '../../../platform/ids.ts';
import { identityOf, isSameProcess } from '../../../platform/process-identity.ts';
import { cityFactOf } from '../../../protocol/events.ts';
import { EventKind } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { Harness } from '../harness.ts';
import { type CommandDeps, commandHarness } from './command-harness.ts';
import type { CommandSpec } from './command-spec.ts';
import { nativeFact, nativeFactOf } from './native-fact.ts';
import { LINE_LIMIT_BYTES } from './run-lines.ts';
import { nativesIn, RecordingSink, SESSION, startOf, turnOf } from './testing/recording-sink.ts';

let dir = '';
let work = '';
let deps: CommandDeps;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-command-'));
  work = join(dir, 'work');
  mkdirSync(work);
  deps = {
    clock: systemClock,
    ids: systemIds,
    ledgerDir: join(dir, 'ledger'),
    workDirOf: async () => work,
  };
});
afterEach(() => rmSync(dir, { recursive: true }));

/** A program of JavaScript in a file of its own. */
function program(body: string): string {
  const file = join(dir, `program-${readdirSync(dir).length}.mjs`);
  writeFileSync(file, `#!${process.execPath}\n${body}\n`, { mode: 0o755 });
  return file;
}

function harness(kind: CommandSpec['kind'], body: string, more: Partial<CommandSpec> = {}): Harness {
  const env = { HOME: dir, PATH: '/usr/bin:/bin', WHO: 'tester' };
  return commandHarness({ name: 'coder', kind, program: program(body), args: [], env, ...more }, deps);
}

async function run(made: Harness, start = startOf('hello'), signal = new AbortController().signal) {
  const sink = new RecordingSink();
  await made.run(start, sink, signal);
  return sink;
}

const failureOf = (made: Harness, signal?: AbortSignal) =>
  run(made, startOf('hello'), signal).then(
    () => ({ code: 'none', message: '' }),
    (error: { code: string; message: string }) => ({ code: error.code, message: error.message }),
  );

const ledgerFiles = () => (existsSync(deps.ledgerDir) ? readdirSync(deps.ledgerDir) : []);
const READ_ALL = `let text = ''; for await (const c of process.stdin) text += c;`;

describe('a shell command as a harness', () => {
  it('gives the inputs on stdin and takes stdout as the answer, shown line by line as it comes', async () => {
    const made = harness(
      'shell',
      `${READ_ALL} console.log('you said ' + text); console.log(process.env.GC_SESSION_UID, process.env.GC_EXECUTION_ID, process.env.WHO, process.cwd(), process.env.LANG ?? 'no more')`,
    );
    const sink = await run(made);
    const answer = `you said hello\n${SESSION} e1 tester ${work} no more`;
    expect(sink.told).toEqual([`says ${answer}`]);
    expect(sink.deltas).toEqual(answer.split('\n').map((line) => `${line}\n`));
    expect(ledgerFiles()).toEqual([]);
  });

  it('does not run again when its answer was recorded before the cut, and does when it was not', async () => {
    const made = harness(
      'shell',
      `import fs from 'node:fs'; fs.appendFileSync('runs', 'x'); console.log('done')`,
    );
    const first = await run(made);
    expect((await run(made, startOf('hello', { recorded: first.events }))).events).toEqual([]);
    expect(readFileSync(join(work, 'runs'), 'utf8')).toBe('x');
    await run(made);
    expect(readFileSync(join(work, 'runs'), 'utf8')).toBe('xx');
  });

  it('an empty input is an input', async () => {
    expect((await run(harness('shell', `${READ_ALL} console.log(text.length)`), startOf(''))).told).toEqual([
      'says 0',
    ]);
  });
});

describe('a program that misbehaves gives one clear error', () => {
  it('ends with a code: names program, code and last lines, and hides secrets', async () => {
    const made = harness(
      'shell',
      `console.error('no luck with ' + process.env.MY_API_KEY); process.exit(3)`,
      {
        env: { MY_API_KEY: 'sk-very-secret', PATH: '/usr/bin' },
      },
    );
    const failure = await failureOf(made);
    expect(failure.code).toBe('command-failed');
    expect(failure.message).toMatch(
      /^harness coder: .*program-\d+\.mjs ended with code 3; its last lines:\nno luck with \[hidden\]$/,
    );
    expect(ledgerFiles()).toEqual([]);
  });

  it('dies by a signal', async () => {
    const failure = await failureOf(harness('shell', `process.kill(process.pid, 'SIGKILL')`));
    expect(failure.message).toContain('was ended by signal SIGKILL');
  });

  it('cannot be run: told before a turn is begun, too', async () => {
    const made = commandHarness(
      { name: 'coder', kind: 'shell', program: join(dir, 'absent'), args: [], env: {} },
      deps,
    );
    expect(await failureOf(made)).toMatchObject({ code: 'command-not-executable' });
    await expect(made.describe(new AbortController().signal)).rejects.toMatchObject({
      code: 'command-not-executable',
      next: 'install the program or correct its path',
    });
    writeFileSync(join(dir, 'no-interpreter'), '#!/no/such/interpreter\n', { mode: 0o755 });
    const broken = {
      name: 'coder',
      kind: 'shell',
      program: join(dir, 'no-interpreter'),
      args: [],
      env: {},
    } as const;
    expect((await failureOf(commandHarness(broken, deps))).message).toMatch(/did not start: .*ENOENT/);
  });

  it('is named by a path that means another file in every folder', async () => {
    const spec = { name: 'coder', kind: 'shell', program: './run', args: [], env: {} } as const;
    expect((await failureOf(commandHarness(spec, deps))).message).toContain(
      'is not the absolute path of a file',
    );
  });

  it('has no folder to work in', async () => {
    rmSync(work, { recursive: true });
    expect(await failureOf(harness('shell', `console.log('x')`))).toMatchObject({
      code: 'command-no-work-dir',
    });
  });

  it('floods: a line without end, and output without end', async () => {
    const line = harness('shell', `process.stdout.write('x'.repeat(${LINE_LIMIT_BYTES + 10}))`);
    expect((await failureOf(line)).message).toContain(`a line of more than ${LINE_LIMIT_BYTES} bytes`);
    const endless = harness('shell', `setInterval(() => console.log('y'.repeat(60_000)), 0)`, {
      maxOutputBytes: 1_000_000,
    });
    expect((await failureOf(endless)).message).toContain('printed more than 1000000 bytes and was ended');
  });

  it('prints more than one answer may be: it is ended, not collected', async () => {
    const line = `const line = 'z'.repeat(1024 * 1024 - 1) + '\\n'; for (let n = 0; n < 40; n += 1) process.stdout.write(line)`;
    expect((await failureOf(harness('shell', line))).message).toContain(
      `printed more than ${32 * 1024 * 1024}`,
    );
  });

  it('hangs: at its deadline, and when it says nothing', async () => {
    const stuck = `process.on('SIGTERM', () => process.exit(0)); console.log('begun'); setInterval(() => {}, 1000)`;
    const abort = new AbortController();
    let comes = () => {};
    const deadline = new Promise<void>((resolve) => {
      comes = resolve;
    });
    const clock: Clock = {
      ...systemClock,
      sleep: (ms, signal) => (ms === 1_800_000 ? deadline : systemClock.sleep(ms, signal)),
    };
    const spec = { name: 'coder', kind: 'shell', program: program(stuck), args: [], env: {} } as const;
    const sink = { ...sinkOf(new RecordingSink()), delta: () => comes() };
    await expect(
      commandHarness(spec, { ...deps, clock }).run(startOf('hello'), sink, abort.signal),
    ).rejects.toMatchObject({
      code: 'command-timed-out',
      message: expect.stringContaining(
        'did not end its turn within 1800 s and was ended; its last lines:\nbegun',
      ),
    });
    const silent = await failureOf(harness('shell', stuck, { idleTimeoutMs: 300 }));
    expect(silent).toMatchObject({ code: 'command-idle' });
    expect(ledgerFiles()).toEqual([]);
  });

  it('prints JSON that is broken, or ends before its turn is over', async () => {
    const broken = await failureOf(
      harness('claude', `console.log('{"type":"assis'); setInterval(() => {}, 1000)`),
    );
    expect(broken).toMatchObject({ code: 'command-bad-output' });
    const early = await failureOf(harness('claude', `console.log('Welcome!')`));
    expect(early.message).toContain(
      'ended with code 0 without saying that its turn is over; its last lines:\nWelcome!',
    );
  });

  it('asks nothing of a program that there is nothing to say to', async () => {
    const made = harness('claude', '');
    await expect(run(made, startOf('  '))).rejects.toMatchObject({ code: 'command-unsupported-input' });
  });
});

describe('the end of a turn from outside', () => {
  it('ends the program and what it started, in other sessions too', async () => {
    const made = harness(
      'shell',
      `import { spawn } from 'node:child_process';
       const helper = spawn('/bin/sh', ['-c', 'trap "" TERM; while :; do sleep 0.1; done'], { detached: true, stdio: 'ignore' });
       console.log(process.pid + ' ' + helper.pid); setInterval(() => {}, 1000)`,
    );
    const abort = new AbortController();
    const sink = new RecordingSink();
    const running = made.run(
      startOf('hello'),
      { ...sinkOf(sink), delta: (line) => lines(line) },
      abort.signal,
    );
    const alive: NonNullable<ReturnType<typeof identityOf>>[] = [];
    const lines = (line: string) => {
      for (const pid of line.trim().split(' ')) {
        const identity = identityOf(Number(pid));
        if (identity) alive.push(identity);
      }
      abort.abort(new Error('enough'));
    };
    await expect(running).rejects.toThrow('enough');
    expect(alive).toHaveLength(2);
    expect(alive.filter(isSameProcess)).toEqual([]);
    expect(ledgerFiles()).toEqual([]);
  });

  it('ends the program when its record cannot be kept', async () => {
    const made = harness('shell', `console.log('answer')`);
    const sink = {
      ...sinkOf(new RecordingSink()),
      output: () => Promise.reject(new Error('the log is full')),
    };
    await expect(made.run(startOf('hello'), sink, new AbortController().signal)).rejects.toThrow(
      'the log is full',
    );
  });
});

function sinkOf(sink: RecordingSink) {
  const { model, toolCall, output, report, observed, fact, usage, delta } = sink;
  return { model, toolCall, output, report, observed, fact, usage, delta };
}

/** Plays Claude Code: keeps argv and prompt, and says what the variable LINES holds. */
const CLAUDE = `import fs from 'node:fs'; ${READ_ALL}
fs.appendFileSync('told', JSON.stringify({ argv: process.argv.slice(2), text }) + '\\n');
const at = process.argv.indexOf('--session-id') + 1 || process.argv.indexOf('--resume') + 1;
console.log(JSON.stringify({ type: 'system', subtype: 'init', session_id: process.argv[at] }));
console.log(JSON.stringify({ type: 'assistant', uuid: 'm-' + text.length, message: { role: 'assistant', content: [{ type: 'text', text: 'heard ' + text }] } }));
console.log(JSON.stringify({ type: 'result', subtype: 'success', is_error: false, modelUsage: { opus: { inputTokens: 3, cacheReadInputTokens: 4, outputTokens: 5 } } }));`;

interface Told {
  readonly argv: readonly string[];
  readonly text: string;
}
const toldIn = (): readonly Told[] =>
  readFileSync(join(work, 'told'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Told);

describe('a program with conversations of its own', () => {
  it('says which conversation it is before anything happens, and where it stands at the end', async () => {
    const sink = await run(harness('claude', CLAUDE, { args: ['--model', 'opus'] }));
    const [begun, ended] = nativesIn(sink.events);
    expect(begun).toMatchObject({ session: SESSION, state: 'starting', message: '' });
    expect(ended).toMatchObject({ state: 'ended', message: 'm-5', conversation: begun?.conversation });
    expect(sink.events[0]?.kind).toBe(sink.events.at(-1)?.kind);
    expect(sink.told).toEqual(['says heard hello', 'uses 7 5']);
    const [{ argv, text } = { argv: [], text: '' }] = toldIn();
    expect(argv.slice(0, 3)).toEqual(['--model', 'opus', '-p']);
    expect(argv.slice(-2)).toEqual(['--session-id', begun?.conversation]);
    expect(text).toBe('hello');
  });

  it('goes on in the same conversation on the next turn', async () => {
    const made = harness('claude', CLAUDE);
    const first = await run(made);
    const history = turnOf('e1', 'hello', first.events);
    const second = await run(made, startOf('again', { executionId: 'e2', history }));
    expect(toldIn()[1]?.argv.slice(-2)).toEqual(['--resume', nativesIn(first.events)[0]?.conversation]);
    expect(nativesIn(second.events)[0]).toMatchObject({ state: 'starting', message: 'm-5' });
  });

  it('carries on as text what others said in the session', async () => {
    const made = harness('claude', CLAUDE);
    const other = await run(harness('shell', `console.log('four')`));
    await run(
      made,
      startOf('and now?', { executionId: 'e2', history: turnOf('e1', 'two and two', other.events) }),
    );
    expect(toldIn()[0]?.text).toBe(
      'Our conversation so far:\n\nI said: two and two\nYou said: four\n\nMy next message:\n\nand now?',
    );
  });

  it('a turn that was over when it was cut is not run again', async () => {
    const made = harness('claude', CLAUDE);
    const first = await run(made);
    expect((await run(made, startOf('hello', { recorded: first.events }))).events).toEqual([]);
    expect(toldIn()).toHaveLength(1);
  });

  it('a turn that was cut before the program began is run from scratch', async () => {
    const made = harness('claude', CLAUDE);
    const first = await run(made);
    const again = await run(made, startOf('hello', { recorded: first.events.slice(0, 1) }));
    expect(again.told).toEqual(['says heard hello', 'uses 7 5']);
    expect(toldIn()[1]?.text).toBe('hello');
  });

  it('DUR-15 DUR-17 a conversation that the program does not know any more fails the turn, unless a fresh start is allowed, which is told', async () => {
    const first = await run(harness('claude', CLAUDE));
    const history = turnOf('e1', 'hello', first.events);
    const start = startOf('again', { executionId: 'e2', history });
    const gone = `if (process.argv.includes('--resume')) {
      console.log(JSON.stringify({ type: 'result', subtype: 'error_during_execution', is_error: true, errors: ['No conversation found with session ID: x'] }));
      process.exit(1);
    }\n`;
    const body = CLAUDE.replace(READ_ALL, READ_ALL + gone);
    await expect(run(harness('claude', body), start)).rejects.toMatchObject({
      code: 'command-conversation-lost',
      message: expect.stringContaining('No conversation found'),
    });
    const sink = await run(harness('claude', body, { freshStart: true }), start);
    const natives = nativesIn(sink.events);
    expect(natives.map((native) => native.state)).toEqual(['starting', 'starting', 'ended']);
    expect(natives[2]?.conversation).not.toBe(natives[0]?.conversation);
    expect(sink.events.flatMap((event) => cityFactOf(event)?.['conversation_lost'] ?? [])).toEqual([
      {
        program: 'claude',
        conversation: natives[0]?.conversation,
        reason: expect.stringContaining('No conversation found'),
      },
    ]);
    expect(toldIn()).toHaveLength(2);
    expect(toldIn()[1]?.text).toMatch(/^Our conversation so far:\n\nI said: hello\nYou said: heard hello\n/);
    const cut = sink.events.slice(
      0,
      sink.events.findIndex((event) => event.kind === EventKind.EVENT_OUTPUT) + 1,
    );
    await run(harness('claude', body, { freshStart: true }), { ...start, recorded: cut });
    expect(toldIn()[2]?.text).toContain('You were interrupted while you worked on this message.');
  });

  it('DUR-17 a fork of a conversation that is gone fails its turn, unless a fresh start is allowed, which is told', async () => {
    const parent = await run(harness('claude', CLAUDE));
    const native = { session: 'sess-parent', program: 'claude', conversation: 'gone', message: 'm-9' };
    const told = parent.events.filter((event) => nativeFactOf(event) === undefined);
    const history = turnOf('e1', 'hello', [nativeFact({ ...native, state: 'ended' }), ...told]);
    const start = startOf('again', { executionId: 'e2', history });
    await expect(run(harness('claude', CLAUDE), start)).rejects.toMatchObject({
      code: 'command-conversation-lost',
    });
    const sink = await run(harness('claude', CLAUDE, { freshStart: true }), start);
    expect(sink.events.flatMap((event) => cityFactOf(event)?.['conversation_lost'] ?? [])).toHaveLength(1);
    expect(nativesIn(sink.events).map(({ state, conversation }) => [state, conversation === 'gone'])).toEqual(
      [
        ['starting', false],
        ['ended', false],
      ],
    );
    expect(toldIn().at(-1)?.text).toMatch(/^Our conversation so far:\n\nI said: hello\n/);
  });
});
