import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { CommandResult } from './run-command.ts';
import { CityHarness, cityYaml, type HarnessOptions } from './testing/city-harness.ts';

let harness: CityHarness | undefined;
const city = async (lines: readonly string[], options: HarnessOptions = {}) => {
  harness = new CityHarness(['workspace: { name: test }', ...lines, ''].join('\n'), options);
  await harness.up();
  return harness;
};
afterEach(async () => {
  await harness?.end();
  harness = undefined;
});

/** Whatever is to happen at once is to happen without time passing but for the crash policy's own. */
const AT_ONCE_MS = 200;

describe('public reports about the loop', () => {
  it('REC-10 a scale check that sleeps delays no start, death or kill of the others', async () => {
    const names = Array.from({ length: 9 }, (_, i) => `a${i}`);
    let asked = 0;
    const h = await city(
      [
        'agents:',
        '  - { name: slow, start_command: run-slow, scale_check: "sleep 30", max_active_sessions: 3 }',
        ...names.map((name) => `  - { name: ${name}, start_command: run-${name} }`),
        'named_sessions:',
        ...names.map((name) => `  - { template: ${name}, mode: always }`),
      ],
      {
        runCommand: async ({ command, signal }): Promise<CommandResult> => {
          expect(command).toBe('sleep 30');
          asked += 1;
          await harness?.clock.sleep(30_000, signal);
          return { kind: 'ok', stdout: '0' };
        },
      },
    );
    await h.until(() => h.starts() === 9, AT_ONCE_MS);
    expect(asked).toBe(1);
    await h.running(9);
    h.provider.crash('a0', { code: 1 });
    h.provider.crash('a1', { signal: 'SIGKILL' });
    await h.until(() => h.starts('a0') === 2 && h.starts('a1') === 2, 1_000);
    await h.settled(h.api.kill('a2'));
    await h.until(() => h.starts('a2') === 2, AT_ONCE_MS);
    await h.settled(h.api.suspend('a3'));
    expect(await h.api.session('a3')).toMatchObject({ condition: 'suspended' });
    await h.settled(h.api.newSession({ template: 'a4', alias: 'more' }));
    await h.until(async () => (await h.api.session('more')).condition !== 'starting', AT_ONCE_MS);
    expect(h.clock.monotonic()).toBeLessThan(15_000);
    expect(asked).toBe(1);
  });

  it('REC-12 an agent that is gone from its terminal is started again, with what was seen as the reason', async () => {
    const h = await city([
      'providers:',
      '  demo: { command: sh, process_names: [demo-agent] }',
      'agents:',
      '  - { name: a, provider: demo }',
      'named_sessions: [{ template: a, mode: always }]',
    ]);
    await h.running(1);
    h.provider.peekOutput.set('a', 'all done\nError: no licence\n$ ');
    h.provider.zombies.add('a');
    await h.until(() => h.provider.log.count('Stop', 'a') === 1, 60_000);
    h.provider.zombies.delete('a');
    await h.until(() => h.starts('a') === 2, 5_000);
    await h.running(1);
    const [crashed] = await h.city.db.events.list({ type: 'session.crashed' });
    expect(crashed?.message).toBe('no agent in it: it runs sh, none of the expected programs: $');
    expect(crashed?.payload).toMatchObject({ last_lines: 'all done\nError: no licence\n$' });
    const { decisions } = await h.api.explain('a');
    expect(decisions.find((d) => d.what === 'stop')).toMatchObject({
      why: 'no agent in it',
      inputs: { because: 'it runs sh, none of the expected programs' },
    });
  });

  it('REC-04 REC-12 a usage limit that an agent left behind in its shell is waited out', async () => {
    const h = await city([
      'providers:',
      '  demo: { command: sh, process_names: [demo-agent] }',
      'agents:',
      '  - { name: a, provider: demo }',
      'named_sessions: [{ template: a, mode: always }]',
    ]);
    await h.running(1);
    h.provider.peekOutput.set('a', "You've reached your usage limit. Try again in 2 hours");
    h.provider.zombies.add('a');
    const view = await h.until(async () => {
      const found = await h.api.session('a');
      return found.condition === 'backing-off' && found;
    });
    expect(Date.parse(view.next_try_at ?? '') - h.clock.now()).toBeGreaterThan(3_600_000);
  });
});

describe('public reports about drift', () => {
  it('CFG-01 a session that was just made is not drained', async () => {
    harness = new CityHarness(
      cityYaml([['a', 'session_live: ["echo 1"]']], 'daemon: { patrol_interval: 1s }'),
    );
    const h = harness;
    h.provider.scripts.fallback = { delayMs: 5_000 };
    await h.up();
    await h.pass(15_000);
    expect(await h.records('active')).toHaveLength(1);
    expect(h.starts()).toBe(1);
    expect(await h.eventTypes()).not.toContain('session.draining');
  });

  it('CFG-02 files that a start or its programs leave behind change nothing', async () => {
    harness = new CityHarness(
      cityYaml(
        [['a', 'pre_start: ["date > .hooks/x"]\noverlay_dir: overlay']],
        'daemon: { patrol_interval: 1s }',
      ),
    );
    const h = harness;
    for (const folder of ['scripts', 'overlay', '.hooks'])
      mkdirSync(join(h.dir, folder), { recursive: true });
    writeFileSync(join(h.dir, 'scripts', 'tool.py'), 'print(1)');
    await h.up();
    await h.running(1);
    for (let round = 0; round < 3; round += 1) {
      mkdirSync(join(h.dir, 'scripts', '__pycache__'), { recursive: true });
      for (const file of [
        '.hooks/x',
        'overlay/x',
        '.gc/x',
        'scripts/__pycache__/tool.pyc',
        'scripts/tool.py~',
      ])
        writeFileSync(join(h.dir, file), String(round));
      await h.down();
      await h.up();
      await h.settled(h.runtime.reload());
      await h.pass(7_000);
    }
    expect(h.starts()).toBe(1);
    writeFileSync(join(h.dir, 'scripts', 'tool.py'), 'print(2)');
    await h.down();
    await h.up();
    await h.until(async () => (await h.eventTypes()).includes('session.draining'));
    const [draining] = await h.city.db.events.list({ type: 'session.draining' });
    expect(draining?.message).toBe('config drift detected: CopyFiles');
  });

  it('CFG-03 the sessions of a pool have one fingerprint', async () => {
    const h = await city(['agents: [{ name: p, start_command: run-p, min_active_sessions: 3 }]']);
    await h.running(3);
    const records = await h.records();
    expect(new Set(records.map((record) => record.startedConfigHash)).size).toBe(1);
    expect(new Set(records.map((record) => record.alias)).size).toBe(3);
    await h.pass(60_000);
    expect(h.starts()).toBe(3);
  });

  it('CFG-06 drift goes on with the conversation where that can be told, and makes up none where not', async () => {
    const yaml = (command: string) => [
      'workspace: { name: test }',
      'providers:',
      `  keyed: { command: ${command}, session_id_flag: --id, resume_flag: --resume }`,
      `  own: { command: ${command}, resume_flag: --resume }`,
      'agents: [{ name: a, provider: keyed }, { name: b, provider: own }]',
      'named_sessions: [{ template: a, mode: always }, { template: b, mode: always }]',
      '',
    ];
    const h = await city(yaml('sh').slice(1));
    await h.running(2);
    const key = (await h.records()).find((record) => record.sessionName === 'a')?.sessionKey;
    for (const name of ['a', 'b']) h.provider.waitForIdleErrors.set(name, undefined);
    h.writeConfig(yaml('cat').join('\n'));
    h.touchConfig();
    await h.until(() => h.starts('a') === 2 && h.starts('b') === 2);
    expect(key).toMatch(/^[0-9a-f-]{36}$/);
    expect(h.provider.log.lastStartConfig('a')?.command).toBe(`cat --resume ${key}`);
    expect(h.provider.log.lastStartConfig('b')?.command).toBe('cat');
  });
});

describe('public reports about stops', () => {
  const manual = async () => {
    const h = await city(['daemon: { patrol_interval: 1s }', 'agents: [{ name: a, start_command: run-a }]']);
    await h.settled(h.api.newSession({ template: 'a', alias: 'one' }));
    await h.running(1);
    const [record] = await h.records();
    return { h, name: record?.sessionName ?? '' };
  };
  const reload = async (h: CityHarness, agent: string) => {
    h.writeConfig(`workspace: { name: test }\ndaemon: { patrol_interval: 1s }\nagents: [{ ${agent} }]\n`);
    await h.settled(h.runtime.reload());
  };

  it('REC-06 kills no agent that lives in 1,000 ticks', async () => {
    const { h, name } = await manual();
    await reload(h, 'name: a, start_command: run-a, idle_timeout: 5m');
    for (let minute = 0; minute < 17; minute += 1) {
      h.provider.touch(name);
      await h.pass(60_000);
    }
    expect(h.provider.log.count('Observe')).toBeGreaterThan(1_000);
    expect(h.provider.log.count('Stop')).toBe(0);
    expect(h.starts()).toBe(1);
  });

  it('REC-09 what was closed stays closed, however it took its end', async () => {
    const { h, name } = await manual();
    const stop = h.provider.stop.bind(h.provider);
    h.provider.stop = async (stopped, options) => {
      h.provider.crash(stopped, { code: 143 }, 'terminated');
      return stop(stopped, options);
    };
    await h.settled(h.api.close('one'));
    await h.pass(5_000);
    expect(h.starts(name)).toBe(1);
    expect(await h.records()).toEqual([]);
    expect(await h.eventTypes()).not.toContain('session.crashed');
  });

  it('REC-14 a stop that fails once is done the next time, and both are told', async () => {
    const { h, name } = await manual();
    h.provider.stopErrors.set(name, new Error('it hangs'));
    h.provider.waitForIdleErrors.set(name, undefined);
    await reload(h, 'name: b, start_command: run-b');
    await h.until(() => h.provider.log.count('Stop', name) === 1);
    const [record] = await h.records();
    h.provider.stopErrors.delete(name);
    await h.until(async () => (await h.records()).length === 0, 10_000);
    const told = await h.city.db.decisions(record?.id ?? '', 20);
    expect(told.map((d) => d.what)).toEqual(
      expect.arrayContaining(['drain', 'stop', 'stop failed', 'ended', 'close']),
    );
  });

  it('REC-16 a drain that never ends by itself is forced in time, and told once', async () => {
    const { h, name } = await manual();
    h.provider.busyUntil.set(name, Number.POSITIVE_INFINITY);
    await reload(h, 'name: b, start_command: run-b');
    await h.until(async () => (await h.api.session('one')).condition === 'draining');
    const [record] = await h.records();
    await h.pass(5_000);
    const marker = h.city.db.changeMarker();
    await h.pass(240_000);
    expect(h.city.db.changeMarker()).toBe(marker);
    await h.until(async () => (await h.records()).length === 0, 70_000);
    const told = await h.city.db.decisions(record?.id ?? '', 50);
    expect(told.filter((d) => d.what === 'drain')).toHaveLength(1);
    expect(told.filter((d) => d.what === 'stop')).toHaveLength(1);
    expect(await h.eventTypes()).not.toContain('session.crashed');
  });
});
