import { afterEach, describe, expect, it } from 'vitest';
import { rfc3339 } from '../platform/clock.ts';
import type { Observation } from '../runtime/provider.ts';
import { IDLE_GRACE_MS } from './idle-timeout.ts';
import type { ResolvedDesired } from './model.ts';
import type { PlanInput } from './plan.ts';
import { plan } from './reconciler.ts';
import { CityHarness, type HarnessOptions } from './testing/city-harness.ts';
import {
  aDesired,
  aPlanInput,
  aRunningObservation,
  aRunningRecord,
  NOW,
  seen,
} from './testing/plan.fixtures.ts';

/** Running for a minute, silent for 30 s. */
interface Scene {
  readonly desired?: Partial<ResolvedDesired>;
  readonly record?: Readonly<Record<string, string>>;
  readonly seen?: Partial<Observation>;
  readonly over?: Partial<PlanInput>;
}
const planned = (scene: Scene = {}) =>
  plan(
    aPlanInput({
      desired: [aDesired('a', { kind: 'manual', mode: '', idleTimeoutMs: 20_000, ...scene.desired })],
      records: [aRunningRecord('a', { session_origin: 'manual', ...scene.record })],
      survey: seen(aRunningObservation('a', scene.seen)),
      ...(scene.over ? { over: scene.over } : {}),
    }),
  );

describe('plan: silence', () => {
  it('ends who was silent for too long, and says for how long', () => {
    const { actions, decisions } = planned();
    expect(actions).toMatchObject([{ kind: 'stop', reason: 'idle-timeout' }]);
    expect(decisions).toMatchObject([
      { what: 'stop', inputs: { because: 'silent for 30s, its idle_timeout is 20s' } },
    ]);
  });

  const kept: readonly (readonly [name: string, scene: Scene, next: number | undefined])[] = [
    [
      'who spoke within the time, and looks again when it is over',
      { seen: { lastActivity: NOW - 5_000 } },
      NOW + 15_000,
    ],
    ['who has no limit', { desired: { idleTimeoutMs: undefined } }, undefined],
    ['whose activity cannot be told', { seen: { lastActivity: undefined } }, undefined],
    ['who cannot be looked at', { seen: { liveness: { kind: 'unknown', reason: 'no answer' } } }, undefined],
    ['who is shown to a person', { seen: { attached: 1 } }, undefined],
    ['who waits for a person', { over: { pending: new Set(['a']) } }, undefined],
    [
      'whose start is still under way',
      { record: { state: 'creating' }, over: { canContinueStart: true } },
      undefined,
    ],
    ['whom this controller has not seen yet', { over: { watchingSince: undefined } }, undefined],
    [
      'who said nothing while nobody watched',
      { over: { watchingSince: NOW - 4_000 }, seen: { lastActivity: 0 } },
      NOW + 16_000,
    ],
    [
      'REC-05 of whom only the last life was silent',
      { record: { last_woke_at: rfc3339(NOW - 12_000) }, seen: { lastActivity: NOW - 9_000_000 } },
      NOW + 8_000,
    ],
    [
      'REC-05 who has just come up, however short the limit is',
      {
        desired: { idleTimeoutMs: 1_000 },
        record: { last_woke_at: rfc3339(NOW - 60_000), creation_complete_at: rfc3339(NOW - 2_000) },
        seen: { lastActivity: NOW - 9_000_000 },
      },
      NOW - 2_000 + IDLE_GRACE_MS,
    ],
  ];
  it.each(kept)('keeps %s', (_, scene, next) => {
    const result = planned(scene);
    expect(result.actions.filter((action) => action.kind === 'stop')).toEqual([]);
    expect(result.changes).toEqual([]);
    expect(result.nextWall).toBe(next);
  });
});

let harness: CityHarness;
const city = async (lines: readonly string[], options: HarnessOptions = {}) => {
  harness = new CityHarness(['workspace: { name: test }', ...lines, ''].join('\n'), options);
  harness.provider.scripts.fallback = { delayMs: 500 };
  await harness.up();
  return harness;
};
afterEach(() => harness?.end());

const HELPER = ['agents:', '  - { name: helper, start_command: run-helper, idle_timeout: 30s }'];
const helper = async (lines = HELPER) => {
  const h = await city(lines);
  await h.settled(h.api.newSession({ template: 'helper', alias: 'one' }));
  await h.running(1);
  const [record] = await h.records();
  return { h, name: record?.sessionName ?? '' };
};
const chats = async (h: CityHarness, name: string, seconds: number) => {
  for (let i = 0; i < seconds; i += 10) {
    h.provider.touch(name);
    await h.pass(10_000);
  }
};

describe('an agent with idle_timeout', () => {
  it('is started again when it is silent, without a strike, with its record and conversation', async () => {
    const preset = ['providers:', '  demo: { command: sh, session_id_flag: --id, resume_flag: --resume }'];
    const { h, name } = await helper([
      ...preset,
      'agents:',
      '  - { name: helper, provider: demo, idle_timeout: 30s }',
    ]);
    const [before] = await h.records();
    await chats(h, name, 120);
    expect(h.starts(name)).toBe(1);
    await h.until(() => h.starts(name) === 2, 35_000);
    await h.running(1);
    expect(await h.records()).toMatchObject([
      { id: before?.id, sessionKey: before?.sessionKey, sleepReason: '' },
    ]);
    expect(h.provider.log.lastStartConfig(name)?.command).toContain(`--resume ${before?.sessionKey}`);
    expect(await h.eventTypes()).not.toContain('session.crashed');
    expect(await h.city.db.events.list({ type: 'session.idle_killed' })).toMatchObject([
      {
        subject: 'one',
        message: expect.stringMatching(/^idle-timeout: silent for 3\ds, its idle_timeout is 30s$/),
      },
    ]);
    const { decisions } = await h.api.explain('one');
    expect(decisions.map((d) => `${d.what}: ${d.why.split(':')[0]}`)).toEqual(
      expect.arrayContaining(['stop: idle-timeout', 'ended: idle-timeout', 'start: manual']),
    );
    expect(await h.api.session('one')).toMatchObject({ restarts: 1 });
    expect((await h.api.session('one')).next_try_at).toBeUndefined();
  });

  it('begins anew where its wake mode says so', async () => {
    const { h, name } = await helper([
      'providers:',
      '  demo: { command: sh, session_id_flag: --id, resume_flag: --resume }',
      'agents:',
      '  - { name: helper, provider: demo, idle_timeout: 30s, wake_mode: fresh }',
    ]);
    const [before] = await h.records();
    await h.until(() => h.starts(name) === 2, 60_000);
    await h.running(1);
    const [after] = await h.records();
    expect(after?.continuationEpoch).toBe((before?.continuationEpoch ?? 0) + 1);
    expect(h.provider.log.lastStartConfig(name)?.command).not.toContain('--resume');
  });

  it('REC-05 is not judged by what the last life left behind', async () => {
    const { h, name } = await helper();
    const start = h.provider.start.bind(h.provider);
    h.provider.start = async (started, config, options) => {
      const result = await start(started, config, options);
      h.provider.activity.set(started, h.clock.now() - 3_600_000);
      return result;
    };
    await h.settled(h.api.kill('one'));
    await h.until(() => h.starts(name) === 2);
    await h.running(1);
    await h.pass(25_000);
    expect(h.starts(name)).toBe(2);
    expect(await h.eventTypes()).not.toContain('session.idle_killed');
  });

  it('waits as long as a person is attached or asked', async () => {
    const { h, name } = await helper();
    h.provider.setAttached(name, 1);
    await h.pass(120_000);
    h.provider.setAttached(name, 0);
    h.provider.pendingInteractions.set(name, { request_id: '1', kind: 'approval', prompt: 'delete it?' });
    await h.pass(120_000);
    expect(h.starts(name)).toBe(1);
    const kept = (await h.api.explain('one')).decisions.filter((d) => d.what === 'keep');
    expect(kept).toMatchObject([{ why: 'it waits for a person', inputs: { asks: 'delete it?' } }]);
    h.provider.pendingInteractions.delete(name);
    h.provider.touch(name);
    await h.until(() => h.starts(name) === 2, 60_000);
  });

  it('is not judged by time in which everything stood still', async () => {
    const { h, name } = await helper();
    await h.pass(5_000);
    h.freeze(3_600_000);
    await h.pass(20_000);
    expect(h.starts(name)).toBe(1);
    await h.until(() => h.starts(name) === 2, 20_000);
  });

  it('is left alone where it is always to be up', async () => {
    const h = await city([...HELPER, 'named_sessions:', '  - { template: helper, mode: always }']);
    await h.running(1);
    await h.pass(300_000);
    expect(h.starts()).toBe(1);
  });

  it('sleeps when it is up on demand and nothing asks for it any more', async () => {
    const h = await city([
      'agents:',
      '  - { name: helper, start_command: run-helper, idle_timeout: 30s, sleep_after_idle: "off" }',
      'named_sessions:',
      '  - { template: helper, mode: on_demand }',
    ]);
    await h.settled(h.api.wake('helper'));
    await h.running(1);
    await h.until(async () => (await h.api.session('helper')).condition === 'asleep', 60_000);
    expect(await h.api.session('helper')).toMatchObject({ sleep_reason: 'idle-timeout' });
    await h.city.db.beads.create({ title: 'merge', assignee: 'helper' });
    h.runtime.poke();
    await h.until(() => h.starts('helper') === 2);
  });
});

describe('a pool with idle_timeout', () => {
  const POOL = [
    'agents:',
    '  - { name: polecat, start_command: run-polecat, max_active_sessions: 3, idle_timeout: 30s }',
  ];

  it('starts a silent worker again with the work in its hands', async () => {
    const h = await city(POOL);
    const bead = await h.city.db.beads.create({ title: 'work', metadata: { 'gc.routed_to': 'polecat' } });
    h.runtime.poke();
    await h.running(1);
    const [before] = await h.records();
    await h.city.db.beads.claim(bead.id, 'polecat-1');
    h.runtime.poke();
    await h.until(() => h.starts('polecat-1') === 2, 60_000);
    await h.running(1);
    expect(await h.records()).toMatchObject([{ id: before?.id }]);
    expect((await h.city.db.beads.get(bead.id)).assignee).toBe('polecat-1');
  });

  it('ends those that nothing asks for, for good', async () => {
    const h = await city(POOL);
    const bead = await h.city.db.beads.create({ title: 'work', metadata: { 'gc.routed_to': 'polecat' } });
    h.runtime.poke();
    await h.running(1);
    h.provider.waitForIdleErrors.set('polecat-1', undefined);
    await h.city.db.beads.close(bead.id);
    h.runtime.poke();
    await h.until(async () => (await h.records()).length === 0, 60_000);
    await h.pass(120_000);
    expect(h.starts()).toBe(1);
  });
});
