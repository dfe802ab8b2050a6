import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connectSessions } from '../internal/api/grpc/connect-sessions.ts';
import { HttpCityApi } from '../internal/api/http/city-client.ts';
import { controllerOf } from '../internal/controller/city-lock.ts';
import {
  apiSocketPath,
  pingController,
  sessionsSocketPath,
} from '../internal/controller/control-socket-client.ts';
import { registerCity, unregisterCity } from '../internal/controller/registry-file.ts';
import {
  reloadSupervisor,
  supervisorCities,
  supervisorLogFile,
  supervisorStatus,
} from '../internal/controller/supervisor-client.ts';
import { stopSupervisor } from '../internal/controller/supervisor-start.ts';
import { systemClock } from '../internal/platform/clock.ts';
import { systemIds } from '../internal/platform/ids.ts';
import { identityOf } from '../internal/platform/process-identity.ts';
import { readArguments, readProcesses } from '../internal/platform/process-table.ts';
import { ListSessionsRequestSchema } from '../internal/protocol/generated/agentsessions/v1/session_pb.ts';
import { create } from '../internal/protocol/protobuf.ts';
import { PROJECT_ROOT } from './support/program.ts';

const MAIN = join(PROJECT_ROOT, 'dist', 'main.js');

const CITY = `workspace:
  name: NAME
session:
  provider: subprocess
daemon:
  shutdown_timeout: 300ms
agents:
  - name: mayor
    start_command: "sh -c 'echo ready; while read line; do echo got $line; done'"
named_sessions:
  - template: mayor
    mode: always
`;

interface Running {
  readonly process: ChildProcess;
  output: string;
}

let dir: string;
let city: string;
let env: Record<string, string | undefined>;
const children: ChildProcess[] = [];

beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'gc-serve-')));
  env = { PATH: process.env['PATH'], HOME: dir, GC_HOME: join(dir, 'gc') };
  city = makeCity('one');
});
afterEach(async () => {
  for (const child of children.splice(0)) await kill(child, 'SIGKILL');
  await stopSupervisor(env, systemClock);
  for (const name of ['one', 'two']) {
    const root = join(dir, name);
    if (existsSync(join(root, '.gc'))) await endSessions(root);
  }
  rmSync(dir, { recursive: true, force: true });
});

function makeCity(name: string): string {
  const root = join(dir, name);
  mkdirSync(root);
  writeFileSync(join(root, 'city.yaml'), CITY.replace('NAME', name));
  return root;
}

function gc(...words: string[]): Running {
  const child = spawn(process.execPath, [MAIN, ...words], {
    cwd: dir,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const running: Running = { process: child, output: '' };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (text: Buffer) => {
      running.output += text.toString();
    });
  }
  return running;
}

async function exitOf({ process: child }: Running): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

async function kill(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, 'exit');
}

/** Whatever a test left running ends with a controller that is told to stop. */
async function endSessions(root: string): Promise<void> {
  expect(await exitOf(gc('stop', root))).toBe(0);
  const host = hostOf();
  if (host === undefined) return;
  // It would linger a while for the next session.
  process.kill(host, 'SIGTERM');
  await eventually(() => !isAlive(host));
}

async function eventually<T>(
  found: () => T | undefined | false | Promise<T | undefined | false>,
  limitMs = 20_000,
): Promise<T> {
  const started = performance.now();
  for (;;) {
    const value = await found();
    if (value !== undefined && value !== false) return value;
    if (performance.now() - started > limitMs) throw new Error(`not within ${limitMs} ms: ${found}`);
    await systemClock.sleep(25);
  }
}

async function started(words: readonly string[] = ['start', '--foreground', city]): Promise<Running> {
  const running = gc(...words);
  await eventually(() => {
    if (running.process.exitCode !== null) throw new Error(`it ended: ${running.output}`);
    return running.output.includes('City started.');
  });
  return running;
}

const api = (root = city) => new HttpCityApi(apiSocketPath(root, env));

/** The pid and incarnation of the mayor once it runs. */
const mayor = (root = city) =>
  eventually(async () => {
    const view = await api(root)
      .session('mayor')
      .catch(() => undefined);
    return view?.pid !== undefined && view.state === 'active' && view.pid;
  });

/** What commands reach a city through: who answers its words, the mode that its API tells, the names of its sessions. */
async function surfaceOf(root: string): Promise<readonly unknown[]> {
  const sessions = connectSessions(`unix:${sessionsSocketPath(root, env)}`, { clock: systemClock, cwd: '/' });
  try {
    const listed = await sessions.listSessions(
      create(ListSessionsRequestSchema),
      new AbortController().signal,
    );
    const { controller } = await api(root).status();
    const names = listed.sessions.map(({ metadata }) => metadata?.name);
    return [await pingController(root, env), controller.mode, names];
  } finally {
    sessions.close();
  }
}

const isAlive = (pid: number): boolean => identityOf(pid) !== undefined;

/** A session host of this test's cities. */
function hostOf(): number | undefined {
  const runtime = join(dir, 'gc', 'run');
  return readProcesses().find(({ pid }) => readArguments(pid).some((word) => word.startsWith(runtime)))?.pid;
}

describe('a controller in the foreground', () => {
  it('EVT-08 says what it does, can be reached, and is there once: a second one names it and ends with 3', async () => {
    const first = await started();
    expect(first.output).toBe('Controller started.\nCity started.\n');
    const second = gc('start', '--foreground', city);
    expect(await exitOf(second)).toBe(3);
    expect(second.output).toContain(`controller already running (standalone, pid ${first.process.pid})`);
    expect(await pingController(city, env)).toBe(first.process.pid);
    const status = await api().status();
    expect(status.controller).toEqual({ running: true, pid: first.process.pid, mode: 'standalone' });
    await mayor();
    expect(await surfaceOf(city)).toEqual([first.process.pid, 'standalone', ['mayor']]);
  });

  it('TMX-22, SUB-05, SUB-09 ended by TERM or KILL leaves its sessions to the next one', async () => {
    const first = await started();
    const pid = await mayor();
    await kill(first.process, 'SIGTERM');
    expect(first.process.exitCode).toBe(0);
    expect(first.output).toContain('the sessions keep running');
    expect(controllerOf(join(city, '.gc'))).toBeUndefined();
    expect(isAlive(pid)).toBe(true);
    const second = await started();
    expect(await mayor()).toBe(pid);
    await kill(second.process, 'SIGKILL');
    expect(isAlive(pid)).toBe(true);
    await started();
    expect(await mayor()).toBe(pid);
    expect((await api().status()).sessions.map(({ restarts }) => restarts)).toEqual([0]);
  });

  it('ends its sessions at Ctrl-C and when it is told to stop', async () => {
    const first = await started();
    const pid = await mayor();
    await kill(first.process, 'SIGINT');
    expect(first.process.exitCode).toBe(0);
    expect(first.output).toContain("Stopped agent 'mayor'\nController stopped.\n");
    expect(isAlive(pid)).toBe(false);
    const second = await started();
    const other = await mayor();
    expect(await api().stop()).toMatchObject({ left: [] });
    expect(await exitOf(second)).toBe(0);
    expect(isAlive(other)).toBe(false);
  });

  it('LCK-04 killed at any point of its start, it starts again at once', async () => {
    for (const [round, afterMs] of [30, 80, 130, 190, 260, 350].entries()) {
      const running = gc('start', '--foreground', city);
      await systemClock.sleep(afterMs);
      await kill(running.process, round % 3 === 1 ? 'SIGKILL' : 'SIGTERM');
      expect(controllerOf(join(city, '.gc'))).toBeUndefined();
    }
    await started();
    await mayor();
    const open = await api().sessions();
    expect(open.map(({ display_name }) => display_name)).toEqual(['mayor']);
  });

  it('leaves a registered city to the supervisor', async () => {
    await registerCity(
      { home: join(dir, 'gc'), clock: systemClock, ids: systemIds },
      { path: city, name: 'one' },
    );
    const refused = gc('start', '--foreground', city);
    expect(await exitOf(refused)).toBe(1);
    expect(refused.output).toContain(`gc unregister ${city}`);
    await unregisterCity({ home: join(dir, 'gc'), clock: systemClock, ids: systemIds }, city);
  });
});

describe('the supervisor', () => {
  const place = () => ({ home: join(dir, 'gc'), clock: systemClock, ids: systemIds });
  const running = async (name: string) =>
    (await supervisorCities(env))?.find((report) => report.name === name)?.running;

  it('EVT-08 keeps two cities apart, serves both whole, survives a broken one, and ends with or without the sessions', async () => {
    const two = makeCity('two');
    await registerCity(place(), { path: city, name: 'one' });
    await registerCity(place(), { path: two, name: 'two' });
    writeFileSync(join(two, 'city.yaml'), 'agents: 7\n');
    const first = gc('supervisor', 'run');
    await eventually(() => running('one'));
    const broken = await eventually(async () =>
      (await supervisorCities(env))?.find(({ status }) => status === 'init_failed'),
    );
    expect(broken).toMatchObject({
      name: 'two',
      running: false,
      error: expect.stringContaining('city.yaml:1'),
    });
    writeFileSync(join(two, 'city.yaml'), CITY.replace('NAME', 'two'));
    expect(await reloadSupervisor(env)).toBe('ok');
    expect(await running('two')).toBe(true);
    const pids = [await mayor(city), await mayor(two)];
    for (const root of [city, two])
      expect(await surfaceOf(root)).toEqual([first.process.pid, 'supervisor', ['mayor']]);

    await kill(first.process, 'SIGTERM');
    expect(first.process.exitCode).toBe(0);
    expect(pids.every(isAlive)).toBe(true);
    const second = gc('supervisor', 'run');
    await eventually(async () => (await running('one')) && (await running('two')));
    expect([await mayor(city), await mayor(two)]).toEqual(pids);

    await unregisterCity(place(), two);
    second.process.kill('SIGHUP');
    await eventually(() => controllerOf(join(two, '.gc')) === undefined && !isAlive(pids[1] ?? 0));
    expect(isAlive(pids[0] ?? 0)).toBe(true);
    expect(await stopSupervisor(env, systemClock)).toBe(true);
    expect(await exitOf(second)).toBe(0);
    expect(pids.some(isAlive)).toBe(false);
    expect(await supervisorStatus(env)).toEqual({ running: false });
    const log = readFileSync(supervisorLogFile(join(dir, 'gc')), 'utf8')
      .trimEnd()
      .split('\n');
    expect(log.map((line) => JSON.parse(line).msg)).toContain('Supervisor stopped.');
  });

  it('is there once: a second one names it and ends with 3', async () => {
    const first = gc('supervisor', 'run');
    await eventually(async () => (await supervisorStatus(env)).running);
    const second = gc('supervisor', 'run');
    expect(await exitOf(second)).toBe(3);
    expect(second.output).toContain(`supervisor already running (PID ${first.process.pid})`);
  });
});
