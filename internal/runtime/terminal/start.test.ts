import { describe, expect, it } from 'vitest';
import {
  DiedDuringStartupError,
  InvalidSessionNameError,
  RuntimeUnavailableError,
  SessionExistsError,
  StartFailedError,
} from '../errors.ts';
import { META_START_PHASE } from '../provider.ts';
import { EMPTY_RUNTIME_CONFIG } from '../runtime-config.ts';
import type { ScriptedQuestion } from './scripted-agent.ts';
import type { ScriptedProgram, ScriptedTerminal } from './scripted-backend.ts';
import { claudeConfig, startOptions, TEST_SESSION, testBench } from './testing.ts';
import { API_KEY, BYPASS, TRUST } from './testing-questions.ts';

const LOG_IN: ScriptedQuestion = {
  text: [' Select login method:'],
  options: ['Claude account with subscription', 'Anthropic Console account'],
  marked: 0,
  right: 0,
};

const ORDERS = [
  [TRUST, API_KEY, BYPASS],
  [TRUST, BYPASS, API_KEY],
  [API_KEY, TRUST, BYPASS],
  [API_KEY, BYPASS, TRUST],
  [BYPASS, TRUST, API_KEY],
  [BYPASS, API_KEY, TRUST],
];

/** A program that only draws and dies as told. */
function program(begin: (terminal: ScriptedTerminal) => void): ScriptedProgram {
  return { begin, key: () => undefined, paste: () => undefined };
}

describe('start', () => {
  it.each(ORDERS.map((questions, i) => ({ questions, i })))(
    'answers the questions in order $i',
    async ({ questions }) => {
      const bench = testBench({ agent: { questions } });
      const options = startOptions();
      const result = await bench.run(bench.provider.start(TEST_SESSION, claudeConfig(), options));
      const ids = questions.map((q) =>
        q === TRUST ? 'folder trust' : q === BYPASS ? 'bypass permissions' : 'custom API key',
      );
      expect(result).toMatchObject({ kind: 'ready', answered: ids });
      expect(options.progress.filter((p) => p.kind === 'answered').map((p) => p.dialog)).toEqual(ids);
      const wanted = questions.flatMap((q) =>
        q === TRUST ? ['Enter'] : q === BYPASS ? ['Down', 'Enter'] : ['Up', 'Enter'],
      );
      expect(bench.agent.keys).toEqual(wanted);
    },
  );

  it('answers a question that comes after the input box was drawn, before and after the prompt', async () => {
    for (const afterMs of [20, 80, 200, 700]) {
      const bench = testBench({ agent: { questions: [{ ...TRUST, afterMs }] } });
      const start = bench.provider.start(TEST_SESSION, claudeConfig({ nudge: 'go' }), startOptions());
      expect(await bench.run(start)).toMatchObject({ kind: 'ready' });
      await bench.clock.advance(2_000);
      expect(bench.agent.messages).toEqual(['go']);
    }
  });

  it('moves the mark again when an arrow key was swallowed, and never confirms the wrong option', async () => {
    const bench = testBench({ agent: { questions: [BYPASS], deafArrows: 2 } });
    const result = await bench.run(bench.provider.start(TEST_SESSION, claudeConfig(), startOptions()));
    expect(result.kind).toBe('ready');
    expect(bench.agent.keys).toEqual(['Down', 'Down', 'Down', 'Enter']);
  });

  it('waits for a slow answer to take effect instead of answering twice', async () => {
    const bench = testBench({ agent: { questions: [{ ...TRUST, slowMs: 1_500 }] } });
    await bench.run(bench.provider.start(TEST_SESSION, claudeConfig(), startOptions()));
    expect(bench.agent.keys).toEqual(['Enter']);
  });

  it('TMX-09 hands a question that no rule answers to a person, with the screen, and leaves the agent alone', async () => {
    const bench = testBench({ agent: { questions: [LOG_IN] } });
    const result = await bench.run(
      bench.provider.start(TEST_SESSION, claudeConfig({ nudge: 'go' }), startOptions()),
    );
    expect(result).toMatchObject({ kind: 'waits-for-person', question: 'Select login method:' });
    expect(result.kind === 'waits-for-person' && result.screen).toContain('Anthropic Console account');
    expect(bench.agent.keys).toEqual([]);
    expect(bench.terminal().state.kind).toBe('alive');

    bench.terminal().program.key(bench.terminal(), 'Enter');
    const more = await bench.run(
      bench.provider.continueStart(TEST_SESSION, claudeConfig({ nudge: 'go' }), startOptions()),
    );
    expect(more.kind).toBe('ready');
    expect(bench.agent.messages).toEqual(['go']);
  });

  it('asks a person when an answered question stays', async () => {
    const bench = testBench({ agent: { questions: [{ ...TRUST, sticky: true }] } });
    const result = await bench.run(bench.provider.start(TEST_SESSION, claudeConfig(), startOptions()));
    expect(result).toMatchObject({ kind: 'waits-for-person' });
    expect(bench.agent.keys.length).toBe(3);
  });

  it.each(['❯ ', '❯\u00a0', '❯'])('knows the prompt drawn as %j', async (mark) => {
    const bench = testBench({ agent: { mark } });
    const config = claudeConfig({ providerName: 'custom', nudge: '' });
    expect(await bench.run(bench.provider.start(TEST_SESSION, config, startOptions()))).toMatchObject({
      kind: 'ready',
    });
  });

  it('TMX-08 types nothing before the agent is ready, then the prompt once', async () => {
    const bench = testBench({ agent: { readyMs: 8_000 } });
    await bench.run(
      bench.provider.start(TEST_SESSION, claudeConfig({ nudge: '[beacon] a' }), startOptions()),
    );
    expect(bench.agent.messages).toEqual(['[beacon] a']);
    const paste = bench.backend.calls.indexOf(`paste ${TEST_SESSION}`);
    expect(bench.backend.calls.slice(0, paste).filter((c) => c.startsWith('inspect')).length).toBeGreaterThan(
      100,
    );
    expect(bench.terminal().meta.get(META_START_PHASE)).toBe('ready');
  });

  it('TMX-08 fails with the unmet condition and the last lines, and leaves nothing', async () => {
    const bench = testBench({
      program: program((t) => {
        t.processNames = ['claude'];
        t.draw(['$ something', 'loading the world']);
      }),
    });
    const start = bench.run(bench.provider.start(TEST_SESSION, claudeConfig(), startOptions()));
    await expect(start).rejects.toMatchObject({
      code: 'not-ready',
      lastLines: '$ something\nloading the world',
    });
    await expect(start).rejects.toThrow('its prompt "❯" to show');
    expect(bench.backend.terminals.size).toBe(0);
  });

  it('TMX-10 fails at once with command, exit code and last lines when the program dies', async () => {
    const bench = testBench({
      program: program((t) => {
        t.later(120, () => {
          t.draw(['sh: 1: no-such-binary: not found']);
          t.exit({ code: 127 });
        });
      }),
    });
    const before = bench.clock.monotonic();
    const start = bench.run(
      bench.provider.start(TEST_SESSION, claudeConfig({ command: 'no-such-binary --x' }), startOptions()),
    );
    await expect(start).rejects.toBeInstanceOf(DiedDuringStartupError);
    await expect(start).rejects.toMatchObject({
      command: 'no-such-binary --x',
      exit: { code: 127 },
      lastLines: 'sh: 1: no-such-binary: not found',
    });
    expect(bench.clock.monotonic() - before).toBeLessThan(1_000);
    expect(bench.backend.terminals.size).toBe(0);
  });

  it('sees a death without any hint to wait for, and a session that vanished', async () => {
    const dies = testBench({ program: program((t) => t.later(100, () => t.exit({ signal: 'SIGSEGV' }))) });
    await expect(
      dies.run(dies.provider.start(TEST_SESSION, { ...EMPTY_RUNTIME_CONFIG, command: 'x' }, startOptions())),
    ).rejects.toMatchObject({ exit: { signal: 'SIGSEGV' } });

    const gone = testBench({
      program: program((t) => t.later(100, () => gone.backend.terminals.delete(TEST_SESSION))),
    });
    await expect(
      gone.run(gone.provider.start(TEST_SESSION, { ...EMPTY_RUNTIME_CONFIG, command: 'x' }, startOptions())),
    ).rejects.toMatchObject({ exit: {}, code: 'died-during-startup' });
  });

  it('starts a program without hints as soon as it lived for a moment', async () => {
    const bench = testBench({ program: program(() => undefined) });
    const config = { ...EMPTY_RUNTIME_CONFIG, command: 'sleep 300' };
    const before = bench.clock.monotonic();
    expect(await bench.run(bench.provider.start(TEST_SESSION, config, startOptions()))).toMatchObject({
      kind: 'ready',
    });
    expect(bench.clock.monotonic() - before).toBeLessThan(800);
  });

  it('waits out a delay when there is nothing to recognise', async () => {
    const bench = testBench({ program: program((t) => t.draw(['hello'])) });
    const config = { ...EMPTY_RUNTIME_CONFIG, command: 'x', readyDelayMs: 3_000 };
    const before = bench.clock.monotonic();
    await bench.run(bench.provider.start(TEST_SESSION, config, startOptions()));
    const waited = bench.clock.monotonic() - before;
    expect(waited).toBeGreaterThanOrEqual(3_000);
    expect(waited).toBeLessThan(3_500);
  });
});

describe('start and questions of the agent at work', () => {
  const PERMISSION: ScriptedQuestion = {
    text: [' Bash command', '', '   rm -rf x', '', ' Do you want to proceed?'],
    options: ['Yes', 'No'],
    marked: 0,
    right: 0,
  };

  it('counts as ready when its first turn asks for permission, which is never answered here', async () => {
    const bench = testBench({ agent: { questions: [TRUST, PERMISSION] } });
    const result = await bench.run(bench.provider.start(TEST_SESSION, claudeConfig(), startOptions()));
    expect(result).toMatchObject({ kind: 'ready', answered: ['folder trust'] });
    expect(bench.agent.keys).toEqual(['Enter']);
    expect(await bench.provider.pending(TEST_SESSION)).toMatchObject({ kind: 'approval' });
  });

  it('hands a permission question that stands in the way of the prompt to a person', async () => {
    const bench = testBench({ agent: { questions: [PERMISSION] } });
    const start = bench.provider.start(TEST_SESSION, claudeConfig({ nudge: 'go' }), startOptions());
    expect(await bench.run(start)).toMatchObject({ kind: 'waits-for-person', question: 'Bash: rm -rf x' });
    expect(bench.agent.keys).toEqual([]);
  });

  it('waits on a screen that merely ends in a question mark, and asks a person only at the timeout', async () => {
    const tip = program((t) => {
      t.processNames = ['claude'];
      t.draw(['Tip: did you know?']);
    });
    const bench = testBench({ program: tip });
    const result = await bench.run(bench.provider.start(TEST_SESSION, claudeConfig(), startOptions()));
    expect(result).toMatchObject({ kind: 'waits-for-person', question: 'Tip: did you know?' });
    expect(bench.clock.monotonic()).toBeGreaterThanOrEqual(50_000);
  });
});

describe('start and what is there already', () => {
  it('refuses a living session and touches nothing of it, whatever its token', async () => {
    const bench = testBench();
    const config = claudeConfig({ env: { GC_INSTANCE_TOKEN: 'same' }, preStart: ['touch x'] });
    await bench.run(bench.provider.start(TEST_SESSION, config, startOptions()));
    const again = bench.run(bench.provider.start(TEST_SESSION, config, startOptions()));
    await expect(again).rejects.toBeInstanceOf(SessionExistsError);
    expect(bench.terminal().state.kind).toBe('alive');
    expect(bench.backend.kills).toEqual([]);
    expect(bench.commands).toEqual(['touch x']);
  });

  it('lets one of two starts at once win', async () => {
    const bench = testBench();
    const starts = [1, 2].map(() => bench.provider.start(TEST_SESSION, claudeConfig(), startOptions()));
    const results = await bench.run(Promise.allSettled(starts));
    expect(results.map((r) => r.status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(bench.backend.calls.filter((c) => c.startsWith('create'))).toHaveLength(1);
  });

  it('recycles a corpse and a terminal whose agent is gone', async () => {
    for (const leave of ['corpse', 'zombie']) {
      const bench = testBench();
      await bench.run(bench.provider.start(TEST_SESSION, claudeConfig(), startOptions()));
      if (leave === 'corpse') bench.terminal().exit({ code: 1 });
      else bench.terminal().processNames = ['zsh'];
      await bench.run(bench.provider.start(TEST_SESSION, claudeConfig(), startOptions()));
      expect(bench.backend.kills).toEqual([TEST_SESSION]);
    }
  });

  it('takes unreadable processes for living', async () => {
    const bench = testBench();
    await bench.run(bench.provider.start(TEST_SESSION, claudeConfig(), startOptions()));
    bench.terminal().processNames = undefined;
    await expect(
      bench.run(bench.provider.start(TEST_SESSION, claudeConfig(), startOptions())),
    ).rejects.toBeInstanceOf(SessionExistsError);
  });

  it('REC-15 starts nothing when it cannot be told whether the session lives', async () => {
    const bench = testBench();
    bench.backend.unknown = 'tmux does not answer';
    await expect(
      bench.run(bench.provider.start(TEST_SESSION, claudeConfig(), startOptions())),
    ).rejects.toBeInstanceOf(RuntimeUnavailableError);
    expect(bench.backend.calls.some((c) => c.startsWith('create'))).toBe(false);
  });

  it('tries again once when ending the corpse ended the server', async () => {
    const bench = testBench();
    await bench.run(bench.provider.start(TEST_SESSION, claudeConfig(), startOptions()));
    bench.terminal().exit({ code: 1 });
    let failed = false;
    bench.backend.before = (call) => {
      if (call !== 'create' || failed) return;
      failed = true;
      throw new RuntimeUnavailableError('server exited unexpectedly');
    };
    expect(await bench.run(bench.provider.start(TEST_SESSION, claudeConfig(), startOptions()))).toMatchObject(
      { kind: 'ready' },
    );
  });

  it.each(['', 'a.b', 'a/b', 'a b', 'a:b', "a'b", 'ä', 'x'.repeat(201)])(
    'refuses the name %j',
    async (name) => {
      const bench = testBench();
      await expect(bench.provider.start(name, claudeConfig(), startOptions())).rejects.toBeInstanceOf(
        InvalidSessionNameError,
      );
      expect(bench.backend.calls).toEqual([]);
    },
  );
});

describe('start and set-up commands', () => {
  it('runs pre_start before anything is created; its failure is fatal and tells why', async () => {
    const bench = testBench({
      runShell: async () => ({ kind: 'exited', exit: { code: 3 }, stderrTail: 'no such repo' }),
    });
    const start = bench.run(
      bench.provider.start(TEST_SESSION, claudeConfig({ preStart: ['x'] }), startOptions()),
    );
    await expect(start).rejects.toThrow('running pre_start: pre_start[0]: exit 3: no such repo');
    await expect(start).rejects.toBeInstanceOf(StartFailedError);
    expect(bench.backend.calls.some((c) => c.startsWith('create'))).toBe(false);
  });

  it('turns failures of later commands into warnings and still delivers the prompt', async () => {
    const bench = testBench({
      runShell: async (request) =>
        request.command === 'ok' ? { kind: 'ok' } : { kind: 'timed-out', timeoutMs: 10_000, stderrTail: '' },
    });
    const config = claudeConfig({ sessionSetup: ['ok', 'bad'], sessionLive: ['live'], nudge: 'go' });
    const result = await bench.run(bench.provider.start(TEST_SESSION, config, startOptions()));
    expect(result.warnings).toEqual([
      'session_setup[1] warning: no end within 10 s, killed',
      'session_live[0] warning: no end within 10 s, killed',
    ]);
    expect(bench.agent.messages).toEqual(['go']);
  });

  it('tells the commands the name of the session, never the provider', async () => {
    const seen: Record<string, string>[] = [];
    const bench = testBench({
      runShell: async (request) => {
        seen.push({ ...request.env });
        return { kind: 'ok' };
      },
    });
    const config = claudeConfig({ preStart: ['a'], sessionSetup: ['b'], env: { GC_RIG: 'r' } });
    await bench.run(bench.provider.start(TEST_SESSION, config, startOptions()));
    await bench.provider.runLive(TEST_SESSION, claudeConfig({ sessionLive: ['c'] }));
    expect(seen.map((env) => env['GC_SESSION'])).toEqual([TEST_SESSION, TEST_SESSION, TEST_SESSION]);
    expect(seen[0]).toMatchObject({ PATH: '/bin', GC_RIG: 'r', GC_TMUX_SOCKET: 'scripted' });
    expect(bench.terminal().launch.env['GC_TMUX_SOCKET']).toBeUndefined();
  });
});
