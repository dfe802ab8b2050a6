import { describe, expect, it } from 'vitest';
import { rfc3339 } from '../platform/clock.ts';
import { type AwakeFacts, decideAwake } from './awake-set.ts';
import { sleepPolicy } from './sleep-policy.ts';
import { aDesired, aRunningRecord, aSleepRequest, NOW } from './testing/plan.fixtures.ts';

const request = aSleepRequest();
const onDemand = aDesired('a', { mode: 'on_demand', sleep: request });
const slot = aDesired('a', { kind: 'pool', mode: '', slot: 1 });

const decide = (over: Partial<AwakeFacts>) =>
  decideAwake({
    now: NOW,
    record: aRunningRecord('a'),
    desired: onDemand,
    running: true,
    attached: false,
    pending: false,
    waitReady: false,
    needed: false,
    demanded: false,
    called: over.demanded ?? false,
    sleep: sleepPolicy(request, 'full'),
    lastActivity: NOW - 60_000,
    ...over,
  });

describe('a session on demand', () => {
  it('stays up until it was silent for its time', () => {
    const record = aRunningRecord('a', { last_woke_at: rfc3339(NOW - 900_000) });
    expect(decide({ record, lastActivity: NOW - 299_000 })).toEqual({
      wake: true,
      reason: 'on-demand:running',
    });
    expect(decide({ record, lastActivity: NOW - 300_000 })).toEqual({ wake: false, reason: 'idle-sleep' });
    for (const stays of [{ attached: true }, { pending: true }, { demanded: true }, { needed: true }])
      expect(decide({ record, lastActivity: NOW - 900_000, ...stays }).wake).toBe(true);
  });

  it('REC-05 is not judged by what was shown before it woke', () => {
    const record = aRunningRecord('a', { last_woke_at: rfc3339(NOW - 10_000) });
    expect(decide({ record, lastActivity: NOW - 9_000_000 }).wake).toBe(true);
  });

  it('stays up where its silence cannot be told, or where it is to stay', () => {
    const record = aRunningRecord('a', { last_woke_at: rfc3339(NOW - 900_000) });
    expect(decide({ record, lastActivity: undefined }).wake).toBe(true);
    const off = sleepPolicy({ ...request, value: 'off' }, 'full');
    expect(decide({ record, sleep: off, lastActivity: 0 }).wake).toBe(true);
  });

  it('is woken by work, also when it had said that it is done', () => {
    const drained = aRunningRecord('a', { state: 'drained', last_woke_at: '' });
    expect(decide({ record: drained, running: false, demanded: true })).toEqual({
      wake: true,
      reason: 'work',
    });
    expect(decide({ record: drained, running: false })).toEqual({ wake: false, reason: 'drained' });
  });
});

describe('a slot of a pool', () => {
  it('is up for demand alone, not for its template being needed', () => {
    expect(decide({ desired: slot, demanded: true })).toEqual({ wake: true, reason: 'scaled:demand' });
    expect(decide({ desired: slot, needed: true })).toEqual({ wake: false, reason: 'no-wake-reason' });
  });

  it('does not come up again after it said that it is done', () => {
    const record = aRunningRecord('a', { state: 'drained', last_woke_at: '' });
    expect(decide({ desired: slot, record, running: false, demanded: true })).toEqual({
      wake: false,
      reason: 'drained',
    });
  });
});
