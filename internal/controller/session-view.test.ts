import { describe, expect, it } from 'vitest';
import { describeExit } from '../runtime/errors.ts';
import { afterDeath, CLEAR, crashPatch } from '../session/crash-policy.ts';
import type { Desired } from './model.ts';
import { complains } from './plan-dead.ts';
import { sessionView, type ViewFacts } from './session-view.ts';
import { aDesired, aRecord, aRunningObservation, aRunningRecord, NOW } from './testing/plan.fixtures.ts';

const NOTE = 'ImagePullBackOff: image "agent:2" is not there';

function viewOf(over: Partial<ViewFacts>) {
  return sessionView({
    now: NOW,
    record: aRunningRecord('a'),
    desired: aDesired('a'),
    sight: { kind: 'running', observation: aRunningObservation('a', { note: NOTE }) },
    operation: undefined,
    glimpse: undefined,
    up: new Set(),
    templates: new Set(['a']),
    needed: false,
    demanded: false,
    controlled: true,
    ...over,
  });
}

describe('what its back end says of a session', () => {
  it('is shown while it starts, before what we wait for', () => {
    const operation = {
      kind: 'start',
      progress: { kind: 'waiting', what: 'its prompt' },
    } as const;
    expect(viewOf({ operation })).toMatchObject({ condition: 'starting', detail: NOTE });
    const record = aRecord('a', { state: 'creating', last_woke_at: '2026-01-02T09:59:00Z' });
    expect(viewOf({ record })).toMatchObject({ condition: 'starting', detail: NOTE });
  });

  it('is shown while it runs, and gone when it is not said any more', () => {
    expect(viewOf({}).detail).toBe(NOTE);
    const sight = { kind: 'running', observation: aRunningObservation('a') } as const;
    expect(viewOf({ sight }).detail).toBeUndefined();
  });

  it('of its end is kept with it', () => {
    const exit = { code: 137, reason: 'OOMKilled', at: '2026-01-02T09:00:00Z', last_lines: '' };
    const record = aRecord('a', { state: 'asleep', last_exit: JSON.stringify(exit) });
    expect(viewOf({ record, sight: { kind: 'absent' } }).last_exit).toEqual(exit);
  });
});

describe('the reason of a rest', () => {
  it.each([
    [
      'start failed: no login (log in once)',
      'agent stderr:\nno login',
      'start failed: no login (log in once)',
    ],
    ['exit 3 during startup', 'loading\nno key\n', 'exit 3 during startup: "no key"'],
    ['exit 3 during startup', '', 'exit 3 during startup'],
  ])('%s, with %j said last, is told once', (reason, lines, detail) => {
    const policy = { maxRestarts: 5, restartWindowMs: 3_600_000 };
    const death = { kind: 'own', uptimeMs: 0, how: reason } as const;
    const once = afterDeath(CLEAR, death, policy, NOW, () => 0.5);
    const state = afterDeath(once, death, policy, NOW, () => 0.5);
    const exit = { at: '2026-01-02T09:00:00Z', last_lines: lines };
    const record = aRecord('a', {
      state: 'asleep',
      ...crashPatch(state),
      last_exit: JSON.stringify(exit),
    });
    expect(viewOf({ record, sight: { kind: 'absent' } })).toMatchObject({ condition: 'backing-off', detail });
  });

  it('that keeps its agent from being started says what to do, and its code', () => {
    const problem = { code: 'acp-not-ready', message: 'it came later', next: 'gc restart' };
    const { sessionName, template, mode } = aDesired('a');
    const desired = { resolution: 'unresolvable', sessionName, template, mode, problem } as Desired;
    const view = viewOf({ record: aRecord('a', { state: 'asleep' }), desired, sight: { kind: 'absent' } });
    expect(view).toMatchObject({ detail: 'it came later (gc restart)', problem: 'acp-not-ready' });
  });
});

describe('an end', () => {
  it.each([
    [{ code: 137, reason: 'OOMKilled' }, 'OOMKilled (exit 137)'],
    [{ signal: 'SIGKILL', reason: 'Evicted: low on memory' }, 'Evicted: low on memory (signal SIGKILL)'],
    [{ reason: 'deleted' }, 'deleted'],
    [{ code: 0 }, 'exit 0'],
    [{}, 'unknown exit'],
  ])('%j reads %s', (exit, text) => expect(describeExit(exit)).toBe(text));

  it('that somebody else made is no work that is done', () => {
    expect(complains({ reason: 'deleted' })).toBe(true);
    expect(complains({ code: 0, reason: 'Completed' })).toBe(false);
    expect(complains({})).toBe(false);
  });
});

describe('what the transcript adds to the screen', () => {
  const conversation = {
    turn: 'idle',
    lastMessage: 'City is up and idle. No pending work.',
    lastMessageAt: NOW,
    model: 'claude-opus-4-8',
    contextTokens: 50_000,
    contextWindow: 200_000,
    failure: undefined,
  } as const;
  const glimpse = (kind: 'idle' | 'busy') => ({
    activity: kind === 'idle' ? ({ kind, composer: undefined } as const) : ({ kind, why: 'x' } as const),
    lastLine: 'the last line',
    isTold: false,
    asOf: NOW,
  });
  const sight = { kind: 'running', observation: aRunningObservation('a', { lastActivity: NOW }) } as const;

  it('is whose turn it is where the screen cannot tell, and the last message of one that rests', () => {
    expect(viewOf({ sight, glimpse: glimpse('idle'), conversation })).toMatchObject({
      condition: 'idle',
      detail: conversation.lastMessage,
      conversation: { turn: 'idle', context_percent: 25, model: 'claude-opus-4-8' },
    });
    const inTurn = { ...conversation, turn: 'in-turn' } as const;
    expect(viewOf({ sight, glimpse: glimpse('idle'), conversation: inTurn })).toMatchObject({
      condition: 'working',
      detail: 'the last line',
    });
    expect(viewOf({ sight, glimpse: glimpse('busy'), conversation })).toMatchObject({
      condition: 'working',
      detail: 'the last line',
    });
  });

  it('is why it gave up, before what it said', () => {
    const failure = { text: "You've hit your\nlimit", at: NOW };
    expect(
      viewOf({ sight, glimpse: glimpse('idle'), conversation: { ...conversation, failure } }),
    ).toMatchObject({ detail: "You've hit your limit", conversation: { failure: "You've hit your limit" } });
  });
});
