import { describe, expect, it } from 'vitest';
import { FakeClock } from '../platform/fake-clock.ts';
import { textContent } from './content-blocks.ts';
import {
  DiedDuringStartupError,
  InteractionUnsupportedError,
  RuntimeUnavailableError,
  SessionExistsError,
} from './errors.ts';
import { failProvider } from './fail.ts';
import { FakeProvider } from './fake.ts';
import type { RuntimeEvent, StartOptions } from './provider.ts';
import { EMPTY_RUNTIME_CONFIG, type RuntimeConfig } from './runtime-config.ts';

const options = (signal = new AbortController().signal): StartOptions => ({ signal });
const config = (over: Partial<RuntimeConfig> = {}): RuntimeConfig => ({
  ...EMPTY_RUNTIME_CONFIG,
  command: 'x',
  ...over,
});

function fake() {
  const clock = new FakeClock();
  const provider = new FakeProvider(clock);
  const start = async (name: string, over: Partial<RuntimeConfig> = {}) => {
    const started = provider.start(name, config(over), options());
    await clock.advance(0);
    return await started;
  };
  return { clock, provider, start };
}

function collect(provider: FakeProvider): { events: RuntimeEvent[]; stop: () => Promise<void> } {
  const events: RuntimeEvent[] = [];
  const controller = new AbortController();
  const stream = provider.watch(controller.signal);
  const done = (async () => {
    for await (const event of stream) events.push(event);
  })();
  return {
    events,
    stop: async () => {
      controller.abort();
      await done;
    },
  };
}

describe('FakeProvider', () => {
  it('records every call, also those that fail', async () => {
    const { provider, start } = fake();
    await start('a', { nudge: 'go' });
    await provider.nudge('a', textContent('hi'));
    await provider.sendKeys('a', ['Down', 'Enter']);
    await provider.setMeta('a', 'k', 'v');
    provider.broken = true;
    await expect(provider.getMeta('a', 'k')).rejects.toBeInstanceOf(RuntimeUnavailableError);
    expect(provider.log.calls.map((c) => c.method)).toEqual([
      'Start',
      'Nudge',
      'SendKeys',
      'SetMeta',
      'GetMeta',
    ]);
    expect(provider.log.calls[1]).toMatchObject({ message: 'hi', content: [{ type: 'text', text: 'hi' }] });
    expect(provider.log.calls[2]?.message).toBe('Down Enter');
    expect(provider.log.lastStartConfig('a')?.nudge).toBe('go');
    expect(provider.log.lastStartConfig('b')).toBeUndefined();
    expect(provider.sessions.get('a')?.messages).toEqual(['go', 'hi']);
  });

  it('refuses a duplicate, takes a corpse over', async () => {
    const { provider, start } = fake();
    await start('a');
    await expect(start('a')).rejects.toBeInstanceOf(SessionExistsError);
    provider.crash('a', { code: 1 }, 'last words');
    expect(await provider.isRunning('a')).toBe('no');
    expect(await provider.listRunning('')).toEqual(['a']);
    await start('a');
    expect(await provider.isRunning('a')).toBe('yes');
  });

  it('starts as scripted: late, dying, waiting for a person, failing; the last script stays', async () => {
    const { clock, provider } = fake();
    provider.scripts.set(
      'a',
      { delayMs: 5_000 },
      { delayMs: 100, outcome: { kind: 'dies', exit: { code: 7 }, lastLines: 'bad' } },
      { outcome: { kind: 'waits-for-person', question: 'log in?' } },
      { outcome: { kind: 'fails', error: new Error('no disk') } },
    );
    const begin = () => {
      const started = provider.start('a', config(), options());
      started.catch(() => undefined);
      return started;
    };
    const late = begin();
    await clock.advance(4_999);
    let ready = false;
    late.then(() => (ready = true)).catch(() => undefined);
    await clock.advance(0);
    expect(ready).toBe(false);
    expect(await provider.isRunning('a')).toBe('yes');
    await clock.advance(1);
    expect((await late).kind).toBe('ready');
    await provider.stop('a');

    const dying = begin();
    await clock.advance(100);
    await expect(dying).rejects.toBeInstanceOf(DiedDuringStartupError);
    await expect(dying).rejects.toMatchObject({ exit: { code: 7 }, lastLines: 'bad' });
    expect(await provider.isRunning('a')).toBe('no');

    const waiting = begin();
    await clock.advance(0);
    expect(await waiting).toMatchObject({ kind: 'waits-for-person', question: 'log in?' });
    expect(await provider.continueStart('a', config({ nudge: 'go' }), options())).toMatchObject({
      kind: 'waits-for-person',
    });
    provider.answerAsPerson('a');
    expect(await provider.continueStart('a', config({ nudge: 'go' }), options())).toMatchObject({
      kind: 'ready',
    });
    expect(provider.sessions.get('a')?.messages).toEqual(['go']);
    await provider.stop('a');

    for (let i = 0; i < 2; i += 1) {
      const failing = begin();
      await clock.advance(0);
      await expect(failing).rejects.toThrow('no disk');
    }
  });

  it('leaves nothing of a cancelled start', async () => {
    const { clock, provider } = fake();
    provider.scripts.fallback = { delayMs: 1_000 };
    const controller = new AbortController();
    const started = provider.start('a', config(), options(controller.signal));
    const failure = expect(started).rejects.toThrow('stop it');
    await clock.advance(500);
    controller.abort(new Error('stop it'));
    await failure;
    expect(provider.sessions.size).toBe(0);
  });

  it('dies during a start when it is crashed then', async () => {
    const { clock, provider } = fake();
    provider.scripts.fallback = { delayMs: 1_000 };
    const started = provider.start('a', config(), options());
    const failure = expect(started).rejects.toMatchObject({ exit: { signal: 'SIGKILL' } });
    await clock.advance(500);
    provider.crash('a', { signal: 'SIGKILL' });
    await clock.advance(500);
    await failure;
  });

  it('ends by itself when scripted, and tells watchers', async () => {
    const { clock, provider, start } = fake();
    const watcher = collect(provider);
    provider.scripts.set('a', { livesMs: 10_000, exit: { code: 2 }, lastLines: 'bye' });
    await start('a');
    await clock.advance(10_000);
    expect(watcher.events).toEqual([{ kind: 'exited', name: 'a', exit: { code: 2 }, lastLines: 'bye' }]);
    await watcher.stop();
  });

  it('drops and doubles events as told, each watcher seeing the same', async () => {
    const { provider, start } = fake();
    const one = collect(provider);
    const two = collect(provider);
    await start('a');
    provider.deliver = () => [];
    provider.setAttached('a', 1);
    provider.deliver = (event) => [event, event];
    provider.setAttached('a', 0);
    await one.stop();
    await two.stop();
    expect(one.events).toEqual([
      { kind: 'detached', name: 'a' },
      { kind: 'detached', name: 'a' },
    ]);
    expect(two.events).toEqual(one.events);
  });

  it('surveys sessions, and says unknown or gone when told', async () => {
    const { provider, start } = fake();
    await start('a', { env: { GC_SESSION_ID: 'gc-1', EMPTY: '' }, processNames: ['claude'] });
    provider.setAttached('a', 2);
    const survey = await provider.observe();
    expect(survey.kind === 'seen' && survey.sessions.get('a')).toMatchObject({
      liveness: { kind: 'running' },
      attached: 2,
      processNames: ['sh', 'claude'],
      meta: { GC_SESSION_ID: 'gc-1' },
    });
    provider.unknownSurveys = 1;
    expect((await provider.observe()).kind).toBe('unknown');
    expect((await provider.observe()).kind).toBe('seen');
    provider.loseInfrastructure('the server was killed');
    expect(await provider.observe()).toEqual({ kind: 'infrastructure-gone', what: 'the server was killed' });
    expect(await provider.isRunning('a')).toBe('no');
    await start('a');
    expect((await provider.observe()).kind).toBe('seen');
  });

  it('knows zombies, tokens and planned errors', async () => {
    const { provider, start } = fake();
    await start('a', { env: { GC_INSTANCE_TOKEN: 't1' } });
    provider.zombies.add('a');
    expect(await provider.processAlive('a', ['claude'])).toBe('no');
    expect(await provider.processAlive('a', [])).toBe('yes');
    await provider.stop('a', { instanceToken: 't2' });
    expect(await provider.isRunning('a')).toBe('yes');
    provider.stopErrors.set('a', new Error('busy'));
    await expect(provider.stop('a')).rejects.toThrow('busy');
    provider.stopErrors.clear();
    await provider.stop('a', { instanceToken: 't1' });
    expect(await provider.getMeta('a', 'GC_INSTANCE_TOKEN')).toBe('');
    provider.startErrors.set('a', new Error('planned'));
    await expect(start('a')).rejects.toThrow('planned');
  });

  it('waits for idle only where told how', async () => {
    const { clock, provider, start } = fake();
    await start('a');
    await expect(provider.waitForIdle('a', 10)).rejects.toBeInstanceOf(InteractionUnsupportedError);
    provider.busyUntil.set('a', clock.monotonic() + 1_000);
    const short = provider.waitForIdle('a', 400);
    await clock.advance(400);
    expect(await short).toBe(false);
    const long = provider.waitForIdle('a', 5_000);
    await clock.advance(600);
    expect(await long).toBe(true);
    provider.busyUntil.clear();
    provider.waitForIdleErrors.set('a', undefined);
    let open: () => void = () => undefined;
    provider.waitForIdleGates.set('a', new Promise<void>((resolve) => (open = resolve)));
    const gated = provider.waitForIdle('a', 1);
    expect(await provider.isRunning('a')).toBe('yes');
    const controller = new AbortController();
    const cancelled = provider.waitForIdle('a', 1, controller.signal);
    controller.abort(new Error('no more'));
    await expect(cancelled).rejects.toThrow('no more');
    open();
    await clock.advance(1);
    expect(await gated).toBe(true);
  });

  it('holds pending interactions until they are answered once', async () => {
    const { provider, start } = fake();
    await start('a');
    await expect(provider.respond('a', { action: 'approve' })).rejects.toThrow('no pending interaction');
    provider.pendingInteractions.set('a', { request_id: 'r1', kind: 'approval' });
    await expect(provider.respond('a', { request_id: 'r2', action: 'approve' })).rejects.toThrow(
      'pending interaction "r1" does not match request "r2"',
    );
    const copy = await provider.pending('a');
    expect(copy).toEqual({ request_id: 'r1', kind: 'approval' });
    expect(copy).not.toBe(provider.pendingInteractions.get('a'));
    await provider.respond('a', { action: 'approve' });
    expect(provider.responses.get('a')).toEqual([{ request_id: 'r1', action: 'approve' }]);
    expect(await provider.pending('a')).toBeUndefined();
  });
});

describe('failProvider', () => {
  it('fails every call and cannot tell anything', async () => {
    const provider = failProvider(new FakeClock());
    expect(provider.kind).toBe('fail');
    await expect(provider.start('a', config(), options())).rejects.toThrow('session unavailable');
    await expect(provider.stop('a')).rejects.toThrow('session unavailable');
    await expect(provider.listRunning('')).rejects.toThrow('session unavailable');
    expect([
      await provider.isRunning('a'),
      await provider.processAlive('a', []),
      await provider.isAttached('a'),
    ]).toEqual(['unknown', 'unknown', 'unknown']);
    expect((await provider.observe()).kind).toBe('unknown');
    expect((await provider.nudge('a', textContent('x'))).kind).toBe('failed');
    expect(provider.log.calls.length).toBe(8);
  });
});
