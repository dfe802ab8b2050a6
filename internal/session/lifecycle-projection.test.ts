import { describe, expect, it } from 'vitest';
import { rfc3339 } from '../platform/clock.ts';
import {
  CREATING_STALE_MS,
  type LifecycleInput,
  projectLifecycle,
  type RuntimeFact,
  type WakeCause,
} from './lifecycle-projection.ts';
import { NOW, record } from './testing/records.ts';

const FUTURE = rfc3339(NOW + 60_000);
const PAST = rfc3339(NOW - 60_000);

const QUIET: LifecycleInput = {
  record: undefined,
  runtime: 'gone',
  attached: false,
  pending: false,
  named: undefined,
  causes: [],
  missingConfig: false,
  duplicateCanonical: false,
  preserve: false,
  now: NOW,
  creatingStaleMs: CREATING_STALE_MS,
};

const project = (metadata: Record<string, string>, more: Partial<LifecycleInput> = {}) =>
  projectLifecycle({ ...QUIET, record: record(metadata), ...more });

const STATES = [
  'creating',
  'active',
  'awake',
  'asleep',
  'suspended',
  'draining',
  'drained',
  'archived',
  'quarantined',
  'orphaned',
  'closed',
  'closing',
  'stopped',
  '',
  'from-the-future',
] as const;

const COMPAT: Readonly<Record<(typeof STATES)[number], string>> = {
  creating: 'creating',
  active: 'active',
  awake: 'active',
  asleep: 'asleep',
  suspended: 'suspended',
  draining: 'draining',
  drained: 'asleep',
  archived: 'archived',
  quarantined: 'quarantined',
  orphaned: 'orphaned',
  closed: 'closed',
  closing: 'closing',
  stopped: 'asleep',
  '': 'asleep',
  'from-the-future': 'foreign',
};

describe('base and compat state', () => {
  it('maps every stored state', () => {
    for (const state of STATES) expect(project({ state }).compat, state).toBe(COMPAT[state]);
  });

  it('lets a closed bead win over every state', () => {
    for (const state of STATES) {
      const closed = projectLifecycle({ ...QUIET, record: record({ state }, { status: 'closed' }) });
      expect([closed.base, closed.compat, closed.terminal], state).toEqual(['closed', 'closed', true]);
    }
  });

  it('tells drained from asleep, and passes unknown states through', () => {
    expect(project({ state: 'asleep', sleep_reason: 'drained' }).base).toBe('drained');
    expect(project({ state: 'asleep', sleep_reason: 'idle' }).base).toBe('asleep');
    expect(project({ state: 'from-the-future' }).base).toBe('from-the-future');
    expect(projectLifecycle(QUIET).base).toBe('none');
  });

  it('counts what takes a place', () => {
    const counting = STATES.filter((state) => project({ state }).countsAgainstCapacity);
    expect(counting).toEqual(['creating', 'active', 'awake', 'draining', 'quarantined']);
  });
});

describe('continuity and identity', () => {
  it('is eligible unless it ended, or says otherwise', () => {
    const eligible = (state: string, stated: string) =>
      project({ state, continuity_eligible: stated }).continuityEligible;
    for (const state of STATES) {
      const ended = state === 'closed' || state === 'closing';
      expect(eligible(state, 'false'), state).toBe(false);
      expect(eligible(state, 'true'), state).toBe(!ended);
      expect(eligible(state, ''), state).toBe(!ended && state !== 'archived');
    }
    expect(projectLifecycle(QUIET).continuityEligible).toBe(false);
  });

  it('knows what it is to a configured identity', () => {
    const mayor = { identity: 'mayor', configured: true, conflict: false };
    const own = { state: 'active', configured_named_identity: 'mayor' };
    expect(project(own, { named: mayor }).identity).toBe('canonical');
    expect(project({ ...own, continuity_eligible: 'false' }, { named: mayor }).identity).toBe('historical');
    expect(projectLifecycle({ ...QUIET, named: mayor }).identity).toBe('reserved-unmaterialized');
    expect(projectLifecycle({ ...QUIET, named: { ...mayor, conflict: true } }).identity).toBe('conflict');
    expect(project({ state: 'active' }).identity).toBe('concrete');
    expect(projectLifecycle(QUIET).identity).toBe('none');
  });

  it('is released when nothing of its names is left', () => {
    const retired = { state: 'archived', continuity_eligible: 'false' };
    expect(project(retired).identityReleased).toBe(true);
    expect(project({ ...retired, alias: 'a' }).identityReleased).toBe(false);
    expect(project({ ...retired, session_name: 'a' }).identityReleased).toBe(false);
    expect(project({ ...retired, session_name_explicit: 'true' }).identityReleased).toBe(false);
    expect(project({ state: 'active' }).identityReleased).toBe(false);
  });
});

describe('wake causes', () => {
  it('adds what the record and the runtime say to what the caller knows', () => {
    const { causes } = project(
      { state: 'asleep', pending_create_claim: 'true', pin_awake: 'true' },
      { attached: true, pending: true, causes: ['work', 'pin'] },
    );
    expect([...causes].sort()).toEqual(['attached', 'pending', 'pending-create', 'pin', 'work']);
    expect(project({ state: 'asleep' }).causes).toEqual([]);
  });
});

describe('runtime', () => {
  const kind = (metadata: Record<string, string>, more: Partial<LifecycleInput> = {}) =>
    project(metadata, more).runtime.kind;

  it('says unknown for every state when nothing could be seen', () => {
    for (const state of STATES) {
      const projected = project(
        { state, session_key: 'k', started_config_hash: 'h' },
        { runtime: 'unknown' },
      );
      expect(projected.runtime, state).toEqual({ kind: 'unknown' });
      expect(projected.resetContinuation, state).toBe(false);
    }
  });

  it('says awake for every state when it lives', () => {
    for (const state of STATES) {
      expect(project({ state }, { runtime: 'alive' }).runtime, state).toEqual({
        kind: 'alive',
        state: 'awake',
      });
    }
  });

  it('says missing, start-requested, or how old a creation is', () => {
    expect(kind({ state: 'active' })).toBe('missing');
    expect(kind({ state: 'active', pending_create_claim: 'true' })).toBe('start-requested');
    expect(kind({ state: 'closing', pending_create_claim: 'true' })).toBe('missing');
    const creating = (ageMs: number, creatingStaleMs: number) =>
      projectLifecycle({
        ...QUIET,
        creatingStaleMs,
        record: record({ state: 'creating' }, { createdAt: NOW - ageMs }),
      }).runtime.kind;
    expect(creating(CREATING_STALE_MS - 1, CREATING_STALE_MS)).toBe('fresh-creating');
    expect(creating(CREATING_STALE_MS, CREATING_STALE_MS)).toBe('stale-creating');
    expect(creating(86_400_000, 0)).toBe('fresh-creating');
    const undated = record({ state: 'creating' }, { createdAt: 0 });
    expect(projectLifecycle({ ...QUIET, record: undated }).runtime.kind).toBe('stale-creating');
  });

  it('begins a new conversation only where the old one ended against our will', () => {
    const intended = [
      'idle',
      'idle-timeout',
      'no-wake-reason',
      'config-drift',
      'drained',
      'user-hold',
      'wait-hold',
    ];
    const unintended = ['', 'quarantine', 'context-churn'];
    for (const state of STATES) {
      for (const reason of [...intended, ...unintended]) {
        const { resetContinuation } = project({ state, session_key: 'k', sleep_reason: reason });
        const leaves = state === 'active' || state === 'awake' || state === 'creating';
        expect(resetContinuation, `${state} ${reason}`).toBe(leaves && unintended.includes(reason));
      }
    }
    expect(project({ state: 'active' }).resetContinuation).toBe(false);
    expect(project({ state: 'active', started_config_hash: 'h' }).resetContinuation).toBe(true);
    expect(project({ state: 'active', session_key: 'k' }, { runtime: 'alive' }).resetContinuation).toBe(
      false,
    );
  });
});

describe('blockers and what is desired', () => {
  it('finds each blocker, and none after its time', () => {
    const of = (metadata: Record<string, string>, more: Partial<LifecycleInput> = {}) =>
      project({ state: 'asleep', ...metadata }, more).blockers;
    const conflicting = { identity: 'a', configured: true, conflict: true };
    expect(of({})).toEqual([]);
    expect(of({}, { missingConfig: true })).toEqual(['missing-config']);
    expect(of({ state: 'orphaned' })).toEqual(['missing-config']);
    expect(of({}, { named: conflicting })).toEqual(['identity-conflict']);
    expect(of({}, { duplicateCanonical: true })).toEqual(['duplicate-canonical']);
    expect(of({ held_until: FUTURE })).toEqual(['held']);
    expect(of({ held_until: PAST })).toEqual([]);
    expect(of({ held_until: rfc3339(NOW) })).toEqual([]);
    expect(of({ quarantined_until: FUTURE })).toEqual(['quarantined']);
    expect(of({ quarantined_until: PAST })).toEqual([]);
    expect(of({ wait_hold: 'true' })).toEqual(['wait-hold']);
    expect(of({ wait_hold: 'true', pending_create_claim: 'true' })).toEqual([]);
  });

  it('wants it running exactly when there is a cause and no blocker, over all combinations', () => {
    const causes: readonly WakeCause[] = ['named-always', 'work', 'scale-demand', 'explicit'];
    const blocked = [{}, { held_until: FUTURE }, { quarantined_until: FUTURE }, { wait_hold: 'true' }];
    const runtimes: readonly RuntimeFact[] = ['alive', 'gone', 'unknown'];
    for (const state of STATES) {
      for (const blocker of blocked) {
        for (const cause of [undefined, ...causes]) {
          for (const runtime of runtimes) {
            for (const preserve of [true, false]) {
              const projected = project(
                { state, ...blocker },
                { runtime, preserve, causes: cause ? [cause] : [] },
              );
              const terminal = state === 'closed' || state === 'closing';
              const isBlocked = Object.keys(blocker).length > 0 || state === 'orphaned';
              const wanted = terminal
                ? 'undesired'
                : cause
                  ? isBlocked
                    ? 'blocked'
                    : 'running'
                  : preserve
                    ? 'asleep'
                    : 'undesired';
              expect(projected.desired, `${state} ${JSON.stringify(blocker)} ${cause}`).toBe(wanted);
            }
          }
        }
      }
    }
  });
});

describe('what people see', () => {
  it('gives the reason while it holds', () => {
    const reason = (metadata: Record<string, string>) =>
      project({ state: 'asleep', ...metadata }).displayReason;
    expect(reason({ sleep_reason: 'idle' })).toBe('idle');
    expect(reason({ sleep_reason: 'quarantine', quarantined_until: FUTURE })).toBe('quarantine');
    expect(reason({ sleep_reason: 'quarantine', quarantined_until: PAST })).toBe('');
    expect(reason({ sleep_reason: 'context-churn', quarantined_until: PAST })).toBe('');
    expect(reason({ sleep_reason: 'user-hold', held_until: FUTURE })).toBe('user-hold');
    expect(reason({ sleep_reason: 'user-hold' })).toBe('');
    expect(reason({ quarantined_until: FUTURE, wait_hold: 'true', held_until: FUTURE })).toBe('quarantine');
    expect(reason({ wait_hold: 'true', held_until: FUTURE })).toBe('wait-hold');
    expect(reason({ held_until: FUTURE })).toBe('user-hold');
    expect(reason({ state: 'closing', sleep_reason: 'idle' })).toBe('');
    expect(reason({ state: 'archived', sleep_reason: 'idle' })).toBe('');
    expect(reason({ state: 'archived', continuity_eligible: 'true', sleep_reason: 'idle' })).toBe('idle');
  });

  it('says which states cannot be woken', () => {
    const conflicts = STATES.map((state) => [state, project({ state }).wakeConflict]).filter(
      ([, why]) => why,
    );
    expect(conflicts).toEqual([
      ['archived', 'archived'],
      ['closed', 'closed'],
      ['closing', 'closing'],
    ]);
    expect(project({ state: 'archived', continuity_eligible: 'true' }).wakeConflict).toBe('');
  });
});
