import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { newWaitBead, toWait } from './wait-codec.ts';
import { waitCycle } from './wait-cycle.ts';
import {
  evaluateWaits,
  type NudgeFate,
  staleWaitNudge,
  stepOf,
  type Wait,
  type WaitWorld,
  waitKind,
  waitNudgeId,
  waitText,
} from './waits.ts';

const NOW = 1_000_000;

function aWait(over: Partial<Wait> = {}): Wait {
  return {
    id: 'gc-9',
    revision: 1,
    sessionId: 'gc-1',
    sessionName: 'mayor',
    state: 'pending',
    note: 'go on',
    beads: ['p-1'],
    sessions: [],
    until: undefined,
    untilMoves: false,
    mode: 'all',
    sleeps: false,
    epoch: '1',
    attempt: 1,
    createdBy: '',
    createdAt: NOW - 1_000,
    expiresAt: undefined,
    nudgeId: '',
    lastError: '',
    retriedFrom: '',
    ...over,
  };
}

interface Facts {
  readonly now?: number;
  readonly beads?: Readonly<Record<string, ReturnType<WaitWorld['bead']>>>;
  readonly rests?: Readonly<Record<string, ReturnType<WaitWorld['rest']>>>;
  readonly session?: ReturnType<WaitWorld['session']>;
  readonly fate?: NudgeFate;
}

function aWorld(facts: Facts = {}): WaitWorld {
  return {
    now: facts.now ?? NOW,
    bead: (id) => facts.beads?.[id] ?? 'open',
    rest: (id) => facts.rests?.[id] ?? 'working',
    session: () => ('session' in facts ? facts.session : { epoch: 1, isUp: true }),
    nudge: () => facts.fate ?? { kind: 'under way' },
  };
}

const steps = (wait: Partial<Wait>, facts?: Facts) => stepOf(aWait(wait), aWorld(facts));

describe('a pending wait', () => {
  const two = { beads: ['p-1', 'p-2'] };

  it('is ready when all, or any, of what it names has come', () => {
    expect(steps(two, { beads: { 'p-1': 'closed' } }).kind).toBe('stay');
    expect(steps(two, { beads: { 'p-1': 'closed', 'p-2': 'closed' } })).toEqual({
      kind: 'ready',
      why: 'bead p-1 is closed, bead p-2 is closed',
    });
    expect(steps({ ...two, mode: 'any' }, { beads: { 'p-2': 'closed' } })).toMatchObject({ kind: 'ready' });
    expect(steps({ beads: [], until: NOW }).kind).toBe('ready');
    expect(steps({ beads: [], until: NOW + 1 }).kind).toBe('stay');
    expect(steps({ beads: [], sessions: ['gc-2'] }, { rests: { 'gc-2': 'resting' } }).kind).toBe('ready');
    expect(steps({ sessions: ['gc-2'], until: NOW }, { beads: { 'p-1': 'closed' } }).kind).toBe('stay');
  });

  it('fails when it can never be: one of all is gone, or all of any', () => {
    expect(steps(two, { beads: { 'p-1': 'missing' } })).toMatchObject({
      kind: 'end',
      state: 'failed',
      tells: true,
    });
    const any = { ...two, mode: 'any' } as const;
    expect(steps(any, { beads: { 'p-1': 'missing' } }).kind).toBe('stay');
    expect(steps(any, { beads: { 'p-1': 'missing', 'p-2': 'missing' } })).toMatchObject({ state: 'failed' });
    expect(steps({ ...any, until: NOW + 1 }, { beads: { 'p-1': 'missing', 'p-2': 'missing' } }).kind).toBe(
      'stay',
    );
  });

  it('concludes nothing from what could not be told', () => {
    expect(steps(two, { beads: { 'p-1': 'unknown', 'p-2': 'closed' } }).kind).toBe('stay');
    expect(steps({ sessions: ['gc-2'], beads: [] }, { rests: { 'gc-2': 'unknown' } }).kind).toBe('stay');
  });

  it('expires, unless what it waits for has come by then', () => {
    expect(steps({ expiresAt: NOW + 1 }).kind).toBe('stay');
    expect(steps({ expiresAt: NOW })).toMatchObject({ kind: 'end', state: 'expired', tells: true });
    expect(steps({ expiresAt: NOW - 1 }, { beads: { 'p-1': 'closed' } }).kind).toBe('ready');
  });

  it('belongs to one conversation of one session', () => {
    expect(steps({}, { session: undefined })).toMatchObject({ state: 'canceled', tells: false });
    expect(steps({}, { session: { epoch: 2, isUp: true } })).toMatchObject({
      state: 'canceled',
      why: 'continuation-stale',
    });
    expect(steps({ epoch: '' }, { session: { epoch: 7, isUp: true } }).kind).toBe('stay');
  });
});

describe('a wait that is over and not told yet', () => {
  const ready = { state: 'ready' } as const;

  it('is told when its session is up, once', () => {
    expect(steps(ready, { session: { epoch: 1, isUp: false } }).kind).toBe('stay');
    expect(steps(ready).kind).toBe('tell');
    expect(steps({ ...ready, nudgeId: 'wait-gc-9-1-1' }).kind).toBe('stay');
  });

  it('ends as its message does', () => {
    const told = { ...ready, nudgeId: 'wait-gc-9-1-1' };
    expect(steps(told, { fate: { kind: 'accepted' } })).toMatchObject({ state: 'closed', why: '' });
    expect(steps(told, { fate: { kind: 'forgotten' } })).toMatchObject({ state: 'closed' });
    expect(steps(told, { fate: { kind: 'lost', why: 'expired' } })).toMatchObject({
      state: 'failed',
      why: 'expired',
    });
  });

  it('does not expire', () => {
    expect(steps({ ...ready, expiresAt: NOW - 1 }, { session: { epoch: 1, isUp: false } }).kind).toBe('stay');
  });
});

it('all together say who is to be up, and when to look again', () => {
  const plan = evaluateWaits(
    [
      aWait({ id: 'a', expiresAt: NOW + 500 }),
      aWait({ id: 'b', beads: [], until: NOW + 200 }),
      aWait({ id: 'c', sessionId: 'gc-2', state: 'ready', nudgeId: 'n' }),
      aWait({ id: 'd', sessionId: 'gc-3', beads: ['p-2'], expiresAt: NOW + 100 }),
      aWait({ id: 'e', sessionId: 'gc-4', state: 'closed' }),
    ],
    aWorld({ beads: { 'p-2': 'closed' } }),
  );
  expect(plan.steps.map(({ wait, step }) => [wait.id, step.kind])).toEqual([['d', 'ready']]);
  expect([...plan.ready]).toEqual(['gc-2', 'gc-3']);
  expect(plan.nextAt).toBe(NOW + 200);
});

const anId = fc.integer({ min: 1, max: 5 }).map((n) => `gc-${n}`);
const aState = fc.constantFrom('open', 'closed', 'missing', 'unknown' as const);
const anyWait = fc
  .record({
    beads: fc.uniqueArray(anId, { maxLength: 3 }),
    sessions: fc.uniqueArray(anId, { maxLength: 3 }),
    until: fc.option(fc.integer({ min: NOW - 100, max: NOW + 100 }), { nil: undefined }),
    expiresAt: fc.option(fc.integer({ min: NOW - 100, max: NOW + 100 }), { nil: undefined }),
    mode: fc.constantFrom('all', 'any' as const),
    state: fc.constantFrom('pending', 'ready' as const),
    nudgeId: fc.constantFrom('', 'wait-gc-9-1-1'),
    epoch: fc.constantFrom('', '1', '2'),
  })
  .map(aWait);

it('never concludes more from knowing less', () => {
  fc.assert(
    fc.property(anyWait, fc.dictionary(anId, aState), (wait, beads) => {
      const known = stepOf(wait, aWorld({ beads }));
      const blind = stepOf(wait, { ...aWorld(), bead: () => 'unknown', rest: () => 'unknown' });
      if (blind.kind === 'ready') expect(known.kind).toBe('ready');
      if (
        wait.mode === 'all' &&
        wait.beads.some((id) => beads[id] === 'unknown' || beads[id] === undefined)
      ) {
        expect(known.kind === 'ready' && wait.state === 'pending').toBe(false);
      }
    }),
  );
});

it('is looked at again no later than time alone changes it', () => {
  fc.assert(
    fc.property(anyWait, fc.dictionary(anId, aState), (wait, beads) => {
      const { steps: now, nextAt } = evaluateWaits([wait], aWorld({ beads }));
      if (now.length > 0) return;
      for (let at = NOW; at < Math.min(nextAt ?? NOW + 200, NOW + 200); at += 7) {
        expect(stepOf(wait, aWorld({ beads, now: at })).kind).toBe('stay');
      }
    }),
  );
});

it('is the same after it was written and read', () => {
  fc.assert(
    fc.property(anyWait, (wait) => {
      const { nudgeId: _, ...draft } = { ...wait, nudgeId: '' };
      const bead = newWaitBead(draft, 'Mayor');
      const read = toWait({
        ...bead,
        id: wait.id,
        revision: 1,
        status: 'open',
        issue_type: 'gate',
        created_at: '1970-01-01T00:16:39Z',
        description: wait.note,
        labels: [],
        metadata: bead.metadata ?? {},
        dependencies: [],
        priority: undefined,
        assignee: '',
        from: '',
        parent: '',
        ref: '',
      });
      expect(read).toEqual({ ...wait, nudgeId: '' });
    }),
  );
});

describe('waits for each other', () => {
  const on = (sessionId: string, over: Partial<Wait>): Wait =>
    aWait({ id: `w-${sessionId}`, sessionId, beads: [], ...over });

  it('are found with the way round', () => {
    const live = [on('b', { sessions: ['c'] }), on('c', { sessions: ['a'] }), on('x', { sessions: ['a'] })];
    expect(waitCycle(on('a', { sessions: ['b'] }), live)).toEqual(['a', 'b', 'c', 'a']);
    expect(waitCycle(on('a', { sessions: ['a'] }), [])).toEqual(['a', 'a']);
  });

  it('over the beads of sessions and of waits, too', () => {
    const live = [on('b', { sessions: ['a'] })];
    expect(waitCycle(on('a', { beads: ['w-b'] }), live)).toEqual(['a', 'b', 'a']);
    expect(waitCycle(on('a', { beads: ['b'] }), live)).toEqual(['a', 'b', 'a']);
  });

  it('are none where one of them can come to its end', () => {
    const live = [on('b', { sessions: ['a'], mode: 'any', beads: ['p-1'] })];
    expect(waitCycle(on('a', { sessions: ['b'] }), live)).toBeUndefined();
    expect(
      waitCycle(on('a', { sessions: ['b'], until: NOW, mode: 'any' }), [on('b', { sessions: ['a'] })]),
    ).toBe(undefined);
    expect(waitCycle(on('a', { sessions: ['b'], until: NOW }), [on('b', { sessions: ['a'] })])).toBeDefined();
  });

  it('never come about by waits that were let in one after the other', () => {
    const some = fc.array(
      fc.record({
        sessionId: anId,
        sessions: fc.uniqueArray(anId, { minLength: 1, maxLength: 2 }),
        mode: fc.constantFrom('all', 'any' as const),
      }),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(some, (asked) => {
        const live: Wait[] = [];
        for (const [n, each] of asked.entries()) {
          const wait = aWait({ ...each, id: `w-${n}`, beads: [] });
          if (!waitCycle(wait, live)) live.push(wait);
        }
        // Whoever has no wait left comes to rest, and so on: in the end nobody waits.
        let left = live;
        for (let before = -1; before !== left.length; ) {
          before = left.length;
          const waiting = new Set(left.map(({ sessionId }) => sessionId));
          left = left.filter(({ sessions, mode }) => {
            const open = sessions.filter((id) => waiting.has(id)).length;
            return mode === 'all' ? open > 0 : open === sessions.length;
          });
        }
        expect(left).toEqual([]);
      }),
    );
  });
});

it('names its message by conversation and attempt, and knows one of another conversation', () => {
  const id = waitNudgeId(aWait({ id: 'city/gc-9', epoch: '3', attempt: 2 }));
  expect(id).toBe('wait-city-gc-9-3-2');
  expect(staleWaitNudge({ id, source: 'wait' }, 3)).toBeUndefined();
  expect(staleWaitNudge({ id, source: 'wait' }, 4)).toContain('conversation 3');
  expect(staleWaitNudge({ id: waitNudgeId(aWait({ epoch: '' })), source: 'wait' }, 4)).toBeUndefined();
  expect(staleWaitNudge({ id, source: 'session' }, 4)).toBeUndefined();
});

it('says in words what it waits for', () => {
  const text = (over: Partial<Wait>) => waitText(aWait(over), (id) => `name-of-${id}`, String);
  expect(text({})).toBe('on bead p-1');
  expect(text({ beads: ['p-1', 'p-2'] })).toBe('on beads p-1, p-2');
  expect(text({ sessions: ['gc-2'], until: 5 })).toBe('on bead p-1 and session name-of-gc-2 and until 5');
  expect(text({ beads: ['p-1', 'p-2'], mode: 'any', until: 5 })).toBe('on any of beads p-1, p-2 or until 5');
  expect(text({ beads: [], until: 5 })).toBe('until 5');
  expect(waitKind(aWait({ beads: [], until: 1 }))).toBe('time');
  expect(waitKind(aWait({ beads: [], sessions: ['a'] }))).toBe('session');
  expect(waitKind(aWait({ until: 1 }))).toBe('mixed');
});
