import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { GcError } from '../platform/errors.ts';
import { CityHarness, cityYaml } from './testing/city-harness.ts';

let harness: CityHarness;
const city = (yaml: string) => {
  harness = new CityHarness(yaml);
  return harness;
};

afterEach(() => harness.end());

describe('a controller whose right to act is in doubt', () => {
  it('touches nothing, says so, and goes on once it is certain again', async () => {
    const h = city(cityYaml(['mayor']));
    h.mayAct = false;
    await h.up();
    await h.pass(60_000);
    expect([h.starts(), h.runtime.troubles.lines]).toEqual([
      0,
      ['the right to control the city is in doubt: nothing is done meanwhile'],
    ]);
    h.mayAct = true;
    await h.running(1);
    expect(h.runtime.troubles.lines).toEqual([]);
  });
});

describe('a city that comes up', () => {
  it('starts what is wanted, records it and tells of it', async () => {
    const h = city(cityYaml(['mayor', ['worker', 'depends_on: [mayor]']]));
    await h.up();
    await h.running(2);
    const starts = h.provider.log.calls.filter((call) => call.method === 'Start').map((call) => call.name);
    expect(starts).toEqual(['mayor', 'worker']);
    expect(await h.eventTypes()).toEqual(['controller.started', 'session.woke', 'session.woke']);
    const config = h.provider.log.lastStartConfig('mayor');
    expect(config).toMatchObject({ command: 'run-mayor', workDir: h.dir });
    const [record] = (await h.records()).filter((r) => r.sessionName === 'mayor');
    expect(config?.env).toMatchObject({
      GC_SESSION_ID: record?.id,
      GC_SESSION_NAME: 'mayor',
      GC_INSTANCE_TOKEN: record?.instanceToken,
      GC_ALIAS: 'mayor',
      GC_AGENT: 'mayor',
      GC_TEMPLATE: 'mayor',
      GC_SESSION_ORIGIN: 'named',
      GC_CITY: h.dir,
    });
  });

  it('REC-11 40 agents are up as fast as the slowest', async () => {
    const names = Array.from({ length: 40 }, (_, i) => `a${i}`);
    const h = city(cityYaml(names));
    h.provider.scripts.fallback = { delayMs: 2_000 };
    const began = h.clock.monotonic();
    await h.up();
    await h.running(40);
    expect(h.clock.monotonic() - began).toBeLessThan(12_000);
  });

  it('REC-06, REC-08 writes nothing and asks nothing but one look per patrol while nothing happens', async () => {
    const h = city(cityYaml(['mayor', 'worker']));
    await h.up();
    await h.running(2);
    await h.pass(35_000);
    const marker = h.city.db.changeMarker();
    const calls = h.provider.log.calls.length;
    await h.pass(300_000);
    expect(h.city.db.changeMarker()).toBe(marker);
    const methods = h.provider.log.calls.slice(calls).map((call) => call.method);
    expect(new Set(methods)).toEqual(new Set(['Observe']));
    expect(methods.length).toBeLessThanOrEqual(11);
  });
});

describe('an agent that ends', () => {
  it('comes back at once, and the event says why the old one ended', async () => {
    const h = city(cityYaml(['mayor']));
    await h.up();
    await h.running(1);
    h.provider.crash('mayor', { signal: 'SIGKILL' }, 'working on it\nstill working');
    await h.until(() => h.starts('mayor') === 2, 1_000);
    await h.running(1);
    const crashed = await h.city.db.events.list({ type: 'session.crashed' });
    expect(crashed).toMatchObject([
      { subject: 'mayor', payload: { signal: 'SIGKILL', last_lines: 'working on it\nstill working' } },
    ]);
    expect(crashed[0]?.message).toMatch(/^signal SIGKILL after .*: still working$/);
  });

  it('REC-01 REC-07 backs off more and more, then is quarantined with reason and next try', async () => {
    const h = city(cityYaml(['mayor', 'fine']));
    h.provider.scripts.set('mayor', {
      outcome: { kind: 'dies', exit: { code: 3 }, lastLines: 'no licence' },
    });
    await h.up();
    const seen = await h.until(
      async () => (await h.api.session('mayor')).condition === 'quarantined' && h.api.session('mayor'),
    );
    expect(h.starts('mayor')).toBe(5);
    expect(seen).toMatchObject({
      condition: 'quarantined',
      last_exit: { code: 3, last_lines: 'no licence' },
    });
    expect(seen.detail).toContain('no licence');
    expect(Date.parse(seen.next_try_at ?? '')).toBeGreaterThan(h.clock.now());
    expect(await h.api.session('fine')).toMatchObject({ restarts: 0 });
    const { decisions } = await h.api.explain('mayor');
    expect(decisions.map((d) => d.what)).toContain('ended');
  });

  it('is tried at once when a person wakes it', async () => {
    const h = city(cityYaml(['mayor']));
    h.provider.scripts.set('mayor', { outcome: { kind: 'dies', exit: { code: 3 } } });
    await h.up();
    await h.until(async () => (await h.api.session('mayor')).condition === 'quarantined');
    h.provider.scripts.set('mayor', {});
    await h.api.wake('mayor');
    await h.until(() => h.starts('mayor') === 6, 500);
    await h.running(1);
  });

  it('REC-04 waits out a usage limit without a strike', async () => {
    const h = city(cityYaml(['mayor']));
    await h.up();
    await h.running(1);
    h.provider.crash('mayor', { code: 1 }, "You've reached your usage limit. Try again in 2 hours");
    const view = await h.until(async () => {
      const found = await h.api.session('mayor');
      return found.condition === 'backing-off' && found;
    });
    expect(view.detail).toContain('usage limit');
    expect(Date.parse(view.next_try_at ?? '') - h.clock.now()).toBeGreaterThan(3_600_000);
    await h.pass(60_000);
    expect(h.starts('mayor')).toBe(1);
  });

  it('one loss of everything is one event, costs nobody a strike, and all are back once', async () => {
    const h = city(cityYaml(['a', 'b', 'c']));
    await h.up();
    await h.running(3);
    h.provider.loseInfrastructure('tmux server gone');
    await h.until(() => h.starts() === 6);
    await h.running(3);
    await h.pass(60_000);
    expect(h.starts()).toBe(6);
    const types = await h.eventTypes();
    expect(types.filter((type) => type === 'provider.lost')).toHaveLength(1);
    expect(types).not.toContain('session.crashed');
    for (const record of await h.records()) expect(record.metadata['crash_history'] ?? '').toBe('');
  });
});

describe('a controller that is gone', () => {
  it('adopts all, restarts none, doubles none', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `a${i}`);
    const h = city(cityYaml(names));
    await h.up();
    await h.running(20);
    await h.down();
    await h.up();
    await h.pass(60_000);
    expect(h.starts()).toBe(20);
    expect(await h.records('active')).toHaveLength(20);
  });

  it('gives a living session a record when the database is gone', async () => {
    const h = city(cityYaml(['mayor']));
    await h.up();
    await h.running(1);
    await h.down();
    for (const suffix of ['', '-wal', '-shm'])
      rmSync(join(h.dir, '.gc', `city.db${suffix}`), { force: true });
    await h.up();
    await h.pass(5_000);
    expect(h.starts()).toBe(1);
    expect(await h.records('active')).toMatchObject([{ sessionName: 'mayor', namedIdentity: 'mayor' }]);
    expect(h.lines).toContain('Adopted 1 running session(s) into bead store.');
  });

  it('REC-13 takes up a start that was left in the middle', async () => {
    const h = city(cityYaml(['mayor']));
    h.provider.scripts.set('mayor', { delayMs: 20_000 });
    await h.up();
    await h.until(() => h.provider.sessions.has('mayor'));
    const [record] = await h.records();
    await h.city.store.apply(record?.id ?? '', {});
    const session = h.provider.sessions.get('mayor');
    await h.down();
    if (session) {
      h.provider.sessions.set('mayor', session);
      h.provider.meta.set('mayor', new Map(Object.entries(session.config.env)));
    }
    await h.up();
    await h.running(1);
    expect(h.starts()).toBe(1);
    expect(h.provider.log.count('ContinueStart')).toBe(1);
  });

  it('removed .gc: says so, and writes nothing', async () => {
    const h = city(cityYaml(['mayor']));
    await h.up();
    await h.running(1);
    rmSync(join(h.dir, '.gc'), { recursive: true });
    h.provider.crash('mayor', { code: 1 });
    await h.pass(40_000);
    expect(h.runtime.troubles.lines.join()).toContain('was removed');
    expect(h.starts('mayor')).toBe(1);
  });
});

describe('a start that asks a person', () => {
  it('stays open until somebody answers, then goes on', async () => {
    const h = city(cityYaml(['mayor', ['worker', 'depends_on: [mayor]']]));
    h.provider.scripts.set('mayor', { outcome: { kind: 'waits-for-person', question: 'log in?' } });
    await h.up();
    await h.until(async () => (await h.api.session('mayor')).condition === 'waits');
    await h.pass(60_000);
    expect(await h.api.session('mayor')).toMatchObject({ condition: 'waits', detail: 'log in?' });
    expect(await h.api.session('worker')).toMatchObject({ condition: 'starting', detail: 'after mayor' });
    h.provider.answerAsPerson('mayor');
    h.provider.touch('mayor');
    await h.running(2);
    expect(h.starts('mayor')).toBe(1);
  });
});

describe('a change of the config', () => {
  const edited = async (h: CityHarness, yaml: string) => {
    h.writeConfig(yaml);
    await h.settled(h.runtime.reload());
    await h.pass(1_000);
  };

  it('drains and restarts only the agent that changed', async () => {
    const h = city(cityYaml(['a', 'b']));
    await h.up();
    await h.running(2);
    h.provider.waitForIdleErrors.set('a', undefined);
    h.writeConfig(cityYaml(['a', 'b']).replace('run-a', 'run-a --better'));
    h.touchConfig();
    await h.until(() => h.starts('a') === 2);
    await h.running(2);
    expect(h.starts('b')).toBe(1);
    expect(h.provider.log.lastStartConfig('a')?.command).toBe('run-a --better');
    expect(await h.eventTypes()).toContain('session.draining');
  });

  it('CFG-05 waits while the agent is at work, at most as long as the drain may take', async () => {
    const h = city(cityYaml(['a'], 'daemon: { drift_drain_timeout: 60s }'));
    await h.up();
    await h.running(1);
    h.provider.busyUntil.set('a', h.clock.monotonic() + 3_600_000);
    await edited(h, cityYaml(['a'], 'daemon: { drift_drain_timeout: 60s }').replace('run-a', 'run-a2'));
    expect(await h.api.session('a')).toMatchObject({ condition: 'draining' });
    await h.pass(50_000);
    expect(h.starts('a')).toBe(1);
    await h.until(() => h.starts('a') === 2, 30_000);
  });

  it('re-applies session_live without a restart', async () => {
    const h = city(cityYaml([['a', 'session_live: ["echo 1"]']]));
    await h.up();
    await h.running(1);
    await edited(h, cityYaml([['a', 'session_live: ["echo 2"]']]));
    await h.until(() => h.provider.log.count('RunLive') === 1);
    await h.pass(60_000);
    expect(h.provider.log.count('RunLive')).toBe(1);
    expect(h.starts('a')).toBe(1);
  });

  it('does nothing when the file was only touched', async () => {
    const h = city(cityYaml(['a']));
    await h.up();
    await h.running(1);
    const marker = h.city.db.changeMarker();
    await edited(h, cityYaml(['a']));
    expect(h.city.db.changeMarker()).toBe(marker);
  });

  it('CFG-14 keeps the old config over a broken edit, and shows the error', async () => {
    const h = city(cityYaml(['a']));
    await h.up();
    await h.running(1);
    await edited(h, 'agents: [');
    const status = await h.api.status();
    expect(status.config.error).toContain('city.yaml');
    expect(status.summary.running_sessions).toBe(1);
    await edited(h, cityYaml(['a']));
    expect((await h.api.status()).config.error).toBeUndefined();
    expect(h.starts('a')).toBe(1);
  });

  it('tries at once an agent that was repaired, whatever its quarantine says', async () => {
    const h = city(cityYaml(['a']));
    h.provider.scripts.set('a', { outcome: { kind: 'dies', exit: { code: 127 } } });
    await h.up();
    await h.until(async () => (await h.api.session('a')).condition === 'quarantined');
    h.provider.scripts.set('a', {});
    await edited(h, cityYaml(['a']).replace('run-a', 'run-a-right'));
    await h.running(1);
    expect(h.provider.log.lastStartConfig('a')?.command).toBe('run-a-right');
  });

  it('lets go of an agent that is gone from it', async () => {
    const h = city(cityYaml(['a', 'b']));
    await h.up();
    await h.running(2);
    h.provider.waitForIdleErrors.set('b', undefined);
    await edited(h, cityYaml(['a']));
    await h.until(() => !h.provider.sessions.has('b'));
    await h.until(async () => (await h.records()).length === 1);
  });
});

describe('the end of a city', () => {
  it('interrupts all, stops what is left, dependents first, and means it', async () => {
    const h = city(cityYaml(['mayor', ['worker', 'depends_on: [mayor]']]));
    await h.up();
    await h.running(2);
    const reply = await h.settled(h.runtime.stop());
    expect(reply).toEqual({ stopped: ['worker', 'mayor'], left: [] });
    const calls = h.provider.log.calls.filter((c) => c.method === 'Interrupt' || c.method === 'Stop');
    expect(calls.map((c) => c.method)).toEqual(['Interrupt', 'Interrupt', 'Stop', 'Stop']);
    expect((await h.records()).map((r) => r.state)).toEqual(['stopped', 'stopped']);
    expect(await h.eventTypes()).not.toContain('session.crashed');
    await h.down();
    await h.up();
    await h.running(2);
  });

  it('REC-09 records that it is meant before the first signal', async () => {
    const h = city(cityYaml(['mayor', 'worker']));
    await h.up();
    await h.running(2);
    const recorded: (string | undefined)[] = [];
    const interrupt = h.provider.interrupt.bind(h.provider);
    h.provider.interrupt = (name) => {
      recorded.push(...h.recordsNow().map((record) => record.metadata['stop_intent']));
      return interrupt(name);
    };
    await h.settled(h.runtime.stop());
    expect(recorded).toEqual(Array(4).fill('city stopped'));
  });

  it('ends the controller alone when nobody can tell what lives, and says why', async () => {
    const h = city(cityYaml(['mayor']));
    await h.up();
    await h.running(1);
    h.provider.broken = true;
    const reply = await h.settled(h.runtime.stop());
    expect(reply).toEqual({ stopped: [], left: ['mayor'], reason: expect.stringContaining('unavailable') });
    expect(h.runtime.ended.aborted).toBe(true);
    h.provider.broken = false;
    expect(await h.provider.isRunning('mayor')).toBe('yes');
  });

  it('comes whatever becomes of the stop, and a stop that has begun is done before it', async () => {
    const h = city(cityYaml(['mayor'], 'daemon: { shutdown_timeout: 5s }'));
    const failing = await h.up();
    await h.running(1);
    const { commit } = h.city.db;
    h.city.db.commit = () => Promise.reject(new GcError('store-full', 'no space'));
    await expect(h.settled(failing.stop())).rejects.toMatchObject({ code: 'store-full' });
    expect(failing.ended.aborted).toBe(true);
    h.city.db.commit = commit;
    await h.down();

    const runtime = await h.up();
    const stopping = runtime.stop();
    const detaching = runtime.detach();
    expect(await h.settled(stopping)).toMatchObject({ left: [] });
    await h.settled(detaching);
    expect(h.provider.sessions.size).toBe(0);
  });

  it('names what could not be ended', async () => {
    const h = city(cityYaml(['mayor', 'worker']));
    await h.up();
    await h.running(2);
    h.provider.stopErrors.set('worker', new Error('it hangs'));
    const reply = await h.settled(h.runtime.stop());
    expect(reply).toEqual({ stopped: ['mayor'], left: ['worker'] });
  });
});
