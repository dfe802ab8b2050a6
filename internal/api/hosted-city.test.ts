import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ReloadReply, StopReply } from '../controller/city-api.ts';
import { controllerOf } from '../controller/city-lock.ts';
import {
  apiSocketPath,
  controlSocketPath,
  pingController,
  sendControl,
  sessionsSocketPath,
} from '../controller/control-socket-client.ts';
import { systemClock } from '../platform/clock.ts';
import { systemIds } from '../platform/ids.ts';
import type { Environment } from '../platform/paths.ts';
import { ListSessionsRequestSchema } from '../protocol/generated/agentsessions/v1/session_pb.ts';
import { create } from '../protocol/protobuf.ts';
import { connectSessions } from './grpc/connect-sessions.ts';
import { type HostableRuntime, type HostedCity, hostCity, type OpenedCity } from './hosted-city.ts';
import { HttpCityApi } from './http/city-client.ts';
import { CityDouble } from './http/testing/city-double.ts';
import { eventually, memoryLog, scratch } from './http/testing/serving.ts';

class FakeRuntime implements HostableRuntime {
  readonly done: string[] = [];
  readonly #over = new AbortController();
  startFailure: Error | undefined;

  get ended(): AbortSignal {
    return this.#over.signal;
  }

  async start(): Promise<void> {
    this.done.push('start');
    if (this.startFailure) throw this.startFailure;
  }

  poke(): void {
    this.done.push('poke');
  }

  async reload(): Promise<ReloadReply> {
    this.done.push('reload');
    throw new Error('unreadable');
  }

  async stop(progress?: (line: string) => void): Promise<StopReply> {
    this.done.push('stop');
    progress?.("Stopped agent 'mayor'");
    this.#over.abort();
    return { stopped: ['mayor'], left: [] };
  }

  async detach(): Promise<void> {
    this.done.push('detach');
    this.#over.abort();
  }
}

let place: ReturnType<typeof scratch>;
let root: string;
let runtime: FakeRuntime;
let api: CityDouble;
let closed: number;
let printed: string[];
const log = memoryLog();
const hosted: HostedCity[] = [];
const env = { GC_HOME: '/tmp/gc-none' };

beforeEach(() => {
  place = scratch();
  root = join(place.dir, 'city');
  mkdirSync(root);
  runtime = new FakeRuntime();
  api = new CityDouble('mayor');
  closed = 0;
  printed = [];
  log.lines.length = 0;
});
afterEach(async () => {
  for (const city of hosted.splice(0)) await city.detach();
  place.dispose();
});

const opened = (): OpenedCity => ({
  runtime,
  api,
  close: () => {
    closed += 1;
  },
});

async function host(over: Partial<Parameters<typeof hostCity>[0]> = {}): Promise<HostedCity> {
  const city = await hostCity({
    root,
    mode: 'standalone',
    env,
    pid: process.pid,
    clock: systemClock,
    ids: systemIds,
    log,
    print: (line) => printed.push(line),
    open: async () => opened(),
    ...over,
  });
  hosted.push(city);
  return city;
}

const nothingLeft = () => {
  expect(existsSync(controlSocketPath(root, env))).toBe(false);
  expect(existsSync(apiSocketPath(root, env))).toBe(false);
  expect(controllerOf(join(root, '.gc'))).toBeUndefined();
  expect(closed).toBe(1);
};

describe('a hosted city', () => {
  it('holds its lock, answers on both sockets, and passes the words on', async () => {
    const phases: string[] = [];
    await host({ phase: (name) => phases.push(name) });
    expect(controllerOf(join(root, '.gc'))).toEqual({ pid: process.pid, mode: 'standalone' });
    expect(await pingController(root, env)).toBe(process.pid);
    expect((await new HttpCityApi(apiSocketPath(root, env)).status()).city_name).toBe('double');
    await sendControl(root, 'poke', env);
    await sendControl(root, 'reload', env);
    expect(runtime.done).toEqual(['start', 'poke', 'reload']);
    await eventually(() => log.lines.some(({ fields }) => fields['error'] === 'unreadable'));
    expect(phases).toEqual(['loading_config', 'adopting_sessions', 'starting_agents']);
  });

  it('answers before its first pass is done', async () => {
    let seen = '';
    runtime.start = async () => {
      seen = (await new HttpCityApi(apiSocketPath(root, env)).status()).city_name;
    };
    await host();
    expect(seen).toBe('double');
  });

  it('is not opened twice: the second names the first and leaves it alone', async () => {
    await host({ mode: 'supervisor' });
    await expect(host()).rejects.toMatchObject({
      code: 'controller-running',
      message: expect.stringContaining(`pid ${process.pid}`),
    });
    expect(await pingController(root, env)).toBe(process.pid);
  });

  it('stopped by the word leaves nothing behind', async () => {
    const city = await host();
    expect(await sendControl(root, 'stop', env)).toBe('ok');
    await city.ended;
    expect(city.outcome()).toEqual({ stopped: ['mayor'], left: [] });
    expect(printed).toEqual(["Stopped agent 'mayor'"]);
    nothingLeft();
  });

  it('stopped over HTTP answers first, then goes', async () => {
    api.stop = () => runtime.stop();
    const city = await host();
    const reply = await new HttpCityApi(apiSocketPath(root, env)).stop();
    expect(reply).toEqual({ stopped: ['mayor'], left: [] });
    await city.ended;
    nothingLeft();
  });

  it('let go ends without a stop, and can be hosted again at once', async () => {
    const city = await host();
    await city.detach();
    expect(runtime.done).not.toContain('stop');
    expect(city.outcome()).toBeUndefined();
    nothingLeft();
    runtime = new FakeRuntime();
    await host();
    expect(await pingController(root, env)).toBe(process.pid);
  });

  it('that cannot be opened, or fails to start, leaves nothing half-made', async () => {
    await expect(host({ open: () => Promise.reject(new Error('no store')) })).rejects.toThrow('no store');
    expect(controllerOf(join(root, '.gc'))).toBeUndefined();
    runtime.startFailure = new Error('no server');
    await expect(host()).rejects.toThrow('no server');
    expect(runtime.done).toEqual(['start', 'detach']);
    nothingLeft();
  });

  it('says which folder it cannot use', async () => {
    writeFileSync(join(root, '.gc'), 'in the way');
    await expect(host()).rejects.toMatchObject({
      code: 'city-unwritable',
      message: expect.stringContaining(join(root, '.gc')),
    });
  });

  it('EVT-07 in a deep folder is found from any environment', async () => {
    root = join(place.dir, 'd'.repeat(60), 'e'.repeat(60));
    mkdirSync(root, { recursive: true });
    const here = { GC_HOME: join(place.dir, 'home') };
    const city = await host({ env: here });
    const elsewhere = { XDG_RUNTIME_DIR: join(place.dir, 'run') };
    expect(await pingController(root, elsewhere)).toBe(process.pid);
    expect((await new HttpCityApi(apiSocketPath(root, elsewhere)).status()).city_name).toBe('double');
    expect(Buffer.byteLength(apiSocketPath(root, elsewhere))).toBeLessThanOrEqual(100);
    await city.detach();
    expect(readdirSync(join(root, '.gc')).filter((name) => name.includes('sock'))).toEqual([]);
    expect(await pingController(root, elsewhere)).toBeUndefined();
  });

  it('that is not wanted any more while it opens is undone', async () => {
    const unwanted = new AbortController();
    const open = async () => {
      unwanted.abort(new Error('unregistered'));
      return opened();
    };
    await expect(host({ open, signal: unwanted.signal })).rejects.toThrow('unregistered');
    expect(runtime.done).not.toContain('start');
    nothingLeft();
  });

  it('that hangs in its start is undone when it is not wanted any more', async () => {
    const unwanted = new AbortController();
    runtime.start = () => {
      setImmediate(() => unwanted.abort(new Error('ending')));
      return new Promise(() => undefined);
    };
    await expect(host({ signal: unwanted.signal })).rejects.toThrow('ending');
    nothingLeft();
  });
});

/** What commands reach a running city through: its words, its API, its sessions. */
async function surfaceOf(environment: Environment): Promise<readonly unknown[]> {
  const sessions = connectSessions(`unix:${sessionsSocketPath(root, environment)}`, {
    clock: systemClock,
    cwd: '/',
  });
  try {
    const status = await new HttpCityApi(apiSocketPath(root, environment)).status();
    const listed = await sessions.listSessions(
      create(ListSessionsRequestSchema),
      new AbortController().signal,
    );
    return [await pingController(root, environment), status.city_name, listed.sessions];
  } finally {
    sessions.close();
  }
}

describe('the sessions of a hosted city', () => {
  it('can be reached while it runs, and go with it', async () => {
    const city = await host({ open: async () => ({ ...opened(), sessions: { project: 'town' } }) });
    expect(existsSync(sessionsSocketPath(root, env))).toBe(true);
    await city.stop();
    expect(existsSync(sessionsSocketPath(root, env))).toBe(false);
    nothingLeft();
  });

  // A service manager gives its processes another environment than a person's shell has.
  it.each(['standalone', 'supervisor'] as const)(
    'EVT-08 under a %s controller all sockets answer, also to whoever has another environment',
    async (mode) => {
      for (const folder of ['city', join('d'.repeat(60), 'e'.repeat(60))]) {
        root = join(place.dir, folder);
        mkdirSync(root, { recursive: true });
        runtime = new FakeRuntime();
        const city = await host({
          mode,
          env: { GC_HOME: join(place.dir, 'home') },
          open: async () => ({ ...opened(), sessions: { project: 'town' } }),
        });
        for (const environment of [{ XDG_RUNTIME_DIR: join(place.dir, 'run') }, {}])
          expect(await surfaceOf(environment)).toEqual([process.pid, 'double', []]);
        await city.stop();
      }
    },
  );
});
