import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { automaticSessionName, countOf, withHistory } from './record-codec.ts';
import { record } from './testing/records.ts';

describe('a session record', () => {
  it('can be read whatever stands in the metadata', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom('generation', 'held_until', 'session_origin', 'wait_hold', 'x'),
          fc.string(),
        ),
        (metadata) => {
          const read = record(metadata);
          expect(read.generation).toBeGreaterThanOrEqual(0);
          expect(['', 'manual', 'ephemeral', 'named']).toContain(read.origin);
          expect(read.heldUntil === undefined || Number.isFinite(read.heldUntil)).toBe(true);
        },
      ),
    );
  });

  it('reads older spellings', () => {
    expect(record({ manual_session: 'true' }).origin).toBe('manual');
    expect(record({ common_name: 'c' }).agentName).toBe('c');
    expect(record({ agent_name: 'a', common_name: 'c' }).agentName).toBe('a');
  });

  it('counts and times', () => {
    expect([countOf('3'), countOf(''), countOf('-1'), countOf('x'), countOf(undefined)]).toEqual([
      3, 0, 0, 0, 0,
    ]);
    expect(record({ last_woke_at: '2026-01-01T00:00:00Z' }).lastWokeAt).toBe(Date.UTC(2026, 0, 1));
    expect(record({ last_woke_at: 'soon' }).lastWokeAt).toBeUndefined();
  });
});

describe('names and histories', () => {
  it('makes automatic names that a runtime can use', () => {
    expect(automaticSessionName('gc-12')).toBe('s-gc-12');
    expect(automaticSessionName('rig/7')).toBe('s-rig--7');
  });

  it('keeps histories newest first, once each, without the current one', () => {
    expect(withHistory('', 'a', 'b')).toBe('a');
    expect(withHistory('a,c', 'b', 'a')).toBe('b,c');
    expect(withHistory('a, b', 'b', 'x')).toBe('b,a');
    expect(withHistory('', '', 'x')).toBe('');
  });
});
