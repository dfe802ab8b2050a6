import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CitySlot,
  failuresAfter,
  initBackoffMs,
  planSupervisorPass,
  type SupervisorView,
} from './supervisor-plan.ts';

const paths = ['/a', '/b', '/c'] as const;
const name = fc.constantFrom('one', 'two');
const slot: fc.Arbitrary<CitySlot> = fc.oneof(
  fc.record({ kind: fc.constant('starting' as const), name, failures: fc.nat(5) }),
  fc.record({ kind: fc.constant('running' as const), name, failures: fc.nat(5), since: fc.nat(1_000) }),
  fc.record({ kind: fc.constant('stopping' as const), name }),
  fc.record({
    kind: fc.constant('failed' as const),
    name,
    error: fc.constant('x'),
    failures: fc.integer({ min: 1, max: 5 }),
    retryAt: fc.nat(1_000),
    fileStamp: fc.option(fc.constantFrom('v1', 'v2'), { nil: undefined }),
  }),
);
const view: fc.Arbitrary<SupervisorView> = fc
  .record({
    registered: fc.uniqueArray(fc.record({ path: fc.constantFrom(...paths), name }), {
      selector: (city) => city.path,
    }),
    slots: fc.dictionary(fc.constantFrom(...paths), slot).map((slots) => new Map(Object.entries(slots))),
    now: fc.nat(1_000),
  })
  .map((fields) => ({ ...fields, fileStamp: () => 'v2' }));

describe('one pass of the supervisor', () => {
  it('does at most one thing with a city, and only what fits its state', () => {
    fc.assert(
      fc.property(view, (seen) => {
        const steps = planSupervisorPass(seen);
        const touched = steps.map((step) => (step.kind === 'start' ? step.city.path : step.path));
        expect(new Set(touched).size).toBe(touched.length);
        for (const step of steps) {
          const kind = seen.slots.get(step.kind === 'start' ? step.city.path : step.path)?.kind;
          if (step.kind === 'start') expect([undefined, 'failed']).toContain(kind);
          if (step.kind === 'stop') expect(['starting', 'running']).toContain(kind);
          if (step.kind === 'forget') expect(kind).toBe('failed');
        }
      }),
    );
  });

  it('starts what is registered and unknown, stops or forgets what is known and not registered', () => {
    fc.assert(
      fc.property(view, (seen) => {
        const steps = planSupervisorPass(seen);
        const wanted = new Set(seen.registered.map((city) => city.path));
        for (const city of seen.registered) {
          const started = steps.some((step) => step.kind === 'start' && step.city.path === city.path);
          if (!seen.slots.has(city.path)) expect(started).toBe(true);
        }
        for (const [path, state] of seen.slots) {
          const ended = steps.some((step) => step.kind !== 'start' && step.path === path);
          if (!wanted.has(path)) expect(ended).toBe(state.kind !== 'stopping');
        }
      }),
    );
  });

  it('leaves a failed city alone until its time, an edit or a new name', () => {
    const failed = (over: Partial<CitySlot & { kind: 'failed' }>): ReadonlyMap<string, CitySlot> =>
      new Map([
        [
          '/a',
          { kind: 'failed', name: 'a', error: 'x', failures: 2, retryAt: 500, fileStamp: 'v1', ...over },
        ],
      ]);
    const plan = (slots: ReadonlyMap<string, CitySlot>, now: number, stamp = 'v1') =>
      planSupervisorPass({ registered: [{ path: '/a', name: 'a' }], slots, now, fileStamp: () => stamp });
    const again = [{ kind: 'start', city: { path: '/a', name: 'a' }, failures: 2 }];
    expect(plan(failed({}), 499)).toEqual([]);
    expect(plan(failed({}), 500)).toEqual(again);
    expect(plan(failed({}), 0, 'v2')).toEqual(again);
    expect(plan(failed({ fileStamp: undefined }), 0, 'v2')).toEqual([]);
    expect(plan(failed({ name: 'old' }), 0)).toEqual(again);
  });

  it('stops a renamed city; the pass after its end starts it again', () => {
    const slots = new Map<string, CitySlot>([
      ['/a', { kind: 'running', name: 'old', failures: 0, since: 0 }],
    ]);
    const at = (known: ReadonlyMap<string, CitySlot>) =>
      planSupervisorPass({
        registered: [{ path: '/a', name: 'new' }],
        slots: known,
        now: 0,
        fileStamp: () => '',
      });
    expect(at(slots)).toEqual([{ kind: 'stop', path: '/a', why: 'renamed' }]);
    expect(at(new Map([['/a', { kind: 'stopping', name: 'old' }]]))).toEqual([]);
    expect(at(new Map())).toEqual([{ kind: 'start', city: { path: '/a', name: 'new' }, failures: 0 }]);
  });
});

describe('the wait after failures', () => {
  it('is 10 s, 20 s, 40 s ... and at most 5 min', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 1_000].map(initBackoffMs)).toEqual(
      [10, 20, 40, 80, 160, 300, 300, 300].map((seconds) => seconds * 1_000),
    );
  });

  it('starts anew after a long life', () => {
    const running = { kind: 'running', name: 'a', failures: 4, since: 0 } as const;
    expect(failuresAfter(running, 1_000)).toBe(5);
    expect(failuresAfter(running, 301_000)).toBe(1);
    expect(failuresAfter({ kind: 'starting', name: 'a', failures: 4 }, 301_000)).toBe(5);
    expect(failuresAfter(undefined, 0)).toBe(1);
  });
});
