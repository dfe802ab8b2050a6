import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rfc3339 } from '../platform/clock.ts';
import type { Observation, SleepCapability, Survey } from '../runtime/provider.ts';
import type { SessionRecord } from '../session/record.ts';
import { type CityDemand, type Desired, DRAIN_REASONS, STOP_REASONS } from './model.ts';
import type { PlanInput } from './plan.ts';
import { plan } from './reconciler.ts';
import { drainOf, sightOf } from './session-facts.ts';
import {
  aDesired,
  aPlanInput,
  aRecord,
  aRunningObservation,
  aSleepRequest,
  LIVED,
  NOW,
  ORDER,
  seen,
} from './testing/plan.fixtures.ts';

const NAMES = ['a', 'b', 'c', 'd', 'e'];

const markOf = (life: string, token: string) =>
  life === '' ? '' : `1 ${life === 'this life' ? token : 'token-before'}`;

const someRecord = (name: string): fc.Arbitrary<SessionRecord> =>
  fc
    .record({
      state: fc.constantFrom(
        'creating',
        'active',
        'awake',
        'asleep',
        'draining',
        'drained',
        'suspended',
        'stopped',
        'quarantined',
        '',
      ),
      woke: fc.option(fc.integer({ min: 0, max: 600_000 })),
      claim: fc.boolean(),
      hash: fc.constantFrom('', 'core', 'older'),
      intent: fc.option(fc.constantFrom(...STOP_REASONS), { freq: 4 }),
      drain: fc.constantFrom(...DRAIN_REASONS),
      drainedFor: fc.integer({ min: 0, max: 900_000 }),
      token: fc.constantFrom(`token-${name}`, 'another'),
      restart: fc.constantFrom('', 'this life', 'an earlier life'),
      ack: fc.constantFrom('', '', 'this life', 'an earlier life'),
      drainFor: fc.constantFrom('', 'this life', 'an earlier life'),
      question: fc.constantFrom('', 'log in?'),
      pooled: fc.boolean(),
    })
    .map((r) =>
      aRecord(name, {
        state: r.state,
        last_woke_at: r.woke === null ? '' : rfc3339(NOW - r.woke),
        pending_create_claim: String(r.claim),
        started_config_hash: r.hash,
        started_live_hash: 'live',
        stop_intent: r.intent ?? '',
        state_reason: r.state === 'draining' ? r.drain : '',
        drain_at: rfc3339(NOW - r.drainedFor),
        instance_token: r.token,
        restart_requested: r.restart === '' ? '' : 'true',
        restart_for: markOf(r.restart, r.token),
        drain_ack: markOf(r.ack, r.token),
        drain_for: markOf(r.drainFor, r.token),
        waits_for: r.question,
        ...(r.pooled ? { pool_managed: 'true', session_origin: 'ephemeral' } : {}),
      }),
    );

const someObservation = (name: string): fc.Arbitrary<Observation | undefined> =>
  fc.option(
    fc
      .record({
        liveness: fc.constantFrom<Observation['liveness']>(
          { kind: 'running', pid: 1 },
          { kind: 'running', pid: 1 },
          { kind: 'exited', exit: { code: 1 }, lastLines: 'x' },
          { kind: 'unknown', reason: 'no answer' },
        ),
        attached: fc.constantFrom(undefined, 0, 1),
        lastActivity: fc.constantFrom(undefined, NOW - 60_000, NOW, NOW + 500, NOW + 3_600_000),
      })
      .map((over) => aRunningObservation(name, over)),
    { nil: undefined },
  );

const someDesired = (name: string): fc.Arbitrary<Desired | undefined> =>
  fc.option(
    fc
      .record({
        standing: fc.constantFrom(
          { kind: 'named', mode: 'always' } as const,
          { kind: 'named', mode: 'on_demand', sleep: aSleepRequest({ value: '30s' }) } as const,
          { kind: 'pool', mode: '', slot: 1 } as const,
        ),
        suspended: fc.boolean(),
        idleTimeoutMs: fc.constantFrom(undefined, 5_000, 45_000),
        dependsOn: fc.subarray(
          NAMES.filter((other) => other !== name),
          { maxLength: 2 },
        ),
        broken: fc.boolean(),
      })
      .map(({ broken, standing, ...over }): Desired => {
        const resolved = aDesired(name, { ...standing, ...over });
        if (!broken) return resolved;
        return {
          ...resolved,
          resolution: 'unresolvable',
          problem: { code: 'x', message: 'not there', next: undefined },
        };
      }),
    { nil: undefined },
  );

const someOperation = fc.option(
  fc.record({
    id: fc.constant('1'),
    kind: fc.constantFrom(
      'start' as const,
      'stop' as const,
      'drain' as const,
      'apply-live' as const,
      'continue-start' as const,
    ),
    creating: fc.boolean(),
  }),
  { freq: 3, nil: undefined },
);

const someDemand: fc.Arbitrary<CityDemand> = fc
  .record({ wanted: fc.subarray(NAMES), busy: fc.subarray(NAMES), progress: fc.subarray(NAMES) })
  .map(({ wanted, busy, progress }) => ({
    wanted: new Map([...wanted, ...busy].map((name) => [name, '1 waiting'])),
    called: new Set([...wanted.slice(0, 1), ...busy]),
    busy: new Set(busy),
    progressAt: new Map(progress.map((name) => [name, NOW - 1_000])),
    opaque: new Set(busy),
  }));

const someInput: fc.Arbitrary<PlanInput> = fc
  .record({
    sessions: fc.tuple(
      ...NAMES.map((name) =>
        fc.record({
          name: fc.constant(name),
          record: fc.option(someRecord(name), { nil: undefined }),
          observation: someObservation(name),
          desired: someDesired(name),
          operation: someOperation,
          touched: fc.boolean(),
        }),
      ),
    ),
    survey: fc.constantFrom<'seen' | 'unknown' | 'gone' | 'none'>(
      'seen',
      'seen',
      'seen',
      'unknown',
      'gone',
      'none',
    ),
    startSlots: fc.integer({ min: 1, max: 3 }),
    stopping: fc.boolean(),
    watched: fc.boolean(),
    canContinueStart: fc.boolean(),
    watchingSince: fc.constantFrom(undefined, NOW - 20_000, NOW - 600_000),
    pending: fc.subarray(NAMES).map((names) => new Set(names)),
    sleepCapabilities: fc
      .constantFrom<SleepCapability>('full', 'timed_only', 'disabled')
      .map((capability) => new Map(NAMES.map((name) => [name, capability]))),
    readyWaits: fc.subarray(NAMES).map((names) => new Set(names.map((name) => aRecord(name).id))),
    demand: someDemand,
  })
  .map(({ sessions, survey, ...over }) => {
    const observations = sessions.flatMap((s) => (s.observation ? [s.observation] : []));
    const surveys: Record<typeof survey, Survey> = {
      seen: seen(...observations),
      unknown: { kind: 'unknown', reason: 'no answer' },
      gone: { kind: 'infrastructure-gone', what: 'server gone' },
      none: seen(),
    };
    return aPlanInput({
      desired: sessions.flatMap((s) => (s.desired ? [s.desired] : [])),
      records: sessions.flatMap((s) => (s.record ? [s.record] : [])),
      survey: surveys[survey],
      over: {
        ...over,
        ...(survey === 'none' ? { survey: undefined } : {}),
        operations: new Map(sessions.flatMap((s) => (s.operation ? [[s.name, s.operation] as const] : []))),
        effects: new Map(sessions.flatMap((s) => (s.touched ? [[s.name, ORDER + 1] as const] : []))),
      },
    });
  });

const holds = (property: (input: PlanInput) => void) =>
  fc.assert(fc.property(someInput, property), { numRuns: 400 });

describe('plan, whatever the records and the runtime say', () => {
  it('acts on no session that has an operation, and at most once on any', () => {
    holds((input) => {
      const names = plan(input).actions.map((action) => action.sessionName);
      expect(new Set(names).size).toBe(names.length);
      for (const name of names) expect(input.operations.has(name)).toBe(false);
    });
  });

  it('starts only what is known to be down, and stops only what is known to be there', () => {
    holds((input) => {
      for (const action of plan(input).actions) {
        const { kind } = sightOf(input, action.sessionName);
        if (action.kind === 'start') expect(['absent', 'exited']).toContain(kind);
        else expect(['running', 'exited']).toContain(kind);
      }
    });
  });

  it('changes nothing about a session that could not be told', () => {
    holds((input) => {
      const { changes } = plan(input);
      for (const change of changes) {
        const records = 'records' in change ? change.records : 'record' in change ? [change.record] : [];
        for (const record of records) expect(sightOf(input, record.sessionName).kind).not.toBe('unknown');
      }
    });
  });

  it('gives a reason for every stop', () => {
    holds((input) => {
      const { actions, decisions } = plan(input);
      for (const action of actions) {
        if (action.kind !== 'stop') continue;
        expect(STOP_REASONS).toContain(action.reason);
        const told = decisions.some((d) => d.sessionName === action.sessionName && d.what === 'stop');
        expect(told || action.reason === 'leftover').toBe(true);
      }
    });
  });

  it('ends for its silence only who was seen silent for so long since it came up, with nobody there', () => {
    holds((input) => {
      for (const action of plan(input).actions) {
        if (action.kind !== 'stop' || action.reason !== 'idle-timeout') continue;
        const { record, sessionName } = action;
        if (record?.metadata['stop_intent']) continue;
        const sight = sightOf(input, sessionName);
        const { lastActivity, attached } = sight.kind === 'running' ? sight.observation : {};
        const limit = input.desired.get(sessionName)?.idleTimeoutMs ?? Number.POSITIVE_INFINITY;
        const facts = [lastActivity, record?.lastWokeAt ?? record?.createdAt, input.watchingSince];
        for (const since of facts.filter((at) => at === undefined || at < NOW + 60_000))
          expect(since).toBeLessThanOrEqual(NOW - limit);
        expect(attached ?? 0).toBe(0);
        expect(input.pending.has(sessionName)).toBe(false);
        expect(['creating', 'draining']).not.toContain(record?.state);
      }
    });
  });

  it('takes the word of the life that runs alone, and no drain of a person back', () => {
    holds((input) => {
      const { actions, changes } = plan(input);
      for (const { action, record } of actions.flatMap((a) =>
        a.record ? [{ action: a, record: a.record }] : [],
      )) {
        const { stop_intent: intent, drain_ack: ack, restart_for: restart } = record.metadata;
        if (action.kind !== 'stop' || intent) continue;
        const life = `1 ${record.instanceToken}`;
        if (action.reason === 'restart requested') expect(['', life]).toContain(restart);
        if (action.reason === 'drain acknowledged by agent')
          expect(ack === life || (record.restartRequested && restart === life) || restart === '').toBe(true);
        if (action.reason === 'drained by a person')
          expect(drainOf(record)?.since).toBeLessThanOrEqual(NOW - 300_000);
      }
      for (const change of changes) {
        if (change.kind !== 'cancel-drain') continue;
        expect(drainOf(change.record)?.reason).not.toBe('drained by a person');
      }
    });
  });

  it('leaves one that a person drains to its time, idle or not, and tells it once', () => {
    holds((input) => {
      const idleSince = new Map(NAMES.map((name) => [name, LIVED - 5_000]));
      const drains = (made: ReturnType<typeof plan>) =>
        made.actions.filter((a) => a.kind === 'drain' && a.reason === 'drained by a person');
      const told = new Map(
        drains(plan({ ...input, idleSince })).flatMap((a) =>
          a.kind === 'drain' ? [[a.sessionName, a.since] as const] : [],
        ),
      );
      const again = plan({ ...input, idleSince, drainTold: told });
      expect(drains(again)).toEqual([]);
      for (const [name, since] of told) {
        expect(since).toBeGreaterThan(NOW - 300_000);
        expect(again.actions.some((a) => a.sessionName === name)).toBe(false);
        expect(again.nextWall).toBeLessThanOrEqual(since + 300_000);
      }
    });
  });

  it('never has more processes in creation than slots, and none while the city goes down', () => {
    holds((input) => {
      const starts = plan(input).actions.filter((action) => action.kind === 'start').length;
      const creating = [...input.operations.values()].filter((operation) => operation.creating).length;
      expect(starts).toBeLessThanOrEqual(Math.max(0, input.startSlots - creating));
      if (input.stopping) expect(starts).toBe(0);
    });
  });

  it('gives up no pool session with work in its hands, unless a person or the agent itself says so', () => {
    holds((input) => {
      for (const change of plan(input).changes) {
        if (change.kind !== 'begin-drain' && change.kind !== 'retire' && change.kind !== 'ended') continue;
        const { record } = change;
        const desired = input.desired.get(record.sessionName);
        const isHeld = desired?.kind !== 'pool' || desired.suspended || record.state === 'suspended';
        if (isHeld || !input.demand.busy.has(record.sessionName)) continue;
        if (change.kind === 'begin-drain') expect(change.reason).toBe('held');
        if (change.kind === 'retire') expect(record.state).toBe('drained');
        if (change.kind === 'ended') expect(change.death.cause).not.toBe('finished');
      }
    });
  });

  it('gives every wanted session a record, and closes only those that nothing asks for', () => {
    holds((input) => {
      const { changes } = plan(input);
      const recorded = new Set(input.records.map((record) => record.sessionName));
      for (const desired of input.desired.values()) {
        const lives = changes.some((c) => c.kind === 'adopt' && c.sessionName === desired.sessionName);
        const isWanted =
          input.demand.wanted.has(desired.sessionName) && !desired.suspended && !input.stopping;
        if (!isWanted || lives || recorded.has(desired.sessionName)) continue;
        expect(changes.some((c) => c.kind === 'materialize' && c.desired === desired)).toBe(true);
      }
      for (const change of changes) {
        if (change.kind !== 'retire' || change.reason !== 'scaled down') continue;
        const { record } = change;
        const desired = input.desired.get(record.sessionName);
        const isOver = record.state === 'drained' || desired?.suspended === true;
        expect(isOver || !input.demand.wanted.has(record.sessionName)).toBe(true);
      }
    });
  });

  it('does not depend on the order of the records', () => {
    holds((input) => {
      const shape = (p: ReturnType<typeof plan>) =>
        [...p.changes.map((c) => c.kind), ...p.actions.map((a) => `${a.kind} ${a.sessionName}`)].toSorted();
      expect(shape(plan({ ...input, records: input.records.toReversed() }))).toEqual(shape(plan(input)));
    });
  });

  it('is the same for the same input, and touches none of it', () => {
    holds((input) => {
      const before = JSON.stringify(input.records);
      expect(plan(input)).toEqual(plan(input));
      expect(JSON.stringify(input.records)).toBe(before);
    });
  });

  it('repeats no decision that already stands', () => {
    holds((input) => {
      const first = plan(input);
      if (first.changes.length > 0 || first.actions.length > 0) return;
      const lastDecisions = new Map(first.decisions.map((d) => [d.sessionName, `${d.what}|${d.why}`]));
      expect(plan({ ...input, lastDecisions }).decisions).toEqual([]);
    });
  });

  it('asks for no look at a moment that is over', () => {
    holds((input) => {
      const { changes, nextWall, nextLived } = plan(input);
      if (changes.length > 0) return;
      expect(nextWall ?? NOW + 1).toBeGreaterThan(NOW);
      expect(nextLived ?? LIVED + 1).toBeGreaterThan(LIVED);
    });
  });

  it('asks nobody twice who answered at once, whatever the clock was set to', () => {
    const ASKS: readonly string[] = ['drain', 'probe-idle', 'continue-start'];
    const asked = (input: PlanInput) =>
      plan(input).actions.flatMap(({ kind, sessionName }) =>
        ASKS.includes(kind) ? [`${kind} ${sessionName}`] : [],
      );
    holds((input) => {
      const first = asked(input);
      const names = first.map((action) => action.split(' ')[1] ?? '');
      const answered = {
        ...input,
        idleSince: new Map(names.map((name) => [name, LIVED])),
        probedAt: new Map(names.map((name) => [name, LIVED])),
        askedAt: new Map(names.map((name) => [name, NOW])),
        drainTold: new Map(
          input.records.flatMap((record) => [[record.sessionName, drainOf(record)?.since ?? 0] as const]),
        ),
      };
      const isOpen = new Set(input.records.filter((r) => r.metadata['waits_for']).map((r) => r.sessionName));
      const again = asked(answered).filter((action) => first.includes(action));
      const fruitless = again.filter(
        (action) => !action.startsWith('continue-start') || isOpen.has(action.split(' ')[1] ?? ''),
      );
      expect(fruitless).toEqual([]);
    });
  });

  it('says when to look again for all that waits for time', () => {
    holds((input) => {
      const made = plan({ ...input, retryAt: new Map(NAMES.map((name) => [name, LIVED + 500])) });
      const waiting = input.records.some((record) => !input.operations.has(record.sessionName));
      if (waiting) expect(made.nextLived).toBe(LIVED + 500);
    });
  });
});

describe('the cost of a plan', () => {
  it('grows with the number of sessions, not faster', () => {
    const timed = (count: number) => {
      const names = Array.from({ length: count }, (_, i) => `s${i}`);
      const input = aPlanInput({
        desired: names.map((name, i) => aDesired(name, { dependsOn: i > 0 ? [names[i - 1] ?? ''] : [] })),
        records: names.map((name) => aRecord(name, { state: 'asleep' })),
        over: { startSlots: 3 },
      });
      plan(input);
      const best = Array.from({ length: 5 }, () => {
        const began = performance.now();
        plan(input);
        return performance.now() - began;
      });
      return Math.min(...best);
    };
    const small = timed(200);
    expect(timed(2_000)).toBeLessThan(Math.max(60, small * 40));
  });
});
