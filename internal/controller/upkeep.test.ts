import { afterEach, describe, expect, it } from 'vitest';
import { askedFrom } from './acting.ts';
import { CityHarness, cityYaml } from './testing/city-harness.ts';

const CITY = cityYaml(['mayor'], 'daemon: { max_restarts: 0, shutdown_timeout: 1s }')
  .replace(
    'named_sessions:',
    '  - { name: helper, start_command: run-helper, max_active_sessions: 1 }\n' +
      '  - { name: worker, start_command: run-worker }\nnamed_sessions:',
  )
  .concat('  - { template: helper, mode: on_demand }\n');
const DAY_MS = 86_400_000;

let h: CityHarness;
afterEach(() => h.end());

async function up(yaml = CITY): Promise<void> {
  h = new CityHarness(yaml);
  await h.up();
  await h.running(1);
}

const recordOf = async (name: string) => (await h.records()).find((record) => record.sessionName === name);
const failure = (work: Promise<unknown>) =>
  h.settled(
    work.then(
      () => ({}),
      (error: unknown) => error,
    ),
  );

describe('a pin', () => {
  it('gives a configured name its record, without a start that would have to be confirmed', async () => {
    await up();
    expect(await recordOf('helper')).toBeUndefined();
    const asked = h.api.upkeep.pin('helper');
    const view = await h.settled(asked);
    const record = await recordOf('helper');
    expect(record).toMatchObject({ pinAwake: true, namedIdentity: 'helper', id: view.id });
    await h.running(2);
    expect((await recordOf('helper'))?.stateReason).not.toContain('by a person');
    await h.settled(h.api.upkeep.unpin('helper'));
    expect((await recordOf('helper'))?.pinAwake).toBe(false);
  });

  it('takes no hold away', async () => {
    await up();
    await h.settled(h.api.suspend('mayor'));
    await h.settled(h.api.upkeep.pin('mayor'));
    await h.pass(5_000);
    expect(await recordOf('mayor')).toMatchObject({ pinAwake: true, state: 'suspended' });
    expect(h.starts('mayor')).toBe(1);
  });

  it('is refused by what is closed, and by a name that never was', async () => {
    await up();
    const view = await h.settled(h.api.newSession({ template: 'worker' }));
    await h.until(async () => (await h.records('active')).length === 2);
    await h.settled(h.api.close(view.id));
    expect(await failure(h.api.upkeep.pin(view.id))).toMatchObject({
      code: 'session-closed',
      message: expect.stringContaining('is closed'),
    });
    expect(await failure(h.api.upkeep.unpin('helper'))).toMatchObject({ code: 'session-not-active' });
  });
});

describe('a reset', () => {
  it('ends what runs, forgets its strikes and begins anew', async () => {
    await up();
    const before = await recordOf('mayor');
    await h.settled(h.api.upkeep.reset('mayor'));
    await h.until(() => h.starts('mayor') === 2);
    await h.running(1);
    const after = await recordOf('mayor');
    expect(after).toMatchObject({
      state: 'active',
      continuationResetPending: false,
      restartRequested: false,
    });
    expect(after?.continuationEpoch).toBe((before?.continuationEpoch ?? 0) + 1);
    expect(after?.metadata['stop_intent'] ?? '').toBe('');
  });

  it('of one that is held leaves the hold; its next life begins anew', async () => {
    await up();
    await h.settled(h.api.suspend('mayor'));
    const before = await recordOf('mayor');
    await h.settled(h.api.upkeep.reset('mayor'));
    await h.pass(3_000);
    expect(await recordOf('mayor')).toMatchObject({ state: 'suspended', continuationResetPending: true });
    await h.settled(h.api.wake('mayor'));
    await h.running(1);
    expect((await recordOf('mayor'))?.continuationEpoch).toBe((before?.continuationEpoch ?? 0) + 1);
  });

  it('needs a controller', async () => {
    await up();
    await h.down();
    const visitor = await h.visitor();
    expect(await failure(visitor.upkeep.reset('mayor'))).toMatchObject({
      code: 'no-controller',
      message: 'a managed controller must be running',
    });
  });
});

describe('a prune', () => {
  it('closes what has been suspended for long, and nothing that the config names', async () => {
    await up();
    const old = await h.settled(h.api.newSession({ template: 'worker', alias: 'old' }));
    await h.settled(h.api.newSession({ template: 'worker', alias: 'young' }));
    await h.settled(h.api.newSession({ template: 'worker', alias: 'awake' }));
    await h.running(4);
    for (const name of ['mayor', 'old', 'young']) await h.settled(h.api.suspend(name));
    for (const name of ['mayor', 'old']) {
      const record = (await h.records()).find((each) => each.alias === name);
      const suspended_at = new Date(h.clock.now() - 8 * DAY_MS).toISOString();
      await h.city.store.apply(record?.id ?? '', { suspended_at });
    }
    const reply = await h.settled(h.api.upkeep.prune({ before_ms: 7 * DAY_MS }));
    expect(reply.pruned).toEqual([{ target: old.id, name: 'old' }]);
    expect((await h.records()).map(({ alias }) => alias).sort()).toEqual(['awake', 'mayor', 'young']);
    expect((await h.settled(h.api.upkeep.prune({ before_ms: 7 * DAY_MS }))).pruned).toEqual([]);
    expect(await failure(h.api.upkeep.prune({ before_ms: 0 }))).toMatchObject({ code: 'invalid-request' });
  });

  it('leaves alone what may live', async () => {
    await up();
    const { id } = await h.settled(h.api.newSession({ template: 'worker', alias: 'maybe' }));
    await h.running(2);
    await h.settled(h.api.suspend('maybe'));
    await h.city.store.apply(id, { suspended_at: '2001-01-01T00:00:00Z' });
    h.provider.broken = true;
    expect((await h.settled(h.api.upkeep.prune({ before_ms: 1 }))).pruned).toEqual([]);
    h.provider.broken = false;
    await h.pass(1_000);
    expect((await h.settled(h.api.upkeep.prune({ before_ms: 1 }))).pruned).toHaveLength(1);
  });
});

describe('a wake', () => {
  it('says whether there was anything to do', async () => {
    await up();
    expect(await h.settled(h.api.wake('mayor'))).toMatchObject({ woke: 'already-awake' });
    await h.settled(h.api.suspend('mayor'));
    expect(await h.settled(h.api.wake('mayor'))).toMatchObject({ woke: 'requested' });
  });

  it('NDG-05 is refused by what the config keeps down, with who can take it back', async () => {
    await up(CITY.replace('start_command: run-mayor', 'start_command: run-mayor\n    suspended: false'));
    await h.settled(h.api.setAgentSuspended('mayor', true));
    await h.until(async () => (await h.records('active')).length === 0);
    expect(await failure(h.api.wake('mayor'))).toMatchObject({
      code: 'agent-suspended',
      message: 'session mayor stays down: its agent "mayor" is suspended',
      next: 'gc agent resume mayor',
    });
  });
});

describe('names', () => {
  const RIGS = [
    'workspace: { name: test }',
    'agents:',
    '  - { name: worker, dir: R, start_command: run }',
    '  - { name: worker, dir: S, start_command: run }',
    'rigs:',
    '  - { name: R, path: R }',
    '  - { name: S, path: S }',
    'named_sessions:',
    '  - { template: worker, dir: R, mode: always }',
    '  - { template: worker, dir: S, mode: always }',
    '',
  ].join('\n');

  it('mean the own rig first, in sessions, patterns and agents alike', async () => {
    h = new CityHarness(RIGS);
    await h.up();
    await h.running(2);
    const from = <T>(dir: string, work: () => Promise<T>) =>
      askedFrom({ dir: `${h.dir}/${dir}`, rig: '' }, work);
    expect(await failure(h.api.session('worker'))).toMatchObject({
      code: 'ambiguous-session',
      message: expect.stringContaining('S/worker'),
    });
    expect((await h.settled(from('R/src', () => h.api.session('worker')))).session_name).toBe('R--worker');
    expect((await h.settled(from('S', () => h.api.session('worker')))).session_name).toBe('S--worker');
    expect((await h.settled(from('S', () => h.api.session('R/worker')))).session_name).toBe('R--worker');
    const names = (await from('R', () => h.api.upkeep.matching('w*'))).map(({ name }) => name);
    expect(names).toEqual(['R/worker']);
    const made = await h.settled(from('S', () => h.api.newSession({ template: 'worker', alias: 'x' })));
    expect(made).toMatchObject({ template: 'S/worker', alias: 'S/x' });
  });

  it('with the prefix of an agent are no sessions', async () => {
    await up();
    expect(await failure(h.api.kill('template:worker'))).toMatchObject({
      code: 'session-not-found',
      message: expect.stringContaining('names an agent'),
      next: expect.stringContaining('gc session new worker'),
    });
  });
});
