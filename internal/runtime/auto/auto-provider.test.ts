import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { FakeProvider } from '../fake.ts';
import { type Provider, type RuntimeEvent, type Survey, unseenAnswer } from '../provider.ts';
import { PartialListError } from '../routing/back-ends.ts';
import { EMPTY_RUNTIME_CONFIG } from '../runtime-config.ts';
import { AutoProvider } from './auto-provider.ts';

function bench() {
  const clock = systemClock;
  const terminals = new FakeProvider(clock, 'tmux');
  const acp = new FakeProvider(clock, 'acp');
  const auto = new AutoProvider({ fallback: terminals, acp, clock });
  return { clock, terminals, acp, auto };
}

const config = (token = 't') => ({ ...EMPTY_RUNTIME_CONFIG, env: { GC_INSTANCE_TOKEN: token } });
const start = (provider: Provider, name: string, token?: string) =>
  provider.start(name, config(token), { signal: new AbortController().signal });

describe('where a session goes', () => {
  it('is the default provider, unless its route says acp', async () => {
    const { auto, terminals, acp } = bench();
    auto.routeTo('coder', 'acp');
    await start(auto, 'mayor');
    await start(auto, 'coder');
    expect([...terminals.sessions.keys()]).toEqual(['mayor']);
    expect([...acp.sessions.keys()]).toEqual(['coder']);
    expect(['mayor', 'coder', 'nobody'].map((name) => auto.routeOf(name))).toEqual(['', 'acp', '']);
  });

  it('is where it runs for everything else, also when its route is wrong or lost', async () => {
    const { auto, terminals, acp } = bench();
    await start(acp, 'coder');
    await start(terminals, 'mayor');
    auto.routeTo('coder', '');
    auto.routeTo('mayor', 'acp');
    await auto.nudge('coder', [{ type: 'text', text: 'hello' }]);
    await auto.setMeta('mayor', 'GC_DRAIN', '1');
    expect(acp.sessions.get('coder')?.messages).toEqual(['hello']);
    expect(terminals.meta.get('mayor')?.get('GC_DRAIN')).toBe('1');
    expect(await auto.findRoute('coder')).toBe('acp');
    expect(await auto.findRoute('mayor')).toBe('');
    expect(await auto.findRoute('nobody')).toBeUndefined();
    expect(await auto.isRunning('coder')).toBe('yes');
  });

  it('is refused a second time under one name, whichever side has it', async () => {
    const { auto, terminals, acp } = bench();
    await start(terminals, 'coder');
    auto.routeTo('coder', 'acp');
    await expect(start(auto, 'coder')).rejects.toThrow(
      'session already exists: session "coder" (in the default',
    );
    expect(acp.sessions.size).toBe(0);
    await auto.observe();
    terminals.broken = true;
    await expect(start(auto, 'coder')).rejects.toMatchObject({ code: 'runtime-unavailable' });
  });

  it('has no terminal to attach to over ACP', async () => {
    const { auto, acp } = bench();
    await start(acp, 'coder');
    const refused = auto.attach('coder');
    await expect(refused).rejects.toThrow(/^agent "coder" uses ACP transport \(no terminal to attach to\)$/);
    await expect(refused).rejects.toMatchObject({ code: 'attach-unsupported' });
    await start(auto, 'mayor');
    expect((await auto.attach('mayor')).kind).toBe('spawn');
  });
});

describe('a stop', () => {
  it('of a session whose route was lost ends it where it runs', async () => {
    const { auto, acp } = bench();
    await start(acp, 'coder');
    auto.routeTo('coder', '');
    await auto.stop('coder');
    expect(acp.sessions.size).toBe(0);
  });

  it('ends both when a name lives on both sides, and only what carries the token', async () => {
    const { auto, terminals, acp } = bench();
    await start(terminals, 'coder', 'one');
    await start(acp, 'coder', 'two');
    await auto.stop('coder', { instanceToken: 'one' });
    expect([terminals.sessions.size, acp.sessions.size]).toEqual([0, 1]);
    await auto.stop('coder');
    expect(acp.sessions.size).toBe(0);
  });

  it('that failed is told, unless the session proves to be on the other side', async () => {
    const { auto, terminals, acp } = bench();
    await start(terminals, 'mayor');
    terminals.stopErrors.set('mayor', new Error('tmux is stuck'));
    await expect(auto.stop('mayor')).rejects.toThrow('tmux is stuck');
    acp.broken = true;
    await expect(auto.stop('mayor')).rejects.toThrow('tmux is stuck');
    acp.broken = false;
    terminals.broken = true;
    await start(acp, 'coder');
    auto.routeTo('coder', '');
    await auto.stop('coder');
    expect(acp.sessions.size).toBe(0);
  });

  it('keeps the route: it belongs to the agent, not to one life', async () => {
    const { auto } = bench();
    auto.routeTo('coder', 'acp');
    await start(auto, 'coder');
    await auto.stop('coder');
    expect(auto.routeOf('coder')).toBe('acp');
  });
});

describe('a list', () => {
  it('has both sides, and says what is missing when one cannot be asked', async () => {
    const { auto, terminals, acp } = bench();
    await start(terminals, 'a-mayor');
    await start(acp, 'a-coder');
    expect(await auto.listRunning('a-')).toEqual(['a-coder', 'a-mayor']);
    acp.broken = true;
    const partial = await auto.listRunning('').catch((error: unknown) => error);
    expect(partial).toBeInstanceOf(PartialListError);
    expect(partial).toMatchObject({
      message: 'acp backend: session unavailable (default results included)',
      names: ['a-mayor'],
    });
    acp.broken = false;
    terminals.broken = true;
    await expect(auto.listRunning('')).rejects.toThrow(
      'default backend: session unavailable (acp results included)',
    );
    acp.broken = true;
    await expect(auto.listRunning('')).rejects.toThrow(/default backend: .*\nacp backend: /);
  });
});

/** What a survey says of one session, in a word. */
function told(survey: Survey, name: string): string {
  if (survey.kind !== 'seen') return survey.kind;
  return survey.sessions.get(name)?.liveness.kind ?? unseenAnswer(survey, name)?.kind ?? 'absent';
}

describe('a survey', () => {
  it('in which one side could not tell leaves the other side known', async () => {
    const { auto, terminals, acp } = bench();
    auto.routeTo('coder', 'acp');
    auto.routeTo('mayor', '');
    auto.routeTo('sleeper', '');
    await start(auto, 'mayor');
    await start(auto, 'coder');
    acp.broken = true;
    const half = await auto.observe();
    expect(['mayor', 'coder', 'sleeper', 'never told'].map((name) => told(half, name))).toEqual([
      'running',
      'unknown',
      'absent',
      'unknown',
    ]);
    acp.broken = false;
    terminals.broken = true;
    const otherHalf = await auto.observe();
    expect(['mayor', 'coder', 'sleeper'].map((name) => told(otherHalf, name))).toEqual([
      'unknown',
      'running',
      'unknown',
    ]);
    acp.broken = true;
    expect(await auto.observe()).toMatchObject({ kind: 'unknown', reason: /default backend.*acp backend/ });
  });

  it('says that a lost host took its own sessions only', async () => {
    const { auto, acp } = bench();
    auto.routeTo('coder', 'acp');
    auto.routeTo('mayor', '');
    await start(auto, 'mayor');
    await start(auto, 'coder');
    acp.loseInfrastructure('the session host is gone');
    const survey = await auto.observe();
    expect([told(survey, 'mayor'), told(survey, 'coder'), told(survey, 'nobody')]).toEqual([
      'running',
      'infrastructure-gone',
      'infrastructure-gone',
    ]);
  });

  it('finds a session that its route does not know, and believes what it saw', async () => {
    const { auto, acp } = bench();
    await start(acp, 'coder');
    auto.routeTo('coder', '');
    expect(told(await auto.observe(), 'coder')).toBe('running');
    acp.broken = true;
    expect(told(await auto.observe(), 'coder')).toBe('unknown');
    expect(await auto.isRunning('coder')).toBe('unknown');
  });

  it('shows the living one of two sessions of one name', async () => {
    const { auto, terminals, acp } = bench();
    await start(terminals, 'coder');
    terminals.crash('coder', { code: 1 });
    await start(acp, 'coder');
    expect(told(await auto.observe(), 'coder')).toBe('running');
    expect(await auto.findRoute('coder')).toBe('acp');
  });
});

describe('what a provider may or may not do', () => {
  it('is asked of the side that has the session', async () => {
    const { auto, acp, terminals } = bench();
    await start(acp, 'coder');
    acp.pendingInteractions.set('coder', { request_id: 'q1', kind: 'approval' });
    expect(await auto.pending('coder')).toMatchObject({ request_id: 'q1' });
    await auto.respond('coder', { action: 'yes' });
    expect(acp.responses.get('coder')).toMatchObject([{ action: 'yes', request_id: 'q1' }]);
    acp.waitForIdleErrors.set('coder', undefined);
    expect(await auto.waitForIdle('coder', 1_000)).toBe(true);
    acp.sleepCapabilityValue = 'timed_only';
    await auto.observe();
    expect(auto.sleepCapability('coder')).toBe('timed_only');
    expect(terminals.log.calls.some((call) => call.method === 'Respond')).toBe(false);
  });

  it('is unsupported where that side lacks it', async () => {
    const { clock, terminals } = bench();
    const plain = new FakeProvider(clock, 'exec:x');
    const bare = without(plain, [
      'pending',
      'respond',
      'waitForIdle',
      'sleepCapability',
      'continueStart',
      'observe',
    ]);
    const auto = new AutoProvider({ fallback: bare, acp: terminals, clock });
    await start(auto, 'mayor');
    await expect(auto.pending('mayor')).rejects.toMatchObject({ code: 'interaction-unsupported' });
    await expect(auto.respond('mayor', { action: 'yes' })).rejects.toMatchObject({
      code: 'interaction-unsupported',
    });
    await expect(auto.waitForIdle('mayor', 1)).rejects.toMatchObject({ code: 'interaction-unsupported' });
    const options = { signal: new AbortController().signal };
    await expect(auto.continueStart('mayor', config(), options)).rejects.toMatchObject({
      code: 'prompt-uncertain',
    });
    expect(auto.sleepCapability('mayor')).toBe('disabled');
    expect(told(await auto.observe(), 'mayor')).toBe('running');
  });
});

/** The same provider to whoever asks what it can do, less some of it. */
function without(provider: FakeProvider, hidden: readonly string[]): Provider {
  return new Proxy(provider, {
    has: (target, key) => !hidden.includes(String(key)) && key in target,
    get: (target, key) => {
      const value: unknown = Reflect.get(target, key);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

describe('what is watched', () => {
  it('is both sides, and goes on when one of them breaks', async () => {
    const { auto, terminals, acp } = bench();
    await start(terminals, 'mayor');
    await start(acp, 'coder');
    const over = new AbortController();
    const seen: RuntimeEvent[] = [];
    const watching = (async () => {
      for await (const event of auto.watch(over.signal)) {
        seen.push(event);
        if (seen.length === 2) over.abort();
      }
    })();
    await Promise.resolve();
    terminals.crash('mayor', { code: 3 });
    acp.touch('coder');
    await watching;
    expect(seen.map(({ kind }) => kind)).toEqual(['exited', 'activity']);
  });
});

type Step =
  | { readonly do: 'start'; readonly route: '' | 'acp'; readonly name: string }
  | { readonly do: 'stop' | 'misroute'; readonly name: string }
  | { readonly do: 'break' | 'mend'; readonly side: 'default' | 'acp' };

const names = fc.constantFrom('a', 'b');
const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({
    do: fc.constant('start' as const),
    route: fc.constantFrom('' as const, 'acp' as const),
    name: names,
  }),
  fc.record({ do: fc.constantFrom('stop' as const, 'misroute' as const), name: names }),
  fc.record({
    do: fc.constantFrom('break' as const, 'mend' as const),
    side: fc.constantFrom('default' as const, 'acp' as const),
  }),
);

describe('whatever happens', () => {
  it('no name lives twice, no stop claims what it did not do, and no living session is seen as absent', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(steps, { maxLength: 12 }), async (list) => {
        const { auto, terminals, acp } = bench();
        const lives = (name: string) => [terminals, acp].filter((side) => side.sessions.has(name)).length;
        for (const step of list) {
          if (step.do === 'break' || step.do === 'mend')
            (step.side === 'acp' ? acp : terminals).broken = step.do === 'break';
          if (step.do === 'misroute') auto.routeTo(step.name, auto.routeOf(step.name) === '' ? 'acp' : '');
          if (step.do === 'start') {
            // As a controller does: only what was seen to be absent, under its route.
            if (told(await auto.observe(), step.name) !== 'absent') continue;
            auto.routeTo(step.name, step.route);
            await start(auto, step.name).catch(() => undefined);
          }
          if (step.do === 'stop') {
            const stopped = await auto.stop(step.name).then(
              () => true,
              () => false,
            );
            const couldSee = !terminals.broken && !acp.broken;
            if (stopped && couldSee) expect(lives(step.name)).toBe(0);
          }
          const survey = await auto.observe();
          for (const name of ['a', 'b']) {
            expect(lives(name)).toBeLessThanOrEqual(1);
            if (lives(name) > 0) expect(told(survey, name)).not.toBe('absent');
          }
        }
      }),
      { numRuns: 150 },
    );
  });
});
