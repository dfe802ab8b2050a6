import { describe, expect, it } from 'vitest';
import { displayName } from './display.ts';
import { nearestNames } from './nearest-name.ts';
import type { SessionRecord } from './record.ts';
import { type ResolveQuestion, requireResolved, resolveSession } from './resolve.ts';
import { NOW, record } from './testing/records.ts';

const mayor = record({
  configured_named_identity: 'gastown.mayor',
  alias: 'gastown.mayor',
  session_name: 'gastown__mayor',
  template: 'gastown.mayor',
});
const reviewer = record({
  configured_named_identity: 'proj/reviewer',
  session_name: 'proj--reviewer',
  template: 'proj/reviewer',
});
const worker1 = record({
  alias: 'proj/worker-1',
  session_name: 'worker-gc-3',
  template: 'proj/worker',
  agent_name: 'proj/worker-1',
});
const worker2 = record({
  alias: 'proj/worker-2',
  session_name: 'worker-gc-4',
  template: 'proj/worker',
  agent_name: 'proj/worker-2',
});
const solo = record(
  { session_name: 's-gc-5', template: 'helper', agent_name: 'helper' },
  { title: 'my helper' },
);
const closed = record({ session_name: 'old', alias: 'veteran' }, { status: 'closed' });
const everyone = [mayor, reviewer, worker1, worker2, solo, closed];

const ask = (token: string, more: Partial<ResolveQuestion> = {}): ResolveQuestion => ({
  token,
  records: everyone,
  configured: [{ identity: 'rig/captain', sessionName: 'rig--captain' }],
  closedToo: false,
  rig: '',
  ...more,
});

function found(token: string, more: Partial<ResolveQuestion> = {}): SessionRecord | string {
  const resolution = resolveSession(ask(token, more));
  if (resolution.kind === 'session') return resolution.record;
  return resolution.kind === 'reserved' ? resolution.identity : resolution.kind;
}

describe('what a name means', () => {
  it('NAM-04 every name that a listing prints is accepted', () => {
    for (const session of everyone.filter((one) => !one.closed)) {
      for (const name of [
        session.id,
        displayName(session),
        session.sessionName,
        session.alias,
        session.namedIdentity,
      ]) {
        if (name !== '') expect(found(name), name).toBe(session);
      }
    }
  });

  it('NAM-04 short names work while they mean one thing', () => {
    expect(found('mayor')).toBe(mayor);
    expect(found('reviewer')).toBe(reviewer);
    expect(found('worker-1')).toBe(worker1);
    expect(found('captain')).toBe('rig/captain');
    expect(found('helper')).toBe(solo);
    expect(found('proj/worker')).toBe('ambiguous');
    expect(found('worker')).toBe('ambiguous');
  });

  it('NAM-02 a name is never taken for the beginning of another', () => {
    expect(found('worker-gc-')).toBe('none');
    expect(found('proj/worker-')).toBe('none');
    expect(found('a', { records: [record({ session_name: 'a-2', alias: 'ab' })] })).toBe('none');
  });

  it('prefers the exact name to a short one, and the own rig to others', () => {
    const short = record({ session_name: 'reviewer', template: 'x' });
    expect(found('reviewer', { records: [...everyone, short] })).toBe(short);
    const other = record({ configured_named_identity: 'lab/reviewer', session_name: 'lab--reviewer' });
    const both = [...everyone, other];
    expect(found('reviewer', { records: both })).toBe('ambiguous');
    expect(found('reviewer', { records: both, rig: 'lab' })).toBe(other);
    expect(found('reviewer', { records: both, rig: 'proj' })).toBe(reviewer);
  });

  it('counts a session that has the name twice once', () => {
    const twice = record({ session_name: 'x', alias: 'x' });
    expect(found('x', { records: [twice] })).toBe(twice);
  });

  it('finds closed sessions where reading is all that follows, the newest first', () => {
    expect(found('old')).toBe('none');
    expect(found('old', { closedToo: true })).toBe(closed);
    expect(found('veteran', { closedToo: true })).toBe(closed);
    expect(found(closed.id)).toBe(closed);
    const newer = record({ session_name: 'old' }, { status: 'closed', createdAt: NOW });
    expect(found('old', { records: [...everyone, newer], closedToo: true })).toBe(newer);
    const live = record({ session_name: 'old' });
    expect(found('old', { records: [...everyone, live], closedToo: true })).toBe(live);
  });

  it('does not answer to the identity of a retired record', () => {
    const retired = record({
      configured_named_identity: 'proj/reviewer',
      continuity_eligible: 'false',
      state: 'archived',
    });
    expect(found('proj/reviewer', { records: [retired, reviewer] })).toBe(reviewer);
    const configured = [{ identity: 'proj/reviewer', sessionName: 'proj--reviewer' }];
    expect(found('proj/reviewer', { records: [retired], configured })).toBe('proj/reviewer');
  });

  it('names an identity that another session sits on as a question, not as either of them', () => {
    const squatter = record({ session_name: 'rig--captain', template: 'x' });
    expect(found('rig--captain', { records: [squatter] })).toBe('ambiguous');
  });

  it('never takes a template prefix, an old alias or a title for a session', () => {
    const renamed = record({ alias: 'new', alias_history: 'before', session_name: 'n' });
    for (const token of ['template:helper', 'before', 'my helper', '']) {
      expect(found(token, { records: [...everyone, renamed] })).toBe('none');
    }
  });
});

describe('errors', () => {
  const failure = (token: string, more: Partial<ResolveQuestion> = {}) => {
    try {
      requireResolved(ask(token, more));
    } catch (error) {
      return error;
    }
    return undefined;
  };

  it('offer the nearest name', () => {
    expect(failure('mayr')).toMatchObject({
      code: 'session-not-found',
      message: 'session not found: "mayr"; did you mean "gastown.mayor"?',
      next: 'gc session list',
    });
    expect(failure('zzzzzz')).toMatchObject({ message: 'session not found: "zzzzzz"' });
    expect((failure(`x${'y'.repeat(500)}`) as Error).message.length).toBeLessThan(120);
  });

  it('list what an ambiguous name can mean', () => {
    expect(failure('worker')).toMatchObject({
      code: 'ambiguous-session',
      message: `ambiguous session identifier "worker": ${worker1.id} (proj/worker-1), ${worker2.id} (proj/worker-2)`,
    });
  });

  it('are none for one meaning', () => {
    expect(requireResolved(ask('reviewer'))).toEqual({ kind: 'session', record: reviewer });
    expect(requireResolved(ask('rig/captain'))).toMatchObject({
      kind: 'reserved',
      sessionName: 'rig--captain',
    });
  });
});

describe('nearest names', () => {
  it('finds slips of the finger, best first, at most three', () => {
    expect(nearestNames('worked-1', ['worked-12', 'worker-1', 'cook'])).toEqual(['worked-12', 'worker-1']);
    expect(nearestNames('worker', ['worker-1', 'worker-2', 'worker-3', 'worker-4'])).toHaveLength(3);
    expect(nearestNames('reviewr', ['proj/reviewer'])).toEqual(['proj/reviewer']);
    expect(nearestNames('maoyr', ['mayor', 'major'])).toEqual(['mayor']);
    expect(nearestNames('MAYOR', ['mayor'])).toEqual(['mayor']);
    expect(nearestNames('x', ['completely-else'])).toEqual([]);
  });
});
