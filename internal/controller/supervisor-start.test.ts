import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../platform/clock.ts';
import { systemIds } from '../platform/ids.ts';
import { identityOf, isSameProcess } from '../platform/process-identity.ts';
import { readProcess } from '../platform/process-table.ts';
import { registerCity, unregisterCity } from './registry-file.ts';
import { supervisorCities, supervisorLogFile, supervisorStatus } from './supervisor-client.ts';
import { ensureSupervisor, stopSupervisor, superviseRegistered } from './supervisor-start.ts';
import { eventually, scratch } from './testing/supervising.ts';

let place: ReturnType<typeof scratch>;
let env: Record<string, string | undefined>;

beforeEach(() => {
  place = scratch();
  env = { PATH: process.env['PATH'], HOME: place.dir, GC_HOME: join(place.dir, 'gc') };
});
afterEach(async () => {
  const status = await supervisorStatus(env);
  if (status.running) {
    const identity = identityOf(status.pid);
    process.kill(status.pid, 'SIGKILL');
    await eventually(() => !identity || !isSameProcess(identity));
  }
  place.dispose();
});

const start = (over: { exitWhenEmpty?: boolean } = {}) => ({
  env,
  // Absolute: the supervisor's working directory is gc's home.
  self: [
    process.execPath,
    '--import',
    import.meta.resolve('tsx'),
    join(import.meta.dirname, 'testing', 'supervisor-program.ts'),
  ],
  version: 'test',
  clock: systemClock,
  ids: systemIds,
  ...over,
});
const registry = () => ({ home: join(place.dir, 'gc'), clock: systemClock, ids: systemIds });

describe('starting in the background', () => {
  it('brings up one that outlives its starter: own session, own group, an owner-only log', async () => {
    const running = await ensureSupervisor(start());
    expect(running.started).toBe(true);
    const entry = readProcess(running.pid);
    expect([entry?.sid, entry?.pgid]).toEqual([running.pid, running.pid]);
    expect(statSync(supervisorLogFile(join(place.dir, 'gc'))).mode & 0o777).toBe(0o600);
    expect(await ensureSupervisor(start())).toEqual({ pid: running.pid, started: false });
    expect(await stopSupervisor(env, systemClock)).toBe(true);
    expect(await supervisorStatus(env)).toEqual({ running: false });
    expect(await stopSupervisor(env, systemClock)).toBe(false);
  });

  it('LCK-06 ten at once make one, and all report it', async () => {
    const all = await Promise.all(Array.from({ length: 10 }, () => ensureSupervisor(start())));
    expect(new Set(all.map(({ pid }) => pid)).size).toBe(1);
    expect(all.filter(({ started }) => started).length).toBe(1);
  });

  it('LCK-01, LCK-04, LCK-08 works over what a killed one left behind', async () => {
    const first = await ensureSupervisor(start());
    const identity = identityOf(first.pid);
    process.kill(first.pid, 'SIGKILL');
    await eventually(() => identity && !isSameProcess(identity));
    expect(readdirSync(join(place.dir, 'gc'))).toContain('supervisor.sock');
    const second = await ensureSupervisor(start());
    expect(second).toMatchObject({ started: true });
    expect(second.pid).not.toBe(first.pid);
  });

  it('says why it did not come up, with the last lines', async () => {
    env['TEST_BREAK'] = '1';
    await expect(ensureSupervisor(start())).rejects.toMatchObject({
      code: 'supervisor-start-failed',
      message: 'the supervisor did not start: exit 7\nfirst line\ncannot go on: no luck',
    });
    const missing = { ...start(), self: ['/nowhere/node', 'main.ts'] };
    await expect(ensureSupervisor(missing)).rejects.toMatchObject({ code: 'supervisor-start-failed' });
  });

  it('follows one that ends with its last city by a new one', async () => {
    const options = start({ exitWhenEmpty: true });
    for (let round = 0; round < 3; round += 1) {
      await registerCity(registry(), { path: join(place.dir, 'city'), name: 'city' });
      await superviseRegistered(options);
      expect(await supervisorCities(env)).toMatchObject([{ name: 'city', running: true }]);
      await unregisterCity(registry(), join(place.dir, 'city'));
      // Tell it and turn round at once: the next round meets it ending, or gone.
      await superviseRegistered(options).catch(() => undefined);
    }
  });
});
