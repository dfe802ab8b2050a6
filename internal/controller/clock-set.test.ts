import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { rfc3339 } from '../platform/clock.ts';
import { silentFrom } from './awake-set.ts';
import { DRAIN_REASONS } from './model.ts';
import { isFinished } from './plan-dead.ts';
import { plan } from './reconciler.ts';
import { CityHarness } from './testing/city-harness.ts';
import {
  aDesired,
  aPlanInput,
  aRunningObservation,
  aRunningRecord,
  aSleepRequest,
  LIVED,
  NOW,
  seen,
} from './testing/plan.fixtures.ts';

const HOUR_MS = 3_600_000;
const sometime = fc.integer({ min: NOW - HOUR_MS, max: NOW + HOUR_MS });

describe('an answer that comes at once, whatever the clock was set to', () => {
  const answered = (over: Parameters<typeof aPlanInput>[0] = {}) =>
    plan(
      aPlanInput({
        ...over,
        over: {
          idleSince: new Map([['a', LIVED]]),
          probedAt: new Map([['a', LIVED]]),
          sleepCapabilities: new Map([['a', 'full']]),
        },
      }),
    );

  it('a drain whose session is idle asks no more', () => {
    const reasons = fc.constantFrom(...DRAIN_REASONS.filter((reason) => reason !== 'drained by a person'));
    fc.assert(
      fc.property(sometime, sometime, sometime, reasons, (lastActivity, since, woke, reason) => {
        const record = aRunningRecord('a', {
          state: 'draining',
          state_reason: reason,
          drain_at: rfc3339(since),
          last_woke_at: rfc3339(woke),
        });
        const survey = seen(aRunningObservation('a', { lastActivity }));
        const { actions, changes } = answered({ records: [record], survey });
        expect([...actions, ...changes].map(({ kind }) => kind)).toEqual(['stop']);
      }),
    );
  });

  it('a session that is to sleep is asked once', () => {
    fc.assert(
      fc.property(sometime, sometime, (lastActivity, woke) => {
        const record = aRunningRecord('a', { last_woke_at: rfc3339(woke) });
        const survey = seen(aRunningObservation('a', { lastActivity }));
        const desired = [aDesired('a', { mode: 'on_demand', sleep: aSleepRequest({ value: '1m' }) })];
        const { actions, nextWall, nextLived } = answered({ desired, records: [record], survey });
        expect(actions).toEqual([]);
        expect(nextWall ?? NOW + 1).toBeGreaterThan(NOW);
        expect(nextLived ?? LIVED + 1).toBeGreaterThan(LIVED);
      }),
    );
  });
});

it('who is up for another reason when the time to sleep is over is looked at when something happens', () => {
  fc.assert(
    fc.property(sometime, sometime, fc.constantFrom('wait', 'claim'), (lastActivity, woke, why) => {
      const claim = why === 'claim' ? { pending_create_claim: 'true' } : {};
      const looked = (notes: Readonly<Record<string, string>>) => {
        const record = aRunningRecord('a', { last_woke_at: rfc3339(woke), ...claim, ...notes });
        return plan(
          aPlanInput({
            desired: [aDesired('a', { mode: 'on_demand', sleep: aSleepRequest({ value: '1m' }) })],
            records: [record],
            survey: seen(aRunningObservation('a', { lastActivity })),
            over: {
              sleepCapabilities: new Map([['a', 'full']]),
              readyWaits: new Set(why === 'wait' ? [record.id] : []),
            },
          }),
        );
      };
      const noted = looked({}).changes.flatMap((change) =>
        change.kind === 'note-sleep' ? Object.entries(change.notes) : [],
      );
      const { changes, nextWall, nextLived } = looked({
        ...Object.fromEntries(noted),
        detached_at: rfc3339(woke),
      });
      expect(changes).toEqual([]);
      expect(nextWall ?? NOW + 1).toBeGreaterThan(NOW);
      expect(nextLived ?? LIVED + 1).toBeGreaterThan(LIVED);
    }),
  );
});

describe('silence', () => {
  it.each([
    ['from the last moment', undefined, [NOW - 5_000, NOW - 9_000, undefined], NOW - 5_000],
    ['not while the machine stood still', NOW - 2_000, [NOW - HOUR_MS], NOW - 2_000],
    ['from now where another clock is ahead', NOW - 90_000, [NOW + 3_000], NOW],
    ['from the moment the clock was set back', NOW - 9_000, [NOW + HOUR_MS], NOW - 9_000],
    ['from now where nobody saw the clock set', undefined, [NOW + HOUR_MS], NOW],
  ])('is counted %s', (_what, steadySince, moments, from) => {
    expect(silentFrom({ now: NOW, steadySince }, moments)).toBe(from);
  });
});

it('a worker that began before the clock was set back and has done its work did not crash', () => {
  const record = aRunningRecord('a', {
    pool_managed: 'true',
    session_origin: 'ephemeral',
    last_woke_at: rfc3339(NOW + HOUR_MS),
  });
  const demand = {
    wanted: new Map([['a', 'work']]),
    called: new Set<string>(),
    busy: new Set<string>(),
    opaque: new Set<string>(),
  };
  const isDone = (progressAt: ReadonlyMap<string, number>) =>
    isFinished({ now: NOW, demand: { ...demand, progressAt } }, record, { code: 0 });
  expect(isDone(new Map([['a', NOW - 1_000]]))).toBe(true);
  expect(isDone(new Map())).toBe(false);
});

describe('a city whose clock is set', () => {
  let h: CityHarness | undefined;
  afterEach(() => h?.end());

  const YAML = `workspace: { name: test }
agents:
  - { name: chat, start_command: run, idle_timeout: 10m, sleep_after_idle: "off", max_active_sessions: 1 }
  - { name: quiet, start_command: run, sleep_after_idle: 10m, attach: false, max_active_sessions: 1 }
  - { name: gone, start_command: run, drain_timeout: 5m, max_active_sessions: 1 }
named_sessions:
  - { template: chat, mode: on_demand }
  - { template: quiet, mode: on_demand }
  - { template: gone, mode: on_demand }
`;

  it.each([HOUR_MS, -HOUR_MS])('by %i ms ends nobody sooner, and goes on at the same pace', async (shift) => {
    h = new CityHarness(YAML);
    const city = h;
    await city.up();
    for (const name of ['chat', 'quiet', 'gone']) await city.settled(city.api.wake(name));
    await city.running(3);
    await city.pass(60_000);
    for (const name of ['chat', 'quiet']) city.provider.activity.set(name, city.clock.now());
    city.clock.jumpWall(shift);
    await city.pass(30_000);
    expect([...city.provider.sessions.keys()].toSorted()).toEqual(['chat', 'gone', 'quiet']);
    await city.settled(city.api.drain('gone'));
    const looks = city.provider.log.count('Observe');
    await city.pass(120_000);
    expect(city.provider.log.count('Observe') - looks).toBeLessThan(40);
    expect(city.starts('chat')).toBe(1);
    await city.until(() => !city.provider.sessions.has('gone'), 300_000);
    await city.until(() => !city.provider.sessions.has('quiet'), 900_000);
    await city.until(() => !city.provider.sessions.has('chat'), 900_000);
  });
});
