import { afterEach, describe, expect, it } from 'vitest';
import { IDLE_PROBE_MS } from './drain-operation.ts';
import { CityHarness } from './testing/city-harness.ts';

let h: CityHarness;
afterEach(() => h.end());

const PATROL_MS = 30_000;

async function up(...lines: readonly string[]): Promise<void> {
  h = new CityHarness(['workspace: { name: test }', ...lines, ''].join('\n'));
  await h.up();
}

const CHATS = [
  'chat_sessions: { idle_timeout: 2m }',
  'agents:',
  '  - { name: helper, start_command: run-helper }',
];

const living = () => [...h.provider.sessions].flatMap(([name, s]) => (s.ended ? [] : [name])).toSorted();
const record = async (name: string) => {
  const found = (await h.records()).find((r) => r.sessionName === name);
  if (!found) throw new Error(`no record of ${name}`);
  return found;
};
const asleep = (name: string) => h.until(async () => (await record(name)).state === 'asleep', 400_000);
const drains = async () =>
  (await h.city.db.events.list({ type: 'session.draining' })).map(({ message }) => message);

/** A session that a person made; it shows its prompt when it is asked. */
async function chat(alias: string): Promise<string> {
  const made = await h.settled(h.api.newSession({ template: 'helper', alias }));
  const { session_name: name } = made;
  h.provider.waitForIdleErrors.set(name, undefined);
  await h.until(async () => (await record(name)).state === 'active');
  h.provider.activity.set(name, h.now());
  return name;
}

describe('a session that a person made', () => {
  it('sleeps after its time of silence, and sleeps on until it is called', async () => {
    await up(...CHATS);
    const name = await chat('one');
    await h.pass(100_000);
    expect(living()).toEqual([name]);
    await asleep(name);
    expect((await record(name)).metadata).toMatchObject({
      sleep_reason: 'idle',
      requested_sleep_after_idle: '120s',
      effective_sleep_after_idle: '120s',
      sleep_policy_source: 'chat_sessions',
      sleep_capability: 'full',
      config_wake_suppressed: 'true',
    });
    expect(await drains()).toEqual(['idle: idle-sleep']);
    expect(await h.api.session(name)).toMatchObject({ condition: 'asleep', detail: 'idle', wanted: false });
    const marker = h.city.db.changeMarker();
    await h.pass(20 * PATROL_MS);
    expect(h.city.db.changeMarker()).toBe(marker);
    await h.down();
    await h.up();
    await h.pass(3 * PATROL_MS);
    expect(living()).toEqual([]);
    await h.settled(h.api.wake(name));
    await h.until(() => living().includes(name));
    await h.until(async () => !(await record(name)).metadata['config_wake_suppressed']);
    expect(await h.city.db.events.list({ type: 'session.crashed' })).toEqual([]);
  });

  it('wakes when its policy is another one, and for work that is assigned to it', async () => {
    await up(...CHATS);
    const name = await chat('one');
    await asleep(name);
    await h.city.db.beads.create({ title: 'read this', assignee: 'one' });
    h.runtime.poke();
    await h.until(() => living().includes(name));
    await h.pass(10 * PATROL_MS);
    expect(await h.api.session(name)).toMatchObject({ wanted: true, wake_reasons: ['work'] });
    const [bead] = await h.city.db.beads.list({ assignee: 'one' });
    await h.city.db.beads.close(bead?.id ?? '');
    h.runtime.poke();
    await asleep(name);
    h.writeConfig(['workspace: { name: test }', ...CHATS, ''].join('\n').replace('2m', '3m'));
    await h.settled(h.api.reload());
    await h.until(() => living().includes(name));
  });

  it('stays while somebody is attached, while it asks something, and while it works', async () => {
    await up(...CHATS);
    const name = await chat('one');
    h.provider.attached.set(name, 1);
    await h.pass(10 * PATROL_MS);
    expect(living()).toEqual([name]);
    h.provider.attached.set(name, 0);
    const left = h.now();
    h.provider.busyUntil.set(name, h.clock.monotonic() + 400_000);
    await h.pass(360_000);
    expect(living()).toEqual([name]);
    expect(await drains()).toEqual([]);
    await asleep(name);
    expect(h.now() - left).toBeGreaterThanOrEqual(400_000);
  });

  it('is counted from when the last person left, and not from the last output', async () => {
    await up(...CHATS);
    const name = await chat('one');
    h.provider.attached.set(name, 1);
    await h.pass(200_000);
    h.provider.attached.set(name, 0);
    h.runtime.poke();
    await h.pass(100_000);
    expect(living()).toEqual([name]);
    await asleep(name);
  });

  it('stays up while it is pinned', async () => {
    await up(...CHATS);
    const name = await chat('one');
    await h.city.store.apply((await record(name)).id, { pin_awake: 'true' });
    h.runtime.poke();
    await h.pass(10 * PATROL_MS);
    expect(living()).toEqual([name]);
    await h.city.store.apply((await record(name)).id, { pin_awake: '' });
    h.runtime.poke();
    await asleep(name);
  });

  it('is asked beside at most two others whether it is idle, each in its turn', async () => {
    await up(...CHATS);
    const names: string[] = [];
    for (let i = 0; i < 8; i += 1) names.push(await chat(`c${i}`));
    let most = 0;
    let now = 0;
    for (const name of names) {
      h.provider.busyUntil.set(name, Number.POSITIVE_INFINITY);
      h.provider.activity.set(name, h.now());
    }
    const asked = new Map<string, number>();
    const wait = h.provider.waitForIdle.bind(h.provider);
    h.provider.waitForIdle = async (name, timeoutMs, signal) => {
      expect(timeoutMs).toBeLessThanOrEqual(IDLE_PROBE_MS);
      asked.set(name, (asked.get(name) ?? 0) + 1);
      now += 1;
      most = Math.max(most, now);
      return wait(name, timeoutMs, signal).finally(() => {
        now -= 1;
      });
    };
    await h.pass(300_000);
    expect(living()).toEqual(names.toSorted());
    expect(most).toBe(3);
    expect([...asked.keys()].toSorted()).toEqual(names.toSorted());
    const counts = [...asked.values()];
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
    expect(Math.max(...counts)).toBeLessThanOrEqual(13);
  });
});

describe('sleep by class', () => {
  it('leaves sessions that are always to be up, and says so', async () => {
    await up(
      'session_sleep: { interactive_resume: 1m }',
      'agents:',
      '  - { name: mayor, start_command: run-mayor }',
      'named_sessions: [{ template: mayor, mode: always }]',
    );
    h.provider.waitForIdleErrors.set('mayor', undefined);
    await h.running(1);
    await h.pass(10 * PATROL_MS);
    expect(living()).toEqual(['mayor']);
    expect((await record('mayor')).metadata).toMatchObject({
      requested_sleep_after_idle: '1m',
      effective_sleep_after_idle: 'off',
      sleep_policy_adjustment_reason: 'always_awake',
    });
  });

  it('lets the floor of a pool sleep, keeps its record, and wakes it for work', async () => {
    await up(
      'session_sleep: { interactive_resume: 1m }',
      'agents:',
      '  - { name: p, start_command: run-p, max_active_sessions: 2, min_active_sessions: 1 }',
    );
    h.provider.waitForIdleErrors.set('p-1', undefined);
    await h.running(1);
    const { id } = await record('p-1');
    h.provider.activity.set('p-1', h.now());
    await asleep('p-1');
    const marker = h.city.db.changeMarker();
    await h.pass(10 * PATROL_MS);
    expect(h.city.db.changeMarker()).toBe(marker);
    expect(h.starts()).toBe(1);
    await h.city.db.beads.create({ title: 'work', metadata: { 'gc.routed_to': 'p' } });
    h.runtime.poke();
    await h.until(() => living().includes('p-1'));
    expect((await record('p-1')).id).toBe(id);
    expect(living()).toEqual(['p-1']);
  });

  it('what a sleeper alone needed goes down with it, and comes back first', async () => {
    await up(
      'chat_sessions: { idle_timeout: 1m }',
      'agents:',
      '  - { name: helper, start_command: run-helper, depends_on: [db] }',
      '  - { name: db, start_command: run-db, max_active_sessions: 1 }',
    );
    h.provider.waitForIdleErrors.set('db', undefined);
    const name = await chat('one');
    expect(living()).toEqual(['db', name].toSorted());
    await asleep(name);
    await h.until(() => living().length === 0);
    await h.settled(h.api.wake(name));
    await h.until(() => living().includes(name));
    expect(living()).toEqual(['db', name].toSorted());
  });
});
