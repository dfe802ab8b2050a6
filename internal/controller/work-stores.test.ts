import { afterEach, describe, expect, it } from 'vitest';
import type { StopReason } from './model.ts';
import type { Action } from './plan.ts';
import { CityHarness } from './testing/city-harness.ts';

let h: CityHarness;
afterEach(() => h.end());

const yaml = (store: string) => `workspace: { name: test }
beads: { provider: ${store} }
agents:
  - { name: worker, start_command: run, max_active_sessions: 3 }
  - { name: clerk, start_command: run, max_active_sessions: 1, sleep_after_idle: 1m }
named_sessions:
  - { template: clerk, mode: on_demand }
`;

const living = () =>
  [...h.provider.sessions].flatMap(([name, session]) => (session.ended ? [] : [name])).toSorted();
const are = (...names: string[]) => h.until(() => living().join() === names.toSorted().join());
const route = (title: string) => h.city.work.create({ title, metadata: { 'gc.routed_to': 'worker' } });
const isAssigned = async (id: string) => (await h.city.work.get(id)).assignee;

async function up(store: string): Promise<void> {
  h = new CityHarness(yaml(store));
  await h.up();
  expect(h.city.work.kind).toBe(store === 'file' ? 'file' : 'database');
}

async function stopOf(sessionName: string, reason: StopReason): Promise<Action> {
  const record = (await h.records()).find((r) => r.sessionName === sessionName);
  return { kind: 'stop', sessionName, record, reason, instanceToken: record?.instanceToken ?? '' };
}

describe.each(['sqlite', 'file'])('work in %s', (store) => {
  it('brings workers up, is finished before they go, and wakes who it is assigned to', async () => {
    await up(store);
    const first = await route('first');
    const second = await route('second');
    h.runtime.poke();
    await are('worker-1', 'worker-2');
    await h.running(2);
    await h.city.work.claim(first.id, 'worker-2');
    await h.city.work.close(second.id);
    h.runtime.poke();
    await are('worker-2');
    await h.pass(60_000);
    expect(living()).toEqual(['worker-2']);
    await h.city.work.create({ title: 'for the clerk', assignee: 'clerk' });
    await h.city.work.close(first.id);
    h.runtime.poke();
    await are('clerk');
  });

  it('that was taken when its taker was about to be stopped keeps it up', async () => {
    await up(store);
    const first = await route('first');
    const second = await route('second');
    h.runtime.poke();
    await are('worker-1', 'worker-2');
    await h.running(2);
    const { executor } = h.runtime.engine;
    for (const name of living()) h.provider.busyUntil.set(name, Number.POSITIVE_INFINITY);
    await h.city.work.claim(first.id, 'worker-1');
    const asked = async (name: string, reason: StopReason) => {
      const how = executor.run(await stopOf(name, reason)).then(
        () => 'stopped',
        () => 'kept',
      );
      return h.settled(how);
    };
    expect(await asked('worker-1', 'no-wake-reason')).toBe('kept');
    // Not begun, but in its hands.
    await h.city.work.update(second.id, { assignee: 'worker-2' });
    expect(await asked('worker-2', 'orphaned')).toBe('kept');
    const [record] = (await h.records()).filter(({ sessionName }) => sessionName === 'worker-2');
    const [said] = await h.city.db.decisions(record?.id ?? '', 1);
    expect(said).toMatchObject({ what: 'keep', why: 'orphaned: it has taken work meanwhile' });
    await h.city.work.close(second.id);
    expect(await asked('worker-2', 'no-wake-reason')).toBe('stopped');
    expect(living()).toEqual(['worker-1']);
  });

  it('of a worker that is no more is taken once by another', async () => {
    await up(store);
    const bead = await route('first');
    h.runtime.poke();
    await are('worker-1');
    await h.running(1);
    await h.city.work.claim(bead.id, 'worker-1');
    await h.settled(h.api.close('worker-1'));
    h.runtime.poke();
    await h.until(async () => (await isAssigned(bead.id)) === '');
    await h.until(() => living().length === 1);
    const [name] = living();
    await h.city.work.claim(bead.id, name ?? '');
    await expect(h.city.work.claim(bead.id, 'another')).rejects.toThrow();
    await h.pass(30_000);
    expect(await isAssigned(bead.id)).toBe(name);
  });
});
