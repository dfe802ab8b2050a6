import { describe, expect, it } from 'vitest';
import { crashPatch, readCrashState } from '../session/crash-policy.ts';
import type { SessionRecord } from '../session/record.ts';
import { endingOf, KEY_HISTORY_KEY, lostPatch } from './endings.ts';
import { STOP_REASONS } from './model.ts';
import type { Death } from './plan.ts';
import { believedRunning, stopIntent } from './session-facts.ts';
import { aRecord, aRunningRecord, NOW } from './testing/plan.fixtures.ts';

const context = { now: NOW, policy: { maxRestarts: 5, restartWindowMs: 3_600_000 }, random: () => 0.5 };

const after = (record: SessionRecord, patch: Readonly<Record<string, string>>) =>
  aRecord(record.sessionName, { ...record.metadata, ...patch });

const own = (lastLines: string, code = 1): Death => ({ cause: 'by-itself', exit: { code }, lastLines });

describe('the end of a life', () => {
  it('leaves no record that still believes in it, whatever the reason', () => {
    for (const reason of STOP_REASONS) {
      const record = aRunningRecord('a', { stop_intent: reason, session_key: 'k' });
      const { metadata, events, decisions } = endingOf(
        record,
        { cause: 'intended', reason, exit: undefined, lastLines: '' },
        context,
      );
      const ended = after(record, metadata);
      expect(believedRunning(ended), reason).toBe(false);
      expect(stopIntent(ended), reason).toBeUndefined();
      expect(events, reason).not.toEqual([]);
      expect(decisions, reason).not.toEqual([]);
    }
  });

  it('RULING: what a person or we ended is no strike, and a person’s word clears those there are', () => {
    const struck = crashPatch({
      ...readCrashState({}, NOW),
      level: 3,
      strikes: [NOW - 1],
      lastDelayMs: 4_000,
    });
    const level = (reason: 'killed by a person' | 'config-drift') => {
      const record = aRunningRecord('a', struck);
      const { metadata } = endingOf(
        record,
        { cause: 'intended', reason, exit: undefined, lastLines: '' },
        context,
      );
      return readCrashState(after(record, metadata).metadata, NOW).level;
    };
    expect(level('killed by a person')).toBe(0);
    expect(level('config-drift')).toBe(3);
  });

  it('keeps down whom a person was letting go when the city was stopped', () => {
    const record = aRunningRecord('a', { state: 'draining', state_reason: 'drained by a person' });
    const stopped: Death = { cause: 'intended', reason: 'city stopped', exit: undefined, lastLines: '' };
    expect(after(record, endingOf(record, stopped, context).metadata).state).toBe('drained');
    const idle = aRunningRecord('a', { state: 'draining', state_reason: 'no-wake-reason' });
    expect(after(idle, endingOf(idle, stopped, context).metadata).state).toBe('stopped');
  });

  it.each(['drained', 'suspended', 'asleep'])(
    'leaves %s what was down when the city was stopped',
    (state) => {
      const record = aRecord('a', { state, sleep_reason: 'user-hold', stop_intent: 'city stopped' });
      const stopped: Death = { cause: 'intended', reason: 'city stopped', exit: undefined, lastLines: '' };
      const ended = after(record, endingOf(record, stopped, context).metadata);
      expect([ended.state, ended.sleepReason, stopIntent(ended)]).toEqual([state, 'user-hold', undefined]);
    },
  );

  it('CFG-06 keeps the conversation over drift, crash and loss', () => {
    const record = aRunningRecord('a', { session_key: 'k' });
    const drift: Death = { cause: 'intended', reason: 'config-drift', exit: undefined, lastLines: '' };
    for (const patch of [
      endingOf(record, drift, context).metadata,
      endingOf(record, own('segmentation fault'), context).metadata,
      lostPatch(record, NOW),
    ]) {
      const ended = after(record, patch);
      expect(ended).toMatchObject({
        sessionKey: 'k',
        startedConfigHash: 'core',
        continuationResetPending: false,
      });
    }
  });

  it('DUR-15 drops a conversation only on its program’s own word, and keeps its key listed', () => {
    const key = '11111111-2222-4333-8444-555555555555';
    const record = aRunningRecord('a', { session_key: key });
    const { metadata } = endingOf(record, own(`No conversation found with session ID: ${key}`), context);
    const ended = after(record, metadata);
    expect(ended).toMatchObject({ sessionKey: '', startedConfigHash: '', continuationResetPending: true });
    expect(ended.metadata[KEY_HISTORY_KEY]).toBe(key);
    const other = endingOf(
      record,
      own('No conversation found with session ID: 99999999-2222-4333-8444-555555555555'),
      context,
    );
    expect(after(record, other.metadata).sessionKey).toBe(key);
  });

  it('keeps how it ended for people, the last lines bounded', () => {
    const long = Array.from({ length: 500 }, (_, i) => `line ${i} ${'x'.repeat(200)}`).join('\n');
    const { metadata, events } = endingOf(aRunningRecord('a'), own(long), context);
    const kept = JSON.parse(metadata['last_exit'] ?? '') as { code: number; last_lines: string };
    expect(kept.code).toBe(1);
    expect(kept.last_lines).toContain('line 499');
    expect(kept.last_lines.length).toBeLessThan(2_100);
    expect(events[0]?.message).toMatch(/^exit 1 after 60s|^exit 1 after 1m/);
  });

  it('brings back an on-demand session that crashed, not one that finished', () => {
    const record = aRunningRecord('a', { configured_named_mode: 'on_demand' });
    expect(after(record, endingOf(record, own('', 1), context).metadata).pendingCreateClaim).toBe(true);
    expect(after(record, endingOf(record, own('', 0), context).metadata).pendingCreateClaim).toBe(false);
  });
});
