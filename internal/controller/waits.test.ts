import { afterEach, describe, expect, it, vi } from 'vitest';
import { codeOf } from '../platform/errors.ts';
import { CityHarness, cityYaml } from './testing/city-harness.ts';
import type { WaitRequest } from './wait-api.ts';

let h: CityHarness;
afterEach(() => h.end());

const ON_DEMAND = [
  'workspace: { name: test }',
  'agents:',
  '  - { name: mayor, start_command: run-mayor }',
  '  - { name: worker, start_command: run-worker }',
  'named_sessions:',
  '  - { template: mayor, mode: always }',
  '  - { template: worker, mode: on_demand }',
  '',
].join('\n');

function aRequest(over: Partial<WaitRequest> = {}): WaitRequest {
  return { on_beads: [], on_sessions: [], mode: 'all', note: 'go on', sleep: false, created_by: '', ...over };
}

const told = (name: string): readonly string[] => h.provider.sessions.get(name)?.messages ?? [];

async function city(yaml = cityYaml(['mayor', 'worker'])): Promise<void> {
  h = new CityHarness(yaml);
  for (const name of ['mayor', 'worker']) h.provider.waitForIdleErrors.set(name, undefined);
  await h.up();
}

const aBead = async (title = 'work') => (await h.city.work.create({ title })).id;

const record = async (name: string) => {
  const found = (await h.records()).find(({ sessionName }) => sessionName === name);
  if (!found) throw new Error(`no record of ${name}`);
  return found;
};

/** The code of the refusal. */
async function refusal(work: Promise<unknown>): Promise<string> {
  const outcome = await h.settled(
    work.then(
      () => 'done',
      (error: unknown) => codeOf(error) ?? String(error),
    ),
  );
  return outcome;
}

const register = (name: string, over: Partial<WaitRequest>) =>
  h.settled(h.api.waits.register(name, aRequest(over)));

const state = async (id: string) => (await h.settled(h.api.waits.inspect(id))).state;

const gates = async () => h.city.db.beads.list({ type: 'gate', includeClosed: true });

async function isAsleep(name: string): Promise<boolean> {
  return (await record(name)).state === 'asleep';
}

describe('a wait with sleep', () => {
  it('lets the session sleep, wakes it when its bead is closed, and tells it once', async () => {
    await city();
    await h.running(2);
    const bead = await aBead();
    const { wait, sleeps } = await h.settled(
      h.api.waits.register('mayor', aRequest({ on_beads: [bead], sleep: true, note: 'merge' })),
    );
    expect(sleeps).toBe(true);
    expect(wait).toMatchObject({ state: 'pending', kind: 'deps', dep_ids: [bead], registered_epoch: '1' });
    await h.until(() => isAsleep('mayor'));
    expect(await record('mayor')).toMatchObject({ waitHold: true, sleepReason: 'wait-hold' });
    const status = await h.settled(h.api.status());
    expect(status.sessions.find((each) => each.session_name === 'mayor')).toMatchObject({
      condition: 'asleep',
      detail: `waits on bead ${bead}`,
    });
    await h.pass(60_000);
    expect(await isAsleep('mayor')).toBe(true);

    await h.city.work.close(bead);
    h.runtime.poke();
    await h.until(() => told('mayor').length > 0);
    await h.pass(40_000);
    expect(told('mayor')).toEqual([`Wait satisfied (${wait.id}): merge`]);
    expect(await h.settled(h.api.waits.inspect(wait.id))).toMatchObject({ state: 'closed' });
    expect(await record('mayor')).toMatchObject({ waitHold: false, state: 'active' });
    expect(h.starts('mayor')).toBe(2);
  });

  it('is over at once where everything has come, and then nobody sleeps', async () => {
    await city();
    await h.running(2);
    const bead = await aBead();
    await h.city.work.close(bead);
    const { wait, sleeps } = await register('mayor', { on_beads: [bead], sleep: true });
    expect([wait.state, sleeps]).toEqual(['ready', false]);
    await h.until(() => told('mayor').length === 1);
    await h.until(async () => (await state(wait.id)) === 'closed');
    expect(h.starts('mayor')).toBe(1);
    expect(await record('mayor')).toMatchObject({ waitHold: false });
  });

  it('keeps the session down until the last of its waits is told', async () => {
    await city();
    await h.running(2);
    const [first, second] = [await aBead(), await aBead()];
    await register('mayor', { on_beads: [first], sleep: true, note: 'one' });
    await register('mayor', { on_beads: [second], sleep: true, note: 'two' });
    await h.until(() => isAsleep('mayor'));
    await h.city.work.close(first);
    h.runtime.poke();
    await h.until(() => told('mayor').length === 1);
    await h.until(() => isAsleep('mayor'));
    expect(await record('mayor')).toMatchObject({ waitHold: true });
    await h.city.work.close(second);
    h.runtime.poke();
    await h.until(() => told('mayor').some((text) => text.endsWith('two')));
    await h.until(async () => !(await record('mayor')).waitHold);
  });

  it('wakes a session on demand that nothing else needs', async () => {
    await city(ON_DEMAND);
    await h.running(1);
    await h.settled(h.api.wake('worker'));
    await h.running(2);
    const bead = await aBead();
    await register('worker', { on_beads: [bead], sleep: true });
    await h.until(() => isAsleep('worker'));
    await h.city.work.close(bead);
    h.runtime.poke();
    await h.until(() => told('worker').length === 1);
  });

  it('lets go when its bead is deleted, and says so', async () => {
    await city();
    await h.running(2);
    const bead = await aBead();
    const { wait } = await register('mayor', { on_beads: [bead], sleep: true, note: 'merge' });
    await h.until(() => isAsleep('mayor'));
    await h.city.work.delete(bead);
    h.runtime.poke();
    await h.until(() => told('mayor').length === 1);
    expect(told('mayor')).toEqual([`Wait failed, bead ${bead} is not there any more (${wait.id}): merge`]);
    expect(await state(wait.id)).toBe('failed');
    expect(await record('mayor')).toMatchObject({ waitHold: false });
  });
});

describe('the end of a wait by other ways', () => {
  it('by a cancel: its message is taken back and the session is free', async () => {
    await city();
    await h.running(2);
    const bead = await aBead();
    const { wait } = await register('mayor', { on_beads: [bead], sleep: true });
    await h.until(() => isAsleep('mayor'));
    expect(await h.settled(h.api.waits.cancel(wait.id))).toMatchObject({ state: 'canceled' });
    await h.until(async () => (await record('mayor')).state === 'active');
    expect(await record('mayor')).toMatchObject({ waitHold: false, sleepReason: '' });
    expect(await h.settled(h.api.waits.cancel(wait.id))).toMatchObject({ state: 'canceled' });
    await h.city.work.close(bead);
    await h.pass(40_000);
    expect(told('mayor')).toEqual([]);
  });

  it('by a person who wakes or closes the session', async () => {
    await city(ON_DEMAND);
    await h.settled(h.api.wake('worker'));
    await h.running(2);
    const bead = await aBead();
    const first = await register('mayor', { on_beads: [bead], sleep: true });
    const second = await register('worker', { on_beads: [bead] });
    await h.until(() => isAsleep('mayor'));
    await h.settled(h.api.wake('mayor'));
    expect(await state(first.wait.id)).toBe('canceled');
    await h.settled(h.api.close('worker'));
    await h.until(async () => (await state(second.wait.id)) === 'canceled');
    expect(await record('mayor')).toMatchObject({ waitHold: false });
  });

  it('by hands that close or delete its bead', async () => {
    await city();
    await h.running(2);
    const bead = await aBead();
    const [first, second] = [
      await register('mayor', { on_beads: [bead], sleep: true }),
      await register('worker', { on_beads: [bead], sleep: true }),
    ];
    await h.until(async () => (await isAsleep('mayor')) && isAsleep('worker'));
    await h.city.db.beads.close(first.wait.id);
    await h.city.db.beads.delete(second.wait.id);
    h.runtime.poke();
    await h.running(2);
    expect(await state(first.wait.id)).toBe('canceled');
    expect((await h.city.db.beads.get(first.wait.id)).metadata['state']).toBe('canceled');
    expect(await refusal(h.api.waits.inspect(second.wait.id))).toBe('wait-not-found');
  });

  it('by a new conversation, which knows nothing of it', async () => {
    await city();
    await h.running(2);
    const bead = await aBead();
    const { wait } = await register('mayor', { on_beads: [bead] });
    const { id } = await record('mayor');
    await h.city.store.apply(id, { continuation_reset_pending: 'true' });
    await h.settled(h.api.kill('mayor'));
    await h.until(async () => (await record('mayor')).continuationEpoch === 2);
    await h.until(async () => (await state(wait.id)) === 'canceled');
    expect(await h.settled(h.api.waits.inspect(wait.id))).toMatchObject({ last_error: 'continuation-stale' });
    await h.city.work.close(bead);
    await h.pass(40_000);
    expect(told('mayor')).toEqual([]);
  });

  it('not by a new conversation of a session that has one in each life', async () => {
    await city(cityYaml([['mayor', 'wake_mode: fresh'], 'worker']));
    await h.running(2);
    const bead = await aBead();
    const { wait } = await register('mayor', { on_beads: [bead], sleep: true });
    await h.until(() => isAsleep('mayor'));
    await h.city.work.close(bead);
    h.runtime.poke();
    await h.until(() => told('mayor').length === 1);
    await h.until(async () => (await state(wait.id)) === 'closed');
    expect((await record('mayor')).continuationEpoch).toBe(2);
  });

  it('by a person who takes it as satisfied, and again when it is over', async () => {
    await city();
    await h.running(2);
    const { wait } = await register('mayor', { on_beads: [await aBead()], sleep: true });
    expect(await h.settled(h.api.waits.ready(wait.id))).toMatchObject({ wait: { id: wait.id } });
    await h.until(() => told('mayor').length === 1);
    await h.until(async () => (await state(wait.id)) === 'closed');
    const again = await h.settled(h.api.waits.ready(wait.id));
    expect(again).toMatchObject({
      retried: wait.id,
      wait: { delivery_attempt: 2, retried_from_wait: wait.id },
    });
    await h.until(() => told('mayor').length === 2);
    await h.until(async () => (await state(again.wait.id)) === 'closed');
  });
});

describe('a wait for a time', () => {
  it('is over by itself, and moves with a gap in which nobody ran unless it names a time of day', async () => {
    await city();
    await h.running(2);
    const span = await register('mayor', { for_ms: 300_000 });
    const day = await register('worker', { until: new Date(h.now() + 300_000).toISOString() });
    await h.pass(60_000);
    h.freeze(200_000);
    await h.until(async () => (await state(day.wait.id)) === 'closed', 60_000);
    await h.pass(30_000);
    expect(await state(span.wait.id)).toBe('pending');
    await h.until(async () => (await state(span.wait.id)) === 'closed', 200_000);
    expect(told('mayor')).toHaveLength(1);
  });

  it('comes to the moment, however rarely the city looks', async () => {
    await city(cityYaml(['mayor', 'worker'], 'daemon: { patrol_interval: 1h }'));
    await h.running(2);
    await h.pass(20_000);
    await register('mayor', { for_ms: 90_000 });
    await h.pass(89_000);
    expect(told('mayor')).toEqual([]);
    await h.pass(3_000);
    expect(told('mayor')).toHaveLength(1);
  });

  it('is given up when it expires first; what has come by then still counts', async () => {
    await city();
    await h.running(2);
    const bead = await aBead();
    const { wait } = await register('mayor', { on_beads: [bead], sleep: true, expires_in_ms: 60_000 });
    await h.until(() => isAsleep('mayor'));
    await h.until(() => told('mayor').length === 1);
    expect(told('mayor')).toEqual([`Wait expired (${wait.id}): go on`]);
    expect(await state(wait.id)).toBe('expired');
  });
});

describe('a wait for another session', () => {
  it('is over when that one is at rest', async () => {
    await city();
    await h.running(2);
    const busy = () => {
      h.provider.peekOutput.set('worker', 'Working... (esc to interrupt)');
      h.provider.activity.set('worker', h.now());
    };
    busy();
    const { wait } = await register('mayor', { on_sessions: ['worker'] });
    expect(wait).toMatchObject({ kind: 'session', on_sessions: ['worker'] });
    for (let second = 0; second < 20; second += 1) {
      busy();
      await h.pass(1_000);
    }
    expect(await state(wait.id)).toBe('pending');
    h.provider.peekOutput.set('worker', 'done');
    h.provider.activity.set('worker', h.now());
    await h.until(async () => (await state(wait.id)) === 'closed', 30_000);
  });

  it('counts one that sleeps, and one that is closed', async () => {
    await city(ON_DEMAND);
    await h.running(1);
    await h.settled(h.api.wake('worker'));
    await h.running(2);
    await h.settled(h.api.suspend('worker'));
    const { wait } = await register('mayor', { on_sessions: ['worker'] });
    await h.until(async () => (await state(wait.id)) === 'closed');
  });
});

describe('what cannot be waited for', () => {
  it('is refused with one code each, and nothing is written', async () => {
    await city();
    await h.running(2);
    const bead = await aBead();
    const mayor = await record('mayor');
    const asked = (over: Partial<WaitRequest>) => refusal(h.api.waits.register('mayor', aRequest(over)));
    expect(await asked({ on_beads: [bead, 'gc-999'] })).toBe('bead-not-found');
    expect(await asked({ on_sessions: ['mayor'] })).toBe('wait-on-itself');
    expect(await asked({ on_beads: [mayor.id] })).toBe('wait-on-itself');
    expect(await asked({ on_sessions: ['nobody'] })).toBe('session-not-found');
    expect(await asked({})).toBe('wait-needs-condition');
    expect(await asked({ on_beads: [bead], note: ' ' })).toBe('wait-needs-note');
    expect(await asked({ until: 'tomorrow' })).toBe('invalid-wait');
    expect(await asked({ for_ms: 1, until: new Date(h.now()).toISOString() })).toBe('invalid-wait');
    expect(await asked({ on_beads: [bead], expires_in_ms: 1e18 })).toBe('invalid-wait');
    expect(await refusal(h.api.waits.inspect(bead))).toBe('not-a-wait');
    expect(await refusal(h.api.waits.list({ state: 'over' }))).toBe('invalid-wait-state');
    expect(await gates()).toEqual([]);
    expect(await record('mayor')).toMatchObject({ waitHold: false, revision: mayor.revision });
  });

  it('a ring of sessions that wait for each other', async () => {
    await city();
    await h.running(2);
    h.provider.activity.set('mayor', h.now());
    h.provider.peekOutput.set('mayor', 'Working... (esc to interrupt)');
    const first = await register('mayor', { on_sessions: ['worker'], on_beads: [await aBead()] });
    expect(await refusal(h.api.waits.register('worker', aRequest({ on_sessions: ['mayor'] })))).toBe(
      'wait-cycle',
    );
    expect(await refusal(h.api.waits.register('worker', aRequest({ on_beads: [first.wait.id] })))).toBe(
      'wait-cycle',
    );
    expect(await gates()).toHaveLength(1);
  });

  it('sleep where no controller would end it', async () => {
    await city();
    await h.running(2);
    const bead = await aBead();
    await h.down();
    const visitor = await h.visitor();
    const request = aRequest({ on_beads: [bead], sleep: true });
    expect(await refusal(visitor.waits.register('mayor', request))).toBe('no-controller');
    const { wait } = await h.settled(visitor.waits.register('mayor', { ...request, sleep: false }));
    await h.city.work.close(bead);
    await h.city.close();
    await h.up();
    await h.until(() => told('mayor').length === 1);
    expect(told('mayor')).toEqual([`Wait satisfied (${wait.id}): go on`]);
  });
});

it('costs no look at the tables while nothing waits or nothing changed', async () => {
  await city();
  await h.running(2);
  await h.pass(60_000);
  const list = vi.spyOn(h.city.db.beadTable, 'list');
  const find = vi.spyOn(h.city.db.beadTable, 'find');
  await h.pass(600_000);
  expect([list.mock.calls.length, find.mock.calls.length]).toEqual([0, 0]);
  await register('mayor', { on_beads: [await aBead()] });
  await h.pass(60_000);
  list.mockClear();
  find.mockClear();
  await h.pass(600_000);
  expect([list.mock.calls.length, find.mock.calls.length]).toEqual([0, 0]);
});
