import { describe, expect, it } from 'vitest';
import { rfc3339 } from '../platform/clock.ts';
import { healState, holdForUser, preWakeCommit } from './start-transitions.ts';
import { NOW, patched, record } from './testing/records.ts';
import * as transitions from './transitions.ts';

const AT = rfc3339(NOW);
const KEY = '11111111-2222-4333-8444-555555555555';

/** Each patch with exactly its keys and values: one more or less is a change of the record's contract. */
const EXACT: readonly (readonly [string, transitions.MetadataPatch, transitions.MetadataPatch])[] = [
  [
    'request wake',
    transitions.requestWake('explicit'),
    {
      state: 'creating',
      state_reason: 'explicit',
      pending_create_claim: 'true',
      held_until: '',
      quarantined_until: '',
      sleep_reason: '',
      wait_hold: '',
      sleep_intent: '',
      wake_attempts: '0',
      churn_count: '0',
    },
  ],
  ['clear expired hold', transitions.clearExpiredHold('user-hold'), { held_until: '', sleep_reason: '' }],
  ['clear expired hold, asleep for another reason', transitions.clearExpiredHold('idle'), { held_until: '' }],
  [
    'clear expired quarantine',
    transitions.clearExpiredQuarantine('context-churn'),
    { quarantined_until: '', wake_attempts: '0', churn_count: '0', sleep_reason: '' },
  ],
  [
    'clear expired quarantine, asleep for another reason',
    transitions.clearExpiredQuarantine('idle'),
    { quarantined_until: '', wake_attempts: '0', churn_count: '0' },
  ],
  [
    'confirm started',
    transitions.confirmStarted(NOW),
    {
      state: 'active',
      state_reason: 'creation_complete',
      creation_complete_at: AT,
      pending_create_claim: '',
      sleep_reason: '',
    },
  ],
  [
    'commit started, everything',
    transitions.commitStarted(
      { coreHash: 'c', liveHash: 'l', breakdown: { command: 'ab' } },
      { confirm: true, now: NOW, clearSleepReason: true, clearPendingCreateClaim: true },
    ),
    {
      started_config_hash: 'c',
      live_hash: 'l',
      started_live_hash: 'l',
      core_hash_breakdown: '{"command":"ab"}',
      state: 'active',
      state_reason: 'creation_complete',
      creation_complete_at: AT,
      sleep_reason: '',
      pending_create_claim: '',
    },
  ],
  [
    'commit started, hashes only',
    transitions.commitStarted(
      { coreHash: 'c', liveHash: 'l' },
      { confirm: false, clearSleepReason: false, clearPendingCreateClaim: false },
    ),
    { started_config_hash: 'c', live_hash: 'l', started_live_hash: 'l' },
  ],
  [
    'begin drain',
    transitions.beginDrain('idle', NOW),
    { state: 'draining', state_reason: 'idle', drain_at: AT },
  ],
  [
    'sleep',
    transitions.sleep('idle', NOW),
    {
      state: 'asleep',
      sleep_reason: 'idle',
      slept_at: AT,
      last_woke_at: '',
      pending_create_claim: '',
      sleep_intent: '',
    },
  ],
  [
    'acknowledge drain',
    transitions.acknowledgeDrain(false),
    { state: 'drained', last_woke_at: '', pending_create_claim: '' },
  ],
  [
    'acknowledge drain, fresh',
    transitions.acknowledgeDrain(true),
    {
      state: 'drained',
      last_woke_at: '',
      pending_create_claim: '',
      session_key: '',
      started_config_hash: '',
      continuation_reset_pending: 'true',
    },
  ],
  [
    'complete drain, fresh',
    transitions.completeDrain('config-drift', true, NOW),
    {
      state: 'asleep',
      sleep_reason: 'config-drift',
      slept_at: AT,
      last_woke_at: '',
      pending_create_claim: '',
      sleep_intent: '',
      session_key: '',
      started_config_hash: '',
      continuation_reset_pending: 'true',
    },
  ],
  ['complete drain', transitions.completeDrain('idle', false, NOW), transitions.sleep('idle', NOW)],
  [
    'restart request',
    transitions.restartRequest(KEY),
    {
      restart_requested: '',
      started_config_hash: '',
      last_woke_at: '',
      pending_create_claim: '',
      continuation_reset_pending: 'true',
      session_key: KEY,
    },
  ],
  [
    'restart request of a program without keys',
    transitions.restartRequest(''),
    {
      restart_requested: '',
      started_config_hash: '',
      last_woke_at: '',
      pending_create_claim: '',
      continuation_reset_pending: 'true',
    },
  ],
  [
    'drift reset, restarting',
    transitions.configDriftReset('creating', KEY),
    {
      state: 'creating',
      started_config_hash: '',
      started_live_hash: '',
      live_hash: '',
      last_woke_at: '',
      restart_requested: '',
      continuation_reset_pending: 'true',
      pending_create_claim: 'true',
      session_key: KEY,
    },
  ],
  [
    'drift reset, asleep',
    transitions.configDriftReset('asleep', ''),
    {
      state: 'asleep',
      started_config_hash: '',
      started_live_hash: '',
      live_hash: '',
      last_woke_at: '',
      restart_requested: '',
      continuation_reset_pending: 'true',
      pending_create_claim: '',
    },
  ],
  [
    'archive',
    transitions.archive('duplicate-repair', true, NOW),
    {
      state: 'archived',
      state_reason: 'duplicate-repair',
      archived_at: AT,
      continuity_eligible: 'true',
      pending_create_claim: '',
    },
  ],
  [
    'close',
    transitions.close('orphaned', NOW),
    { state: 'orphaned', close_reason: 'orphaned', closed_at: AT, synced_at: AT },
  ],
  [
    'retire named',
    transitions.retireNamed('removed-configured-named-session', 'rig/mayor', NOW),
    {
      state: 'archived',
      state_reason: 'removed-configured-named-session',
      archived_at: AT,
      continuity_eligible: 'false',
      pending_create_claim: '',
      alias: '',
      session_name: '',
      session_name_explicit: '',
      held_until: '',
      quarantined_until: '',
      wait_hold: '',
      sleep_intent: '',
      sleep_reason: '',
      synced_at: AT,
      retired_named_identity: 'rig/mayor',
    },
  ],
  [
    'quarantine',
    transitions.quarantine(NOW + 300_000, 2),
    {
      state: 'quarantined',
      state_reason: 'crash-loop',
      quarantined_until: rfc3339(NOW + 300_000),
      quarantine_cycle: '2',
      last_woke_at: '',
    },
  ],
  [
    'reactivate',
    transitions.reactivate(true),
    {
      state: 'asleep',
      state_reason: 'reactivated',
      continuity_eligible: 'true',
      pending_create_claim: '',
      quarantined_until: '',
      archived_at: '',
      crash_count: '0',
    },
  ],
];

describe('transition patches', () => {
  for (const [name, actual, expected] of EXACT) {
    it(`${name} sets exactly its keys`, () => expect(actual).toEqual(expected));
  }

  it('clear wake blockers: every state and reason', () => {
    const always = {
      held_until: '',
      quarantined_until: '',
      wait_hold: '',
      sleep_intent: '',
      wake_attempts: '0',
      churn_count: '0',
    };
    for (const state of ['creating', 'active', 'asleep', 'suspended', 'drained', 'quarantined', '']) {
      for (const reason of [
        'user-hold',
        'wait-hold',
        'quarantine',
        'context-churn',
        'drained',
        'idle',
        'config-drift',
        '',
      ]) {
        expect(transitions.clearWakeBlockers(state, reason)).toEqual({
          ...always,
          ...(['suspended', 'drained'].includes(state) ? { state: 'asleep' } : {}),
          ...(['idle', 'config-drift', ''].includes(reason) ? {} : { sleep_reason: '' }),
        });
      }
    }
  });

  it('can be applied twice', () => {
    for (const [, patch] of EXACT) {
      const once = patched(record({ state: 'active', session_key: 'k', alias: 'a' }), patch);
      expect(patched(once, patch).metadata).toEqual(once.metadata);
    }
  });
});

describe('pre-wake commit', () => {
  it('counts the life, gives it a token, and keeps the conversation', () => {
    const before = record({
      generation: '3',
      continuation_epoch: '2',
      instance_token: 'old',
      sleep_reason: 'idle',
    });
    expect(preWakeCommit(before, 'new', NOW)).toEqual({
      generation: '4',
      instance_token: 'new',
      continuation_epoch: '2',
      continuation_reset_pending: '',
      detached_at: '',
      last_woke_at: AT,
      sleep_intent: '',
      sleep_reason: '',
    });
  });

  it('counts a new conversation when one was asked for, or when every life is a new one', () => {
    const epoch = (metadata: Record<string, string>) =>
      preWakeCommit(record({ continuation_epoch: '1', ...metadata }), 't', NOW)['continuation_epoch'];
    expect(epoch({ generation: '2', continuation_reset_pending: 'true' })).toBe('2');
    expect(epoch({ generation: '2', wake_mode: 'fresh' })).toBe('2');
    expect(epoch({ generation: '1', wake_mode: 'fresh' })).toBe('1');
    expect(epoch({ generation: '2' })).toBe('1');
  });

  it('remembers that the last sleep was an idle timeout', () => {
    expect(preWakeCommit(record({ sleep_reason: 'idle-timeout' }), 't', NOW)['sleep_reason']).toBe(
      'idle-timeout',
    );
  });
});

describe('a person’s hold', () => {
  it('lasts a hundred years', () => {
    const held = patched(record({ state: 'active' }), holdForUser(NOW));
    expect(held.state).toBe('suspended');
    expect(held.sleepIntent).toBe('user-hold');
    expect((held.heldUntil ?? 0) - NOW).toBeGreaterThan(99 * 365 * 86_400_000);
  });
});

describe('healing', () => {
  const quiet = { freshlyCreating: false, resetContinuation: false };

  it('changes nothing where the record is right', () => {
    for (const state of ['active', 'awake']) expect(healState(record({ state }), 'alive', quiet)).toEqual({});
    expect(healState(record({ state: 'asleep' }), 'gone', quiet)).toEqual({});
    expect(healState(record({ state: 'creating' }), 'gone', { ...quiet, freshlyCreating: true })).toEqual({});
  });

  it('follows what was seen', () => {
    expect(healState(record({ state: 'asleep' }), 'alive', quiet)).toEqual({ state: 'awake' });
    expect(healState(record({ state: 'active' }), 'gone', quiet)).toEqual({ state: 'asleep' });
    expect(healState(record({ state: 'creating' }), 'gone', quiet)).toEqual({ state: 'asleep' });
    expect(healState(record({ state: 'drained' }), 'gone', quiet)).toEqual({
      state: 'asleep',
      sleep_reason: 'drained',
    });
    expect(healState(record({ state: 'active', pending_create_claim: 'true' }), 'gone', quiet)).toEqual({
      state: 'creating',
    });
  });

  it('forgets the conversation only when told to', () => {
    const patch = healState(record({ state: 'active', session_key: 'k' }), 'gone', {
      ...quiet,
      resetContinuation: true,
    });
    expect(patch).toEqual({
      state: 'asleep',
      session_key: '',
      started_config_hash: '',
      continuation_reset_pending: 'true',
    });
  });
});
