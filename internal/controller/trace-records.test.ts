import { describe, expect, it } from 'vitest';
import { rfc3339 } from '../platform/clock.ts';
import { plan } from './reconciler.ts';
import {
  aDesired,
  aPlanInput,
  aRecord,
  aRunningObservation,
  aRunningRecord,
  LIVED,
  NOW,
  ORDER,
  type PlanScene,
  seen,
} from './testing/plan.fixtures.ts';
import { traceRecords } from './trace-records.ts';

function traced(scene: PlanScene, level: 'baseline' | 'detail' = 'detail', template = 'mayor') {
  const input = aPlanInput(scene);
  return traceRecords(input, plan(input), 1, new Map([[template, level]]));
}

const lines = (scene: PlanScene, level: 'baseline' | 'detail' = 'detail', template = 'mayor') =>
  traced(scene, level, template).map(({ type, what, reason }) => `${type} ${what}: ${reason}`);

const asleep = aRecord('mayor', { state: 'asleep' });
const up: PlanScene = {
  desired: [aDesired('mayor')],
  records: [aRunningRecord('mayor')],
  survey: seen(aRunningObservation('mayor')),
};

describe('what a plan does', () => {
  it('is a cycle, its decisions and its actions', () => {
    expect(lines({ desired: [aDesired('mayor')], records: [asleep] }, 'baseline')).toEqual([
      'cycle cycle: acts',
      'decision start: named-always',
      'action start: named-always',
    ]);
  });

  it('is a change with what it was made from', () => {
    const [cycle, ...rest] = traced({
      desired: [aDesired('mayor')],
      records: [aRunningRecord('mayor')],
      survey: seen(
        aRunningObservation('mayor', {
          liveness: { kind: 'exited', exit: { code: 3 }, lastLines: 'one\n\ntwo\n' },
        }),
      ),
    });
    expect(cycle).toMatchObject({
      session: '',
      reason: 'records change',
      inputs: { changes: 1, running: 0 },
    });
    expect(rest).toMatchObject([
      {
        type: 'change',
        what: 'ended',
        reason: 'by-itself',
        inputs: { exit: { code: 3 }, last_lines: ['one', 'two'], generation: 1 },
      },
    ]);
  });

  it('says why a record is made, and taken away', () => {
    expect(lines({ desired: [aDesired('mayor')] })).toContain(
      'change materialize: wanted, and has no record',
    );
    expect(lines({ records: [asleep] })).toContain('change retire: orphaned');
  });

  it('tells a shared loss of each session that it hit', () => {
    const records = ['mayor', 'mayor-2'].map((name) => aRunningRecord(name, { template: 'mayor' }));
    const found = traced({ records, over: { watched: false } });
    expect(found.filter(({ what }) => what === 'lost').map(({ session }) => session)).toEqual([
      'mayor',
      'mayor-2',
    ]);
  });

  it('is told of the watched template alone', () => {
    const scene = { desired: [aDesired('mayor'), aDesired('worker')], records: [asleep, aRecord('worker')] };
    expect(new Set(traced(scene).map(({ template }) => template))).toEqual(new Set(['mayor']));
  });

  it('is a cycle alone for a template without any session, and for one that the city does not have', () => {
    expect(lines({}, 'detail', 'gone')).toEqual(['cycle cycle: nothing to do']);
  });
});

describe('why nothing is done', () => {
  const reasonOf = (scene: PlanScene) => traced(scene).find(({ type }) => type === 'session')?.reason;

  it('is told at level detail only', () => {
    expect(lines(up, 'baseline')).toEqual(['cycle cycle: nothing to do']);
    expect(lines(up)).toEqual(['cycle cycle: nothing to do', 'session nothing: up: named-always']);
  });

  it.each<[string, PlanScene, string]>([
    [
      'an operation',
      { ...up, over: { operations: new Map([['mayor', { id: 'o', kind: 'drain', creating: false }]]) } },
      'busy: drain is under way',
    ],
    [
      'a failed operation',
      { ...up, over: { retryAt: new Map([['mayor', LIVED + 500]]) } },
      'waits: its last operation failed',
    ],
    [
      'a look that was too early',
      {
        ...up,
        over: {
          effects: new Map([['mayor', ORDER + 1]]),
          lastDecisions: standing('nothing', unknownBecause),
        },
      },
      'could not tell whether it runs',
    ],
    [
      'a standing back-off',
      {
        desired: [aDesired('mayor')],
        records: [asleep],
        over: { startSlots: 0 },
      },
      'waits: no free slot for a start',
    ],
    [
      'a suspended agent',
      {
        desired: [aDesired('mayor', { suspended: true })],
        records: [asleep],
        over: { lastDecisions: standing('rest', 'suspended') },
      },
      'down: suspended',
    ],
    [
      'no record, and nobody who wants one',
      { desired: [aDesired('mayor', { mode: 'on_demand' })] },
      'no record: nothing asks for it',
    ],
    [
      'no record, and suspended',
      { desired: [aDesired('mayor', { suspended: true })] },
      'no record: suspended',
    ],
  ])('because of %s', (_, scene, reason) => {
    expect(reasonOf(scene)).toBe(reason);
  });

  it('names what a start waits for though it was noted passes ago', () => {
    const scene: PlanScene = {
      desired: [aDesired('mayor', { dependsOn: ['db'] }), aDesired('db')],
      records: [asleep, aRecord('db', { state: 'asleep' })],
      over: { lastDecisions: standing('wait', 'after db') },
    };
    expect(reasonOf(scene)).toBe('waits: after db');
  });

  it('shows what was looked at', () => {
    const held = aRecord('mayor', { state: 'asleep', quarantined_until: rfc3339(NOW + 60_000) });
    const found = traced({
      desired: [aDesired('mayor')],
      records: [held],
      over: { lastDecisions: standing('rest', 'quarantined') },
    }).find(({ type }) => type === 'session');
    expect(found?.inputs).toMatchObject({
      awake: false,
      because: 'quarantined',
      sight: 'absent',
      kind: 'named',
      mode: 'always',
      quarantined_until: new Date(NOW + 60_000).toISOString(),
      standing: 'rest: quarantined',
    });
  });
});

const unknownBecause = 'could not tell whether it runs: looked at before the last effect';

function standing(what: string, why: string): ReadonlyMap<string, string> {
  return new Map([['mayor', `${what}|${why}`]]);
}
