import { describe, expect, it } from 'vitest';
import { RuntimeUnavailableError, SessionNotFoundError } from '../errors.ts';
import { EMPTY_RUNTIME_CONFIG } from '../runtime-config.ts';
import type { ScriptedQuestion } from './scripted-agent.ts';
import { claudeConfig, startOptions, TEST_SESSION, type TestBench, testBench } from './testing.ts';

async function started(): Promise<TestBench> {
  const bench = testBench();
  await bench.run(bench.provider.start(TEST_SESSION, claudeConfig(), startOptions()));
  return bench;
}

const PERMISSION: ScriptedQuestion = {
  text: [' Bash command', '', '   touch x', '', ' Do you want to proceed?'],
  options: ['Yes', 'Yes, and always allow this', 'No'],
  marked: 0,
  right: 0,
};

describe('permission questions', () => {
  it('are read, answered once with one key, and verified', async () => {
    const bench = await started();
    expect(await bench.provider.pending(TEST_SESSION)).toBeUndefined();
    bench.agent.ask(bench.terminal(), PERMISSION);
    const pending = await bench.provider.pending(TEST_SESSION);
    expect(pending).toMatchObject({
      kind: 'approval',
      prompt: 'Bash: touch x',
      options: PERMISSION.options,
      metadata: { tool_name: 'Bash', source: 'tmux' },
    });
    const answer = { request_id: pending?.request_id ?? '', action: 'approve' };
    await bench.run(bench.provider.respond(TEST_SESSION, answer));
    expect(bench.agent.keys).toEqual(['1']);
    await expect(bench.run(bench.provider.respond(TEST_SESSION, answer))).rejects.toThrow('does not ask');
    await bench.run(bench.provider.respond(TEST_SESSION, { action: 'approve' }));
    expect(bench.agent.keys).toEqual(['1']);
  });

  it('are not answered under another id, nor with an unknown action', async () => {
    const bench = await started();
    bench.agent.ask(bench.terminal(), PERMISSION);
    const respond = (id: string, action: string) =>
      bench.run(bench.provider.respond(TEST_SESSION, { request_id: id, action }));
    await expect(respond('tmux-other', 'approve')).rejects.toThrow(
      'approval prompt changed: expected tmux-other, got ',
    );
    await expect(respond('', 'whatever')).rejects.toThrow('unknown action "whatever"');
    expect(bench.agent.keys).toEqual([]);
  });

  it('that do not go away are an error, never a second key', async () => {
    const bench = await started();
    bench.agent.ask(bench.terminal(), { ...PERMISSION, sticky: true });
    await expect(bench.run(bench.provider.respond(TEST_SESSION, { action: 'approve' }))).rejects.toThrow(
      'approval prompt did not clear after 3 verify attempts',
    );
    expect(bench.agent.keys).toEqual(['1']);
  });

  it('of other programs are choices that can be taken by number or label', async () => {
    const question = { text: [' Which theme?'], options: ['dark', 'light', 'both'], marked: 1, right: 2 };
    for (const action of ['3', 'both']) {
      const bench = await started();
      bench.agent.ask(bench.terminal(), question);
      expect(await bench.provider.pending(TEST_SESSION)).toMatchObject({
        kind: 'question',
        prompt: 'Which theme?',
      });
      await bench.run(bench.provider.respond(TEST_SESSION, { action }));
      expect(bench.agent.keys).toEqual(['Down', 'Enter']);
    }
  });

  it('of a missing session are none', async () => {
    const bench = testBench();
    expect(await bench.provider.pending('nobody')).toBeUndefined();
    await bench.provider.respond('nobody', { action: 'approve' });
  });
});

describe('stop', () => {
  it('is fine for a missing session and ends a living one', async () => {
    const bench = await started();
    await bench.provider.stop('nobody');
    await bench.provider.stop(TEST_SESSION);
    expect(await bench.provider.isRunning(TEST_SESSION)).toBe('no');
    await bench.provider.stop(TEST_SESSION);
    expect(bench.backend.kills).toEqual([TEST_SESSION]);
  });

  it('leaves a session with another token, and does nothing on unknown', async () => {
    const bench = await started();
    const token = await bench.provider.getMeta(TEST_SESSION, 'GC_INSTANCE_TOKEN');
    expect(token).toMatch(/^[0-9a-f]{32}$/);
    await bench.provider.stop(TEST_SESSION, { instanceToken: 'other' });
    expect(await bench.provider.isRunning(TEST_SESSION)).toBe('yes');
    bench.backend.unknown = 'silence';
    await expect(bench.provider.stop(TEST_SESSION, { instanceToken: token })).rejects.toBeInstanceOf(
      RuntimeUnavailableError,
    );
    bench.backend.unknown = undefined;
    await bench.provider.stop(TEST_SESSION, { instanceToken: token });
    expect(await bench.provider.isRunning(TEST_SESSION)).toBe('no');
  });
});

describe('probes', () => {
  it('answer yes, no or unknown', async () => {
    const bench = await started();
    const { provider } = bench;
    const probe = async (name: string) => [
      await provider.isRunning(name),
      await provider.isAttached(name),
      await provider.processAlive(name, ['claude']),
      await provider.processAlive(name, ['vim']),
      await provider.processAlive(name, []),
    ];
    expect(await probe(TEST_SESSION)).toEqual(['yes', 'no', 'yes', 'no', 'yes']);
    bench.terminal().attached = 2;
    expect(await provider.isAttached(TEST_SESSION)).toBe('yes');
    expect(await probe('nobody')).toEqual(['no', 'no', 'no', 'no', 'yes']);
    bench.terminal().processNames = undefined;
    expect(await provider.processAlive(TEST_SESSION, ['claude'])).toBe('unknown');
    bench.terminal().exit({ code: 0 });
    expect(await probe(TEST_SESSION)).toEqual(['no', 'no', 'no', 'no', 'yes']);
    bench.backend.unknown = 'x';
    expect(await probe(TEST_SESSION)).toEqual(['unknown', 'unknown', 'unknown', 'unknown', 'yes']);
  });

  it('match process names as the kernel cuts them', async () => {
    const bench = await started();
    bench.terminal().processNames = ['a-very-long-age', 'tool.js'];
    const alive = (name: string) => bench.provider.processAlive(TEST_SESSION, [name]);
    expect([
      await alive('a-very-long-agent'),
      await alive('tool'),
      await alive('/usr/bin/tool.js'),
      await alive('too'),
    ]).toEqual(['yes', 'yes', 'yes', 'no']);
  });

  it('survey everything in one call', async () => {
    const bench = await started();
    bench.backend.calls.length = 0;
    const survey = await bench.provider.observe();
    expect(bench.backend.calls).toEqual(['inspectAll']);
    const seen = survey.kind === 'seen' ? survey.sessions.get(TEST_SESSION) : undefined;
    expect(seen).toMatchObject({ liveness: { kind: 'running' }, attached: 0, processNames: ['claude'] });
    bench.terminal().exit({ code: 3 });
    const after = await bench.provider.observe();
    expect(after.kind === 'seen' && after.sessions.get(TEST_SESSION)?.liveness).toMatchObject({
      kind: 'exited',
      exit: { code: 3 },
    });
    bench.backend.unknown = 'x';
    expect(await bench.provider.observe()).toEqual({ kind: 'unknown', reason: 'x' });
    await expect(bench.provider.listRunning('')).rejects.toBeInstanceOf(RuntimeUnavailableError);
  });

  it('list by prefix, corpses too', async () => {
    const bench = testBench();
    for (const name of ['w-1', 'w-10', 'x']) {
      await bench.run(bench.provider.start(name, { ...EMPTY_RUNTIME_CONFIG, command: 'x' }, startOptions()));
    }
    bench.backend.terminals.get('w-1')?.exit({ code: 0 });
    expect(await bench.provider.listRunning('w-1')).toEqual(['w-1', 'w-10']);
    expect(await bench.provider.listRunning('')).toEqual(['w-1', 'w-10', 'x']);
  });
});

describe('peek', () => {
  it('answers exactly the last lines, blank rows at the bottom do not count', async () => {
    const bench = await started();
    bench.terminal().lines = ['a', 'b', '', 'c', '', ''];
    expect(await bench.provider.peek(TEST_SESSION, 2)).toBe('\nc');
    expect(await bench.provider.peek(TEST_SESSION, 3)).toBe('b\n\nc');
    expect(await bench.provider.peek(TEST_SESSION, 0)).toBe('a\nb\n\nc');
    expect(await bench.provider.peek(TEST_SESSION, 100)).toBe('a\nb\n\nc');
    await expect(bench.provider.peek('nobody', 1)).rejects.toBeInstanceOf(SessionNotFoundError);
  });
});

describe('acts on a missing session', () => {
  it('are fine where the contract says so', async () => {
    const { provider } = testBench();
    await provider.interrupt('nobody');
    await provider.sendKeys('nobody', ['Enter']);
    await provider.clearScrollback('nobody');
    await provider.copyTo('nobody', '/nowhere', '');
    expect(await provider.getMeta('nobody', 'k')).toBe('');
    await provider.removeMeta('nobody', 'k');
    expect(await provider.getLastActivity('nobody')).toBeUndefined();
  });
});
