import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Agent, City } from '../config/city.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { SleepCapability } from '../runtime/provider.ts';
import { fallingAsleep, type SleepRequest, sleepNotes, sleepPolicy, sleepRequest } from './sleep-policy.ts';
import { aRunningRecord, aSleepRequest, NOW } from './testing/plan.fixtures.ts';

const NOTHING = { interactiveResume: '', interactiveFresh: '', noninteractive: '' };

const agentOf = (over: Partial<Agent> = {}) => ({
  attach: true,
  wakeMode: 'resume' as const,
  sleepAfterIdle: '',
  sleepSource: '' as const,
  dir: '',
  dependsOn: [],
  qualifiedName: 'a',
  ...over,
});

interface Written {
  readonly chatMs?: number;
  readonly city?: Partial<City['sessionSleep']>;
  readonly rig?: Partial<City['sessionSleep']>;
  readonly agent?: Partial<Agent>;
  readonly kind?: 'named' | 'manual' | 'pool' | 'dependency';
  readonly mode?: '' | 'always' | 'on_demand';
}

const requested = ({ chatMs = 0, city = {}, rig, agent = {}, kind = 'named', mode = '' }: Written) =>
  sleepRequest(
    {
      chatSessions: { idleTimeoutMs: chatMs },
      sessionSleep: { ...NOTHING, ...city },
      rigs: rig ? [{ name: 'R', sessionSleep: { ...NOTHING, ...rig } } as City['rigs'][number]] : [],
    },
    { agent: agentOf({ ...agent, ...(rig ? { dir: 'R' } : {}) }), kind, mode },
  );

describe('what is asked for', () => {
  it.each<[string, Written, string, SleepRequest['source']]>([
    ['nothing', {}, 'off', 'legacy_off'],
    ['nothing, on demand', { mode: 'on_demand' }, '5m', 'on_demand_default'],
    ['the city', { city: { interactiveResume: '10m' } }, '10m', 'workspace_default'],
    [
      'the city, on demand',
      { city: { interactiveResume: '1h' }, mode: 'on_demand' },
      '1h',
      'workspace_default',
    ],
    ['the city, of another class', { city: { noninteractive: '10m' } }, 'off', 'legacy_off'],
    [
      'the rig before the city',
      { city: { interactiveResume: '10m' }, rig: { interactiveResume: '2m' } },
      '2m',
      'rig_default',
    ],
    [
      'a rig that says off',
      { city: { interactiveResume: '10m' }, rig: { interactiveResume: 'off' } },
      'off',
      'rig_default',
    ],
    [
      'the agent before all',
      { rig: { interactiveResume: '2m' }, agent: { sleepAfterIdle: '1m', sleepSource: 'agent' } },
      '1m',
      'agent',
    ],
    [
      'an override of the rig',
      { agent: { sleepAfterIdle: '0s', sleepSource: 'rig_override' } },
      '0s',
      'rig_override',
    ],
    ['a patch', { agent: { sleepAfterIdle: 'off', sleepSource: 'agent_patch' } }, 'off', 'agent_patch'],
    [
      'chats, for who was made by hand',
      { chatMs: 90_000, kind: 'manual', agent: { sleepAfterIdle: '1m' } },
      '90s',
      'chat_sessions',
    ],
    ['chats, for nobody else', { chatMs: 90_000 }, 'off', 'legacy_off'],
  ])('%s', (_what, written, value, source) => {
    expect(requested(written)).toMatchObject({ value, source });
  });

  it.each([
    [{ attach: false, wakeMode: 'fresh' as const }, 'noninteractive'],
    [{ wakeMode: 'fresh' as const }, 'interactive_fresh'],
    [{}, 'interactive_resume'],
  ])('%j is %s', (agent, sleepClass) => {
    expect(requested({ agent }).class).toBe(sleepClass);
  });
});

describe('what is done of it', () => {
  it.each<[Partial<SleepRequest>, SleepCapability, number | undefined, string]>([
    [{}, 'full', 300_000, ''],
    [{ value: '0' }, 'full', 0, ''],
    [{ value: 'off' }, 'full', undefined, ''],
    [{}, 'timed_only', undefined, 'interactive_capability_insufficient'],
    [{ class: 'noninteractive' }, 'timed_only', 300_000, ''],
    [{ class: 'noninteractive' }, 'disabled', undefined, 'capability_disabled'],
    [{ source: 'on_demand_default' }, 'timed_only', 300_000, ''],
    [{ always: true }, 'full', undefined, 'always_awake'],
  ])('%j where silence is told %s', (over, capability, afterMs, adjustment) => {
    expect(sleepPolicy(aSleepRequest(over), capability)).toMatchObject({ afterMs, adjustment });
  });

  it('has a fingerprint that only what matters changes', () => {
    expect(sleepPolicy(aSleepRequest({ dependsOn: ['x', 'y'] }), 'full').fingerprint).toBe(
      'value=5m|class=interactive_resume|source=agent|wake=resume|cap=full|deps=x,y|template=a',
    );
  });
});

describe('what the record says', () => {
  const facts = { attached: false, now: NOW };
  const policy = sleepPolicy(aSleepRequest(), 'full');

  it('is written once, and nothing where nothing was ever asked for', () => {
    const record = aRunningRecord('a');
    expect(sleepNotes(record, sleepPolicy(aSleepRequest({ value: 'off' }), 'full'), facts)).toEqual({});
    const notes = sleepNotes(record, policy, facts);
    expect(notes).toEqual({
      requested_sleep_after_idle: '5m',
      effective_sleep_after_idle: '5m',
      sleep_policy_source: 'agent',
      sleep_capability: 'full',
      sleep_policy_fingerprint: policy.fingerprint,
      detached_at: rfc3339(NOW),
    });
    expect(sleepNotes(aRunningRecord('a', notes), policy, { ...facts, now: NOW + 60_000 })).toEqual({});
  });

  it('forgets since when nobody is there as soon as somebody is, and where it does not matter', () => {
    const record = aRunningRecord('a', sleepNotes(aRunningRecord('a'), policy, facts));
    expect(sleepNotes(record, policy, { ...facts, attached: true })).toEqual({ detached_at: '' });
    const off = sleepPolicy(aSleepRequest({ value: 'off' }), 'full');
    expect(sleepNotes(record, off, facts)).toMatchObject({
      effective_sleep_after_idle: 'off',
      detached_at: '',
    });
    const unattended = sleepPolicy(aSleepRequest({ class: 'noninteractive' }), 'full');
    expect(sleepNotes(aRunningRecord('a'), unattended, facts)).not.toHaveProperty('detached_at');
  });

  it('takes back what was written for a sleep that did not come', () => {
    const notes = sleepNotes(aRunningRecord('a'), policy, facts);
    const record = aRunningRecord('a', { ...notes, ...fallingAsleep() });
    expect(sleepNotes(record, policy, facts)).toEqual({ config_wake_suppressed: '', sleep_intent: '' });
  });

  it('is complete after one writing, whatever it said before', () => {
    const someRequest = fc.record({
      class: fc.constantFrom<SleepRequest['class']>(
        'interactive_resume',
        'interactive_fresh',
        'noninteractive',
      ),
      value: fc.constantFrom('off', '0s', '5m', '1h30m'),
      always: fc.boolean(),
    });
    const somePolicy = fc
      .tuple(someRequest, fc.constantFrom<SleepCapability>('full', 'timed_only', 'disabled'))
      .map(([request, capability]) => sleepPolicy(aSleepRequest(request), capability));
    fc.assert(
      fc.property(somePolicy, somePolicy, fc.boolean(), (before, after, attached) => {
        const first = sleepNotes(aRunningRecord('a'), before, facts);
        const record = aRunningRecord('a', first);
        const second = sleepNotes(record, after, { attached, now: NOW + 1 });
        const written = aRunningRecord('a', { ...first, ...second });
        expect(sleepNotes(written, after, { attached, now: NOW + 2 })).toEqual({});
      }),
      { numRuns: 100 },
    );
  });
});
