import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { textContent } from '../content-blocks.ts';
import { SessionNotFoundError } from '../errors.ts';
import type { NudgeOptions } from '../provider.ts';
import { EMPTY_RUNTIME_CONFIG, type RuntimeConfig } from '../runtime-config.ts';
import type { ScriptedProgram, ScriptedTerminal } from './scripted-backend.ts';
import { fileSessionLock } from './session-lock.ts';
import {
  type BenchOptions,
  claudeConfig,
  startOptions,
  TEST_SESSION,
  type TestBench,
  testBench,
} from './testing.ts';

async function started(
  options: BenchOptions = {},
  config: RuntimeConfig = claudeConfig(),
): Promise<TestBench> {
  const bench = testBench(options);
  await bench.run(bench.provider.start(TEST_SESSION, config, startOptions()));
  bench.agent.keys.length = 0;
  return bench;
}

const nudge = (bench: TestBench, text: string, options: NudgeOptions = {}) =>
  bench.run(bench.provider.nudge(TEST_SESSION, textContent(text), options));

/** A program that reads lines from a terminal in canonical mode and echoes them, without input box. */
class LineReader implements ScriptedProgram {
  readonly lines: string[] = [];
  readonly #prompt: string;
  #typed = '';
  #screen: string[] = [];

  constructor(prompt: string) {
    this.#prompt = prompt;
  }

  begin(terminal: ScriptedTerminal): void {
    terminal.bracketedPaste = false;
    terminal.inputLimit = 4_095;
    this.#draw(terminal);
  }

  key(terminal: ScriptedTerminal, key: string): void {
    if (key === 'Enter') {
      this.lines.push(this.#typed);
      this.#screen = [
        ...this.#screen,
        this.#prompt + this.#typed,
        `you said ${this.#typed.length} characters`,
      ];
      this.#typed = '';
    }
    if (key === 'C-u') this.#typed = '';
    this.#draw(terminal);
  }

  paste(terminal: ScriptedTerminal, text: string): void {
    this.#typed += text;
    this.#draw(terminal);
  }

  #draw(terminal: ScriptedTerminal): void {
    const screen = [...this.#screen, this.#prompt + this.#typed];
    terminal.draw(screen, { row: screen.length - 1, column: screen.at(-1)?.length ?? 0 });
  }
}

describe('nudge', () => {
  it.each([
    'x',
    '-x',
    '--help',
    'a;',
    ';',
    'a;b',
    "it's",
    '$(x) `y` "z"',
    'ä🙂',
    '\\',
    '#{pane_id}',
    ' led by a space',
  ])('TMX-03 delivers %j as it is', async (text) => {
    const bench = await started();
    expect(await nudge(bench, text)).toMatchObject({ kind: 'delivered', verified: true });
    expect(bench.agent.messages).toEqual([text]);
  });

  it('delivers any text whole, once', async () => {
    const bench = await started();
    const sent: string[] = [];
    await fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1, maxLength: 400, unit: 'binary' }), async (raw) => {
        const text = `m${raw.replace(/\r/g, '')}.`;
        sent.push(text);
        expect(await nudge(bench, text)).toMatchObject({ kind: 'delivered', verified: true });
        expect(bench.agent.messages).toEqual(sent);
      }),
      { numRuns: 40 },
    );
  });

  it('TMX-02 delivers three lines as one message with one Enter', async () => {
    const bench = await started();
    await nudge(bench, 'one\ntwo\nthree');
    expect(bench.agent.messages).toEqual(['one\ntwo\nthree']);
    expect(bench.agent.keys).toEqual(['Enter']);
  });

  it.each([100, 16_000, 64_000, 1_000_000])(
    'TMX-04 TMX-05 delivers %d bytes whole in the same time',
    async (size) => {
      const bench = await started();
      const text = `${'0123456789abcdef\n'.repeat(Math.ceil(size / 17)).slice(0, size - 1)}.`;
      const outcome = await nudge(bench, text);
      expect(bench.agent.messages).toEqual([text]);
      expect(outcome.kind === 'delivered' && outcome.tookMs).toBeLessThan(1_000);
      expect(bench.backend.calls.filter((c) => c.startsWith('paste'))).toHaveLength(1);
    },
  );

  it.each([120, 450])('TMX-01 waits out a burst window of %d ms', async (burstMs) => {
    const bench = await started({ agent: { burstMs } });
    expect(await nudge(bench, 'hello')).toMatchObject({ kind: 'delivered', verified: true });
    expect(bench.agent.messages).toEqual(['hello']);
  });

  it('TMX-01 waits out a burst of a second where no profile and no bracketed paste tell', async () => {
    const config = { ...EMPTY_RUNTIME_CONFIG, command: 'x', readyPromptPrefix: '❯' };
    const bench = await started({ agent: { burstMs: 1_000, processName: 'recorder' } }, config);
    bench.terminal().bracketedPaste = false;
    expect(await nudge(bench, 'hello')).toMatchObject({ kind: 'delivered', verified: true });
    expect(bench.agent.messages).toEqual(['hello']);
  });

  it('TMX-01 presses Enter again when it was swallowed, and says so when it never takes', async () => {
    const twice = await started({ agent: { deafEnters: 2 } });
    expect(await nudge(twice, 'hello')).toMatchObject({ kind: 'delivered', verified: true });
    expect(twice.agent.messages).toEqual(['hello']);
    expect(twice.backend.calls.filter((c) => c.startsWith('wake'))).toHaveLength(2);

    const never = await started({ agent: { deafEnters: 99 } });
    expect(await nudge(never, 'hello')).toMatchObject({ kind: 'unsubmitted' });
    expect(never.agent.keys).toEqual(['Enter', 'Enter', 'Enter']);
  });

  it('waits until a large paste is drawn before it submits', async () => {
    const bench = await started({ agent: { drawMs: 1_200 } });
    expect(await nudge(bench, 'hello')).toMatchObject({ kind: 'delivered', verified: true });
    expect(bench.agent.keys).toEqual(['Enter']);
  });

  it('TMX-06 never weaves eight messages into each other, and keeps their order', async () => {
    const bench = await started();
    const texts = Array.from({ length: 8 }, (_, i) => `msg-${i} ${String(i).repeat(2_000)}`);
    const all = texts.map((text) => bench.provider.nudge(TEST_SESSION, textContent(text)));
    await bench.run(Promise.all(all));
    expect(bench.agent.messages).toEqual(texts);
  });

  it('TMX-07 clears a leftover draft of any number of lines', async () => {
    for (const leftover of ['draft', 'one\ntwo\nthree']) {
      const bench = await started({ agent: { leftover } });
      expect(await nudge(bench, 'hello')).toMatchObject({ kind: 'delivered', verified: true });
      expect(bench.agent.messages).toEqual(['hello']);
    }
  });

  it("TMX-07 leaves a person's draft alone and says what stands there", async () => {
    const bench = await started({ agent: { leftover: 'half a thought' } });
    bench.terminal().attached = 1;
    expect(await nudge(bench, 'hello')).toEqual({
      kind: 'busy',
      detail: 'somebody at its terminal has typed "half a thought"',
    });
    expect(bench.agent.keys).toEqual([]);
    expect(bench.backend.calls.some((c) => c.startsWith('paste'))).toBe(false);
  });

  it('types nothing while a permission question is open', async () => {
    const bench = await started();
    bench.agent.ask(bench.terminal(), {
      text: [' Bash command', '', '   touch x', '', ' Do you want to proceed?'],
      options: ['Yes', 'No'],
      marked: 0,
      right: 0,
    });
    expect(await nudge(bench, 'hello')).toEqual({ kind: 'busy', detail: 'it asks: Bash: touch x' });
    expect(bench.agent.keys).toEqual([]);
  });

  it('does not press Enter into a question that came up after the paste', async () => {
    const bench = await started();
    bench.backend.before = (call) => {
      if (call !== 'paste') return;
      bench.terminal().later(100, () =>
        bench.agent.ask(bench.terminal(), {
          text: [' Bash command', '', '   rm -rf x', '', ' Do you want to proceed?'],
          options: ['Yes', 'No'],
          marked: 0,
          right: 0,
        }),
      );
    };
    expect(await nudge(bench, 'hello')).toMatchObject({ kind: 'unsubmitted' });
    expect(bench.agent.keys).toEqual([]);
  });

  it('waits for idle when asked to, and is busy at the limit', async () => {
    const bench = await started({ agent: { workMs: 5_000 } });
    await nudge(bench, 'first');
    expect(await nudge(bench, 'too early', { waitIdleMs: 1_000 })).toMatchObject({ kind: 'busy' });
    expect(await nudge(bench, 'second', { waitIdleMs: 10_000 })).toMatchObject({ kind: 'delivered' });
    expect(bench.agent.messages).toEqual(['first', 'second']);
  });

  it('refuses a line that a canonical terminal would cut, and delivers the rest', async () => {
    const reader = new LineReader('> ');
    const config = { ...EMPTY_RUNTIME_CONFIG, command: 'x', readyPromptPrefix: '> ' };
    const bench = await started({ program: reader }, config);
    const refused = await nudge(bench, 'x'.repeat(4_096));
    expect(refused).toMatchObject({ kind: 'failed' });
    expect(refused.kind === 'failed' && refused.detail).toContain('4095 bytes per line');
    expect(reader.lines).toEqual([]);
    expect(await nudge(bench, 'x'.repeat(4_095))).toMatchObject({ kind: 'delivered', verified: true });
    expect(reader.lines).toEqual(['x'.repeat(4_095)]);
  });

  it('cannot verify where nothing can be recognised, and says so', async () => {
    const silent: ScriptedProgram = { begin: () => undefined, key: () => undefined, paste: () => undefined };
    const bench = await started({ program: silent }, { ...EMPTY_RUNTIME_CONFIG, command: 'sleep 300' });
    expect(await nudge(bench, 'hello')).toMatchObject({ kind: 'delivered', verified: false });
  });

  it('tells a hung program from one that took the text', async () => {
    const bench = await started();
    bench.terminal().program.paste = () => undefined;
    bench.terminal().program.key = () => undefined;
    expect(await nudge(bench, 'hello')).toMatchObject({ kind: 'unsubmitted' });
  });

  it('has an answer for missing, dead, empty, unknown and lost sessions', async () => {
    const bench = await started();
    expect(await bench.provider.nudge('nobody', textContent('x'))).toEqual({ kind: 'no-session' });
    expect(await nudge(bench, '')).toEqual({ kind: 'empty' });
    bench.backend.unknown = 'no answer';
    expect(await nudge(bench, 'x')).toEqual({ kind: 'failed', detail: 'no answer' });
    bench.backend.unknown = undefined;
    bench.backend.before = (call) => {
      if (call === 'sendKeys') throw new SessionNotFoundError(TEST_SESSION);
    };
    expect(await nudge(bench, 'x')).toEqual({
      kind: 'no-session',
    });
    bench.terminal().exit({ code: 0 });
    expect(await nudge(bench, 'x')).toEqual({ kind: 'no-session' });
  });

  it('TMX-25 tells the reason when the back end refuses a key', async () => {
    const bench = await started();
    bench.backend.before = (call) => {
      if (call === 'sendKeys') throw new Error('command send-keys: unknown flag -X');
    };
    expect(await nudge(bench, 'x')).toEqual({ kind: 'failed', detail: 'command send-keys: unknown flag -X' });
  });

  it('puts files into the work dir, from any process', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'gc-nudge-'));
    try {
      writeFileSync(join(dir, 'source.txt'), 'content');
      const config = claudeConfig({ workDir: join(dir) });
      const bench = await started({ launcherDir: dir }, config);
      const content = [
        { type: 'text', text: 'look:' },
        { type: 'file_path', path: join(dir, 'source.txt') },
        { type: 'file_path', path: join(dir, 'missing.txt') },
      ] as const;
      await bench.run(bench.provider.nudge(TEST_SESSION, content));
      expect(bench.agent.messages).toEqual([
        'look:\n[File staged: ./source.txt]\n[File not found: ./missing.txt]',
      ]);
      expect(readFileSync(join(dir, 'source.txt'), 'utf8')).toBe('content');
      bench.terminal().meta.delete('GC_DIR');
      await bench.run(bench.provider.nudge(TEST_SESSION, [content[1]]));
      expect(bench.agent.messages[1]).toContain('[File staging failed: ./source.txt:');
    } finally {
      rmSync(dir, { recursive: true });
    }
  });

  it('gives up waiting for another process that holds the session', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'gc-lock-'));
    try {
      const bench = await started();
      const other = testBench({
        lock: fileSessionLock(dir, bench.clock),
        clock: bench.clock,
        backend: bench.backend,
      });
      const lock = fileSessionLock(dir, bench.clock);
      let letGo: () => void = () => undefined;
      const held = lock(TEST_SESSION, 1_000, () => new Promise<void>((resolve) => (letGo = resolve)));
      const outcome = await bench.run(other.provider.nudge(TEST_SESSION, textContent('x')));
      expect(outcome).toMatchObject({ kind: 'busy' });
      letGo();
      await bench.run(held);
      expect(await bench.run(other.provider.nudge(TEST_SESSION, textContent('x')))).toMatchObject({
        kind: 'delivered',
      });
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});

describe('waitForIdle', () => {
  it('is a hard bound, and true once the turn is over', async () => {
    const bench = await started({ agent: { workMs: 3_000 } });
    await nudge(bench, 'go');
    const before = bench.clock.monotonic();
    expect(await bench.run(bench.provider.waitForIdle(TEST_SESSION, 1_000))).toBe(false);
    expect(bench.clock.monotonic() - before).toBeLessThanOrEqual(1_050);
    expect(await bench.run(bench.provider.waitForIdle(TEST_SESSION, 5_000))).toBe(true);
  });

  it('is not idle while a question is open', async () => {
    const bench = await started();
    bench.agent.ask(bench.terminal(), { text: [' Pick one:'], options: ['a', 'b'], marked: 0, right: 0 });
    expect(await bench.run(bench.provider.waitForIdle(TEST_SESSION, 1_000))).toBe(false);
  });

  it('goes by a quiet screen where nothing can be recognised', async () => {
    const noisy: ScriptedProgram = {
      begin: (t) => {
        const tick = (n: number) => {
          t.draw([`line ${n}`]);
          if (n < 20) t.later(100, () => tick(n + 1));
        };
        tick(0);
      },
      key: () => undefined,
      paste: () => undefined,
    };
    const bench = await started({ program: noisy }, { ...EMPTY_RUNTIME_CONFIG, command: 'x' });
    expect(await bench.run(bench.provider.waitForIdle(TEST_SESSION, 1_000))).toBe(false);
    expect(await bench.run(bench.provider.waitForIdle(TEST_SESSION, 10_000))).toBe(true);
  });

  it('refuses a session that is not there', async () => {
    const bench = testBench();
    await expect(bench.provider.waitForIdle('nobody', 10)).rejects.toBeInstanceOf(SessionNotFoundError);
  });
});
