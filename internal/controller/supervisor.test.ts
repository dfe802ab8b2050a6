import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../platform/clock.ts';
import { GcError } from '../platform/errors.ts';
import { FakeClock } from '../platform/fake-clock.ts';
import { systemIds } from '../platform/ids.ts';
import { isLockHeld } from '../platform/lifetime-lock.ts';
import { registerCity, unregisterCity } from './registry-file.ts';
import { runSupervisor, type SupervisorEnd } from './supervisor.ts';
import type { RunningCity, StartCity } from './supervisor-cities.ts';
import {
  askSupervisorToStop,
  reloadSupervisor,
  supervisorCities,
  supervisorLockFile,
  supervisorSocketPath,
  supervisorStatus,
} from './supervisor-client.ts';
import { eventually, scratch, silentLog } from './testing/supervising.ts';

/** A city whose ends a test decides. */
class FakeCity implements RunningCity {
  readonly ended: Promise<void>;
  readonly done: string[] = [];
  finish: () => void = () => undefined;
  crash: (error: Error) => void = () => undefined;
  hangs = false;

  constructor() {
    this.ended = new Promise((resolve, reject) => {
      this.finish = resolve;
      this.crash = reject;
    });
    this.ended.catch(() => undefined);
  }

  reload(): void {
    this.done.push('reload');
  }

  stop(): Promise<void> {
    return this.#end('stop');
  }

  detach(): Promise<void> {
    return this.#end('detach');
  }

  async #end(how: string): Promise<void> {
    this.done.push(how);
    if (this.hangs) await new Promise(() => undefined);
    this.finish();
  }
}

let place: ReturnType<typeof scratch>;
let env: { GC_HOME: string };
let clock: FakeClock;
let detach: AbortController;
let printed: string[];
let starts: string[];
let cities: Map<string, FakeCity>;
let startCity: StartCity;
let stamp: string;
const running: Promise<unknown>[] = [];

beforeEach(() => {
  place = scratch();
  env = { GC_HOME: join(place.dir, 'home') };
  clock = new FakeClock();
  detach = new AbortController();
  printed = [];
  starts = [];
  cities = new Map();
  stamp = 'v1';
  startCity = async (city) => {
    starts.push(city.name);
    const fake = new FakeCity();
    cities.set(city.name, fake);
    return fake;
  };
});
afterEach(async () => {
  detach.abort();
  // A hanging city is given up on after its time.
  const ended = Promise.allSettled(running.splice(0)).then(() => true);
  while (!(await Promise.race([ended, systemClock.sleep(5).then(() => false)]))) await clock.advance(60_000);
  place.dispose();
});

async function supervise(
  over: { exitWhenEmpty?: boolean } = {},
): Promise<{ end: Promise<SupervisorEnd>; hup: () => void }> {
  let hup: () => void = () => undefined;
  const end = runSupervisor({
    env,
    clock,
    ids: systemIds,
    pid: process.pid,
    version: 'test',
    log: silentLog,
    print: (line) => printed.push(line),
    startCity: (city, start) => startCity(city, start),
    fileStamp: () => stamp,
    detach: detach.signal,
    onReady: (reconcile) => {
      hup = reconcile;
    },
    ...over,
  });
  running.push(end);
  end.catch(() => undefined);
  await eventually(
    () => printed.includes('Supervisor started.') || Promise.race([end.then(() => true), false]),
  );
  return { end, hup: () => hup() };
}

const register = (name: string) =>
  registerCity(
    { home: env.GC_HOME, clock: systemClock, ids: systemIds },
    { path: join(place.dir, name), name },
  );
const unregister = (name: string) =>
  unregisterCity({ home: env.GC_HOME, clock: systemClock, ids: systemIds }, join(place.dir, name));
const report = async (name: string) => (await supervisorCities(env))?.find((city) => city.name === name);

describe('the supervisor', () => {
  it('has one lock, one owner-only socket, and answers who it is', async () => {
    const { end } = await supervise();
    expect(await supervisorStatus(env)).toEqual({ running: true, pid: process.pid });
    expect(statSync(supervisorSocketPath(env)).mode & 0o777).toBe(0o600);
    expect(statSync(env.GC_HOME).mode & 0o777).toBe(0o700);
    await expect(
      runSupervisor({
        env,
        clock,
        ids: systemIds,
        pid: 1,
        version: 'second',
        log: silentLog,
        print: () => undefined,
        startCity,
        fileStamp: () => '',
        detach: new AbortController().signal,
      }),
    ).rejects.toMatchObject({
      code: 'supervisor-already-running',
      message: `supervisor already running (PID ${process.pid})`,
    });
    expect(await askSupervisorToStop(env)).toBe(true);
    expect(await end).toBe('stopped');
    expect(existsSync(supervisorSocketPath(env))).toBe(false);
    expect(isLockHeld(supervisorLockFile(env.GC_HOME))).toBe(false);
    expect(await supervisorStatus(env)).toEqual({ running: false });
    expect(await reloadSupervisor(env)).toBe('not-running');
    expect(await supervisorCities(env)).toBeUndefined();
  });

  it('starts registered cities at once, new ones on reload, and stops removed ones with their sessions', async () => {
    await register('a');
    await supervise();
    await eventually(() => cities.has('a'));
    await register('b');
    expect(await reloadSupervisor(env)).toBe('ok');
    expect(await supervisorCities(env)).toEqual([
      { name: 'a', path: join(place.dir, 'a'), running: true },
      { name: 'b', path: join(place.dir, 'b'), running: true },
    ]);
    expect(cities.get('a')?.done).toEqual(['reload']);
    await unregister('a');
    expect(await reloadSupervisor(env)).toBe('ok');
    expect(cities.get('a')?.done).toEqual(['reload', 'stop']);
    expect(cities.get('b')?.done).not.toContain('stop');
    expect((await supervisorCities(env))?.map((city) => city.name)).toEqual(['b']);
    expect(printed).toContain(`Stopping city '${join(place.dir, 'a')}'...`);
    expect(printed).toContain(`City '${join(place.dir, 'a')}' stopped.`);
  });

  it('finds changes by itself, at the patrol and on SIGHUP', async () => {
    const { hup } = await supervise();
    await register('a');
    await clock.advance(10_000);
    await eventually(() => cities.has('a'));
    await register('b');
    hup();
    await eventually(() => cities.has('b'));
    expect(starts).toEqual(['a', 'b']);
  });

  it('stops and restarts a city whose name changed', async () => {
    await register('a');
    await supervise();
    await eventually(() => cities.has('a'));
    await registerCity(
      { home: env.GC_HOME, clock: systemClock, ids: systemIds },
      { path: join(place.dir, 'a'), name: 'z' },
    );
    await reloadSupervisor(env);
    await eventually(() => cities.has('z'));
    expect(cities.get('a')?.done).toContain('stop');
  });

  it('lets one city fail, hang or crash without touching another', async () => {
    const good = startCity;
    startCity = (city, start) => {
      starts.push(`${city.name}?`);
      if (city.name === 'bad')
        return Promise.reject(new GcError('bad', 'city.yaml:3:1 wrong', { next: 'put it right' }));
      if (city.name === 'hung') return new Promise(() => undefined);
      return good(city, start);
    };
    for (const name of ['bad', 'good', 'hung']) await register(name);
    await supervise();
    await eventually(() => cities.has('good'));
    expect(await report('bad')).toMatchObject({
      running: false,
      status: 'init_failed',
      error: 'city.yaml:3:1 wrong',
      next: 'put it right',
    });
    expect(await report('hung')).toMatchObject({ running: false, status: 'loading_config' });
    cities.get('good')?.crash(new Error('boom'));
    await eventually(async () => (await report('good'))?.error === 'boom');
    expect(starts.filter((name) => name === 'hung?').length).toBe(1);
    await clock.advance(10_000);
    await eventually(() => starts.filter((name) => name === 'good?').length === 2);
  });

  it('waits 10 s, 20 s, 40 s after failures, but not once the file was edited', async () => {
    startCity = async (city) => {
      starts.push(city.name);
      throw new Error('broken');
    };
    await register('a');
    await supervise();
    await eventually(() => starts.length === 1);
    await clock.advance(9_000);
    expect(starts.length).toBe(1);
    await clock.advance(1_000);
    await eventually(() => starts.length === 2);
    await clock.advance(19_000);
    expect(starts.length).toBe(2);
    await clock.advance(10_000);
    await eventually(() => starts.length === 3);
    await reloadSupervisor(env);
    expect(starts.length).toBe(3);
    stamp = 'v2';
    await reloadSupervisor(env);
    expect(starts.length).toBe(4);
    await unregister('a');
    await reloadSupervisor(env);
    expect(await supervisorCities(env)).toEqual([]);
  });

  it('starts a city that ended by itself again, at the next patrol and not sooner', async () => {
    await register('a');
    await supervise();
    await eventually(() => cities.has('a'));
    cities.get('a')?.finish();
    await eventually(async () => (await report('a')) === undefined);
    expect(starts).toEqual(['a']);
    await clock.advance(10_000);
    await eventually(() => starts.length === 2);
  });

  it('lets go of a city that ended because it was taken off the list, at once', async () => {
    await register('a');
    const { end } = await supervise({ exitWhenEmpty: true });
    await eventually(() => cities.has('a'));
    await unregister('a');
    cities.get('a')?.finish();
    expect(await end).toBe('stopped');
    expect(cities.get('a')?.done).toEqual([]);
  });

  it('stops a city that was taken away while it started, once it is up', async () => {
    const slow = new FakeCity();
    let ready: (city: RunningCity) => void = () => undefined;
    let aborted = false;
    startCity = (_city, { signal }) => {
      signal.addEventListener('abort', () => {
        aborted = true;
      });
      return new Promise((resolve) => {
        ready = resolve;
      });
    };
    await register('a');
    const { hup } = await supervise();
    await eventually(async () => (await report('a'))?.status === 'loading_config');
    await unregister('a');
    hup();
    await eventually(async () => (await report('a'))?.status === 'stopping');
    expect(aborted).toBe(false);
    ready(slow);
    await eventually(async () => (await report('a')) === undefined);
    expect(slow.done).toEqual(['stop']);
  });

  it('gives up the start of a city when it only ends itself', async () => {
    startCity = (_city, { signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    await register('a');
    const { end } = await supervise();
    await eventually(async () => (await report('a'))?.status === 'loading_config');
    detach.abort();
    expect(await end).toBe('detached');
  });

  it('goes on with its cities when the registry cannot be read', async () => {
    await register('a');
    await supervise();
    await eventually(() => cities.has('a'));
    const { writeFileSync } = await import('node:fs');
    writeFileSync(join(env.GC_HOME, 'cities.toml'), 'broken\n');
    expect(await reloadSupervisor(env)).toBe('ok');
    expect(await reloadSupervisor(env)).toBe('ok');
    expect(await report('a')).toMatchObject({ running: true });
    expect(printed.filter((line) => line.includes('not a line of a city registry')).length).toBe(1);
  });
});

describe('the end', () => {
  it('TMX-22, SUB-09 by a signal leaves the sessions; by the word stop it ends them', async () => {
    await register('a');
    const first = await supervise();
    await eventually(() => cities.has('a'));
    detach.abort();
    expect(await first.end).toBe('detached');
    expect(cities.get('a')?.done).toEqual(['detach']);
    detach = new AbortController();
    printed = [];
    cities.clear();
    const second = await supervise();
    await eventually(() => cities.has('a'));
    await askSupervisorToStop(env);
    expect(await second.end).toBe('stopped');
    expect(cities.get('a')?.done).toEqual(['stop']);
    expect(printed.slice(-1)).toEqual(['Supervisor stopped.']);
  });

  it('does not wait for ever for a city that hangs, and says which', async () => {
    await register('a');
    await register('b');
    const { end } = await supervise();
    await eventually(() => cities.has('a') && cities.has('b'));
    const stuck = cities.get('a');
    if (stuck) stuck.hangs = true;
    await askSupervisorToStop(env);
    await eventually(() => stuck?.done.includes('stop'));
    expect(await reloadSupervisor(env)).toBe('busy');
    await clock.advance(300_000);
    expect(await end).toBe('unclean');
    expect(cities.get('b')?.done).toEqual(['stop']);
    expect(printed.at(-1)).toBe('Supervisor gave up on a.');
  });

  it('comes by itself with the last city, when asked for', async () => {
    const { end } = await supervise({ exitWhenEmpty: true });
    await clock.advance(30_000);
    await register('a');
    expect(await reloadSupervisor(env)).toBe('ok');
    await unregister('a');
    await reloadSupervisor(env);
    expect(await end).toBe('stopped');
    expect(cities.get('a')?.done).toEqual(['reload', 'stop']);
  });
});
