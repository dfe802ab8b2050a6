import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemIds } from '../platform/ids.ts';
import { acquireLifetimeLock, isLockHeld, type LifetimeLock } from '../platform/lifetime-lock.ts';
import { requestLine } from '../platform/line-socket.ts';
import { serveControl } from './control-socket.ts';
import { controlSocketPath, pingController, sendControl } from './control-socket-client.ts';
import { eventually, scratch } from './testing/supervising.ts';

const env = { GC_HOME: '/tmp/gc-none', HOME: '/tmp/gc-none' };
let place: ReturnType<typeof scratch>;
let cityDir: string;
let lock: LifetimeLock;
let done: AbortController;
let heard: string[];
const children: ChildProcess[] = [];
const servers: Server[] = [];

beforeEach(() => {
  place = scratch();
  cityDir = join(place.dir, 'city');
  mkdirSync(join(cityDir, '.gc'), { recursive: true });
  lock = takeLock(cityDir);
  done = new AbortController();
  heard = [];
});
afterEach(async () => {
  done.abort();
  lock.release();
  for (const server of servers.splice(0)) server.close();
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  place.dispose();
});

function takeLock(dir: string): LifetimeLock {
  const taken = acquireLifetimeLock(join(dir, '.gc', 'controller.lock'), { pid: process.pid });
  if (!taken) throw new Error('the lock is held');
  return taken;
}

const serve = (dir = cityDir) =>
  serveControl({
    cityDir: dir,
    env,
    pid: process.pid,
    ids: systemIds,
    lock,
    handlers: {
      stop: () => heard.push('stop'),
      poke: () => heard.push('poke'),
      reload: () => heard.push('reload'),
    },
    signal: done.signal,
  });

const ask = (line: string) =>
  requestLine(controlSocketPath(cityDir, env), line, { connectMs: 1_000, replyMs: 1_000 });

/** A controller in a process of its own: holds the lock and serves. */
async function controllerProcess(dir: string): Promise<ChildProcess> {
  const here = import.meta.dirname;
  const script = `
    import { acquireLifetimeLock } from ${JSON.stringify(join(here, '../platform/lifetime-lock.ts'))};
    import { systemIds } from ${JSON.stringify(join(here, '../platform/ids.ts'))};
    import { serveControl } from ${JSON.stringify(join(here, 'control-socket.ts'))};
    const cityDir = ${JSON.stringify(dir)};
    const lock = acquireLifetimeLock(cityDir + '/.gc/controller.lock', { pid: process.pid });
    if (!lock) { process.stdout.write('refused\\n'); process.exit(3); }
    const none = () => undefined;
    await serveControl({ cityDir, env: ${JSON.stringify(env)}, pid: process.pid, ids: systemIds, lock,
      handlers: { stop: none, poke: none, reload: none }, signal: new AbortController().signal });
    process.stdout.write('serving\\n');
  `;
  const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await once(child.stdout ?? child, 'data');
  return child;
}

describe('the words', () => {
  it('answer one line each and are passed on', async () => {
    await serve();
    expect(await ask('ping')).toBe(String(process.pid));
    expect(await ask('poke')).toBe('ok');
    expect(await ask('reload')).toBe('ok');
    expect(heard).toEqual(['poke', 'reload']);
    expect(await ask('stop')).toBe('ok');
    await eventually(() => heard.includes('stop'));
    expect(await pingController(cityDir, env)).toBe(process.pid);
    expect(await sendControl(cityDir, 'poke', env)).toBe('ok');
  });

  it('that are unknown get no reply and do nothing', async () => {
    await serve();
    for (const word of ['', 'halt', 'toString', 'constructor', 'STOP', '{"stop":1}']) {
      await expect(ask(word)).rejects.toMatchObject({ code: 'no-reply' });
    }
    expect(heard).toEqual([]);
    expect(await ask('ping')).toBe(String(process.pid));
  });

  it('reach nobody where nobody listens', async () => {
    expect(await pingController(cityDir, env)).toBeUndefined();
    expect(await sendControl(cityDir, 'stop', env)).toBeUndefined();
    expect(await pingController(join(place.dir, 'no', 'city'), env)).toBeUndefined();
  });
});

describe('the file', () => {
  it('is owner-only in an owner-only folder and goes with the server', async () => {
    const { path } = await serve();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(join(cityDir, '.gc')).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(cityDir, '.gc')).filter((name) => name.startsWith('.'))).toEqual([]);
    done.abort();
    expect(existsSync(path)).toBe(false);
  });

  it('of a successor is left alone', async () => {
    const { path } = await serve();
    const other = createServer();
    servers.push(other);
    await new Promise<void>((resolve) => other.listen(join(cityDir, '.gc', 'x'), resolve));
    renameSync(join(cityDir, '.gc', 'x'), path);
    const inode = lstatSync(path).ino;
    done.abort();
    expect(lstatSync(path).ino).toBe(inode);
  });

  it('that is not a socket is not replaced', async () => {
    const path = controlSocketPath(cityDir, env);
    writeFileSync(path, 'notes of a person');
    await expect(serve()).rejects.toMatchObject({
      code: 'socket-path-taken',
      next: expect.stringContaining(path),
    });
    expect(statSync(path).size).toBeGreaterThan(0);
  });

  it('on which another program answers is not replaced', async () => {
    const other = createServer((socket) => socket.end());
    servers.push(other);
    const path = controlSocketPath(cityDir, env);
    await new Promise<void>((resolve) => other.listen(path, resolve));
    const inode = lstatSync(path).ino;
    await expect(serve()).rejects.toMatchObject({ code: 'socket-in-use' });
    expect(lstatSync(path).ino).toBe(inode);
  });

  it('has a short path elsewhere when the city lies deep, the same through a symlink', async () => {
    const deep = join(place.dir, 'd'.repeat(60), 'e'.repeat(60));
    mkdirSync(join(deep, '.gc'), { recursive: true });
    symlinkSync(deep, join(place.dir, 'short'));
    const local = { ...env, GC_HOME: join(place.dir, 'home') };
    const path = controlSocketPath(deep, local);
    expect(Buffer.byteLength(path)).toBeLessThanOrEqual(100);
    expect(controlSocketPath(join(place.dir, 'short'), local)).toBe(path);
    lock.release();
    lock = takeLock(deep);
    await serveControl({
      cityDir: deep,
      env: local,
      pid: process.pid,
      ids: systemIds,
      lock,
      handlers: { stop: () => undefined, poke: () => undefined, reload: () => undefined },
      signal: done.signal,
    });
    expect(await pingController(join(place.dir, 'short'), local)).toBe(process.pid);
  });
});

describe('leftovers of a dead controller', () => {
  it('LCK-01, LCK-04, LCK-08 do not keep the next one from starting', async () => {
    lock.release();
    const first = await controllerProcess(cityDir);
    expect(await pingController(cityDir, env)).toBe(first.pid);
    first.kill('SIGKILL');
    await once(first, 'exit');
    expect(existsSync(controlSocketPath(cityDir, env))).toBe(true);
    expect(await pingController(cityDir, env)).toBeUndefined();
    expect(isLockHeld(join(cityDir, '.gc', 'controller.lock'))).toBe(false);
    const second = await controllerProcess(cityDir);
    expect(await pingController(cityDir, env)).toBe(second.pid);
  });

  it('LCK-05 a recorded pid that belongs to somebody else now means nothing', async () => {
    lock.release();
    const stranger = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    children.push(stranger);
    writeFileSync(join(cityDir, '.gc', 'controller.lock.holder'), JSON.stringify({ pid: stranger.pid }));
    writeFileSync(join(cityDir, '.gc', 'controller.pid'), String(stranger.pid));
    expect(await pingController(cityDir, env)).toBeUndefined();
    lock = takeLock(cityDir);
    await serve();
    expect(await pingController(cityDir, env)).toBe(process.pid);
    expect(stranger.exitCode).toBeNull();
  });

  it('a stopped controller is not taken for a dead one', async () => {
    lock.release();
    const first = await controllerProcess(cityDir);
    first.kill('SIGSTOP');
    const second = await controllerProcess(cityDir);
    await once(second, 'exit');
    expect(second.exitCode).toBe(3);
    expect(await pingController(cityDir, env)).toBeUndefined();
    first.kill('SIGCONT');
    expect(await eventually(() => pingController(cityDir, env))).toBe(first.pid);
  });
});
