import { describe, expect, it } from 'vitest';
import { DiedDuringStartupError } from '../errors.ts';
import { META_START_PHASE } from '../provider.ts';
import { claudeConfig, startOptions, TEST_SESSION, testBench } from './testing.ts';
import { BYPASS, TRUST } from './testing-questions.ts';

describe('start, cancelled', () => {
  const config = claudeConfig({ sessionSetup: ['setup'], sessionLive: ['live'], nudge: 'go' });

  async function callsOfWholeStart(): Promise<number> {
    const bench = testBench({ agent: { questions: [TRUST, BYPASS] } });
    await bench.run(bench.provider.start(TEST_SESSION, config, startOptions()));
    return bench.backend.calls.length;
  }

  it('at every single act: nothing runs afterwards and nothing is left', async () => {
    const total = await callsOfWholeStart();
    expect(total).toBeGreaterThan(20);
    for (let at = 1; at < total; at += 1) {
      const controller = new AbortController();
      const bench = testBench({ agent: { questions: [TRUST, BYPASS] } });
      let commandsThen = -1;
      let messagesThen = -1;
      let pastesThen = -1;
      const count = (call: string) => bench.backend.calls.filter((c) => c.startsWith(call)).length;
      bench.backend.before = () => {
        if (bench.backend.calls.length !== at) return;
        commandsThen = bench.commands.length;
        messagesThen = bench.agent.messages.length;
        pastesThen = count('paste');
        controller.abort(new Error('changed my mind'));
      };
      const start = bench.run(bench.provider.start(TEST_SESSION, config, startOptions(controller.signal)));
      await expect(start, `act ${at}`).rejects.toThrow('changed my mind');
      expect(bench.commands.length, `commands after act ${at}`).toBe(commandsThen);
      expect(count('paste'), `pastes after act ${at}`).toBe(pastesThen);
      const wasEnter = bench.backend.calls[at - 1]?.startsWith('sendKeys') ? 1 : 0;
      const messages = bench.agent.messages.length - messagesThen;
      expect(messages, `messages after act ${at}`).toBeLessThanOrEqual(wasEnter);
      expect(bench.backend.terminals.size, `left after act ${at}`).toBe(0);
    }
  });

  it('dies at every single act: told as a death, nothing left', async () => {
    const total = await callsOfWholeStart();
    for (let at = 1; at < total; at += 1) {
      const bench = testBench({ agent: { questions: [TRUST, BYPASS] } });
      let created = true;
      bench.backend.before = () => {
        if (bench.backend.calls.length !== at) return;
        created = bench.backend.terminals.has(TEST_SESSION);
        bench.backend.terminals.get(TEST_SESSION)?.exit({ code: 9 });
      };
      const start = bench.run(bench.provider.start(TEST_SESSION, config, startOptions()));
      const result = await start.catch((error: unknown) => error);
      if (!created) continue;
      const late = result instanceof Error ? undefined : result;
      if (late) expect(at, 'only the very last acts come too late to notice').toBeGreaterThan(total - 3);
      else expect(result, `act ${at}`).toBeInstanceOf(DiedDuringStartupError);
      if (!late) expect(bench.backend.terminals.size).toBe(0);
    }
  });

  it('leaves a session that is not its own', async () => {
    const controller = new AbortController();
    const bench = testBench();
    bench.backend.before = (call) => {
      if (call !== 'capture') return;
      bench.terminal().meta.set('GC_INSTANCE_TOKEN', 'somebody else');
      controller.abort(new Error('enough'));
    };
    await expect(
      bench.run(bench.provider.start(TEST_SESSION, config, startOptions(controller.signal))),
    ).rejects.toThrow('enough');
    expect(bench.backend.terminals.size).toBe(1);
  });

  it('by a stop, which returns when nothing is left', async () => {
    const bench = testBench({ agent: { readyMs: 5_000 } });
    const start = bench.provider.start(TEST_SESSION, config, startOptions());
    const failure = expect(start).rejects.toMatchObject({ code: 'start-cancelled' });
    await bench.clock.advance(1_000);
    await bench.run(bench.provider.stop(TEST_SESSION));
    expect(await bench.provider.isRunning(TEST_SESSION)).toBe('no');
    await failure;
  });

  it("by the caller's deadline: told with what was waited for", async () => {
    const controller = new AbortController();
    const bench = testBench({ agent: { readyMs: 60_000 } });
    const start = bench.provider.start(TEST_SESSION, config, startOptions(controller.signal));
    const failure = expect(start).rejects.toMatchObject({ code: 'not-ready' });
    await bench.clock.advance(2_000);
    controller.abort(new DOMException('too late', 'TimeoutError'));
    await bench.run(start.catch(() => undefined));
    await failure;
  });
});

describe('continueStart', () => {
  it('does nothing for a session that is ready', async () => {
    const bench = testBench();
    await bench.run(bench.provider.start(TEST_SESSION, claudeConfig({ nudge: 'go' }), startOptions()));
    await bench.run(
      bench.provider.continueStart(TEST_SESSION, claudeConfig({ nudge: 'go' }), startOptions()),
    );
    expect(bench.agent.messages).toEqual(['go']);
  });

  it('REC-17 finishes a start whose process died before the prompt, once', async () => {
    const bench = testBench();
    await bench.run(bench.provider.start(TEST_SESSION, claudeConfig(), startOptions()));
    bench.terminal().meta.set(META_START_PHASE, 'created');
    await bench.run(
      bench.provider.continueStart(TEST_SESSION, claudeConfig({ nudge: 'go' }), startOptions()),
    );
    bench.terminal().meta.set(META_START_PHASE, 'prompted');
    await bench.run(
      bench.provider.continueStart(TEST_SESSION, claudeConfig({ nudge: 'go' }), startOptions()),
    );
    expect(bench.agent.messages).toEqual(['go']);
  });

  it('refuses when it cannot be known whether the prompt was submitted', async () => {
    const bench = testBench();
    await bench.run(bench.provider.start(TEST_SESSION, claudeConfig(), startOptions()));
    bench.terminal().meta.set(META_START_PHASE, 'prompting');
    await expect(
      bench.run(bench.provider.continueStart(TEST_SESSION, claudeConfig({ nudge: 'go' }), startOptions())),
    ).rejects.toMatchObject({ code: 'prompt-uncertain' });
  });
});
