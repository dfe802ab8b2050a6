import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { isLockHeld } from '../../platform/lifetime-lock.ts';
import { PROTOCOL_VERSION } from '../host/protocol.ts';
import { HOST_LINGER_MS } from '../host/run-host.ts';
import { hostLockFile, hostSocketPath } from '../host/runtime-files.ts';
import type { RuntimeEvent } from '../provider.ts';
import type { HostBackend } from './host-backend.ts';
import {
  deathOf,
  HostFixture,
  hostCommand,
  isAlive,
  NEVER,
  pidOf,
  screenHas,
  sessionOf,
  shell,
  until,
} from './host-fixture.ts';

const SLEEP = shell('exec sleep 300');
/** Lives on when its terminal goes. */
const TOUGH = shell(`trap '' HUP; echo up; while :; do sleep 1; done`);

let fixture: HostFixture;
let backend: HostBackend;
beforeEach(() => {
  fixture = new HostFixture();
  backend = fixture.backend();
});
afterEach(() => fixture.dispose());

/** Gathers events in the background. */
function watching(from: HostBackend): { events: RuntimeEvent[]; stop(): Promise<void> } {
  const events: RuntimeEvent[] = [];
  const lifetime = new AbortController();
  const done = (async () => {
    for await (const event of from.watch(lifetime.signal)) if (event.kind !== 'activity') events.push(event);
  })();
  return {
    events,
    stop: () => {
      lifetime.abort();
      return done;
    },
  };
}

const killHost = async (): Promise<void> => {
  process.kill(fixture.hostPid, 'SIGKILL');
  await until('the host is dead', () => !isLockHeld(hostLockFile(fixture.dir)));
};

describe('the controller', () => {
  it('may die: agents, screens, metadata and exits wait for the next one', async () => {
    await backend.create(
      'lives',
      shell('echo hello; exec sleep 300', { env: { PATH: '/bin', GC_SESSION_ID: 's1' } }),
      NEVER,
    );
    await backend.create('ends', shell('read x; echo bye; exit 4'), NEVER);
    await screenHas(backend, 'lives', 'hello');
    const pid = await pidOf(backend, 'lives');
    await backend.sendKeys('ends', ['Enter']);
    await backend.close();
    const next = fixture.backend();
    expect(await pidOf(next, 'lives')).toBe(pid);
    expect(await next.getMeta('lives', 'GC_SESSION_ID')).toBe('s1');
    expect((await next.capture('lives', 0)).lines).toContain('hello');
    expect(await deathOf(next, 'ends')).toMatchObject({ exit: { code: 4 } });
    const watch = watching(next);
    const told = await until('the exit is told', () => watch.events[0]);
    expect(told).toEqual({ kind: 'exited', name: 'ends', exit: { code: 4 }, lastLines: 'bye' });
    await watch.stop();
  });

  it('is told of an exit again until it took notice', async () => {
    await backend.create('ends', shell('exit 4'), NEVER);
    await deathOf(backend, 'ends');
    const visitor = fixture.backend('visitor');
    for (const [who, times] of [
      [visitor, 1],
      [visitor, 1],
      [backend, 1],
      [backend, 0],
    ] as const) {
      const watch = watching(who);
      await backend.create('marker', shell('exit 0'), NEVER);
      await until('the marker is told', () =>
        watch.events.some((e) => e.kind === 'exited' && e.name === 'marker'),
      );
      expect(watch.events.filter((e) => e.kind === 'exited' && e.name === 'ends')).toHaveLength(times);
      await watch.stop();
      await backend.kill('marker', 0);
    }
    expect((await sessionOf(backend, 'ends')).state.kind).toBe('dead');
  });

  it('killed hard leaves its agents alone, and the host outlives it', async () => {
    const script = `
      import { HostFixture, NEVER, shell, hostCommand } from ${JSON.stringify(new URL('./host-fixture.ts', import.meta.url).href)};
      import { HostBackend } from ${JSON.stringify(new URL('./host-backend.ts', import.meta.url).href)};
      import { systemClock } from ${JSON.stringify(new URL('../../platform/clock.ts', import.meta.url).href)};
      import { systemIds } from ${JSON.stringify(new URL('../../platform/ids.ts', import.meta.url).href)};
      const backend = new HostBackend({ dir: process.argv[2], cityId: 'test-city', hostCommand, env: {}, clock: systemClock, ids: systemIds });
      await backend.create('orphan', shell('echo mine; exec sleep 300'), NEVER);
      process.kill(process.pid, 'SIGKILL');`;
    const file = join(fixture.dir, 'controller.mts');
    writeFileSync(file, script);
    const controller = spawn(process.execPath, [...hostCommand.slice(1, -1), file, fixture.dir], {
      stdio: 'inherit',
    });
    const [, signal] = await once(controller, 'exit');
    expect(signal).toBe('SIGKILL');
    await screenHas(backend, 'orphan', 'mine');
    expect((await sessionOf(backend, 'orphan')).state.kind).toBe('alive');
  });
});

describe('the host', () => {
  it('killed hard: its agents are ended by the ledger, told once, and can be started again', async () => {
    await backend.create('soft', SLEEP, NEVER);
    await backend.create('tough', TOUGH, NEVER);
    await backend.create('piped', shell(`trap '' HUP; exec sleep 300`, { pty: false }), NEVER);
    await screenHas(backend, 'tough', 'up');
    const pids = await Promise.all(['soft', 'tough', 'piped'].map((name) => pidOf(backend, name)));
    const watch = watching(backend);
    await backend.create('last', SLEEP, NEVER);
    await killHost();
    const gone = await until('the loss is seen', async () => {
      const all = await backend.inspectAll();
      return all.kind !== 'unknown' && all;
    });
    expect(gone).toMatchObject({ kind: 'infrastructure-gone', what: /last, piped, soft, tough|soft/ });
    expect(pids.filter(isAlive)).toEqual([]);
    expect(await backend.inspectAll()).toEqual({ kind: 'seen', sessions: new Map() });
    expect(await backend.inspect('tough')).toEqual({ kind: 'absent' });
    await until('the watch was told', () => watch.events.length > 0);
    await backend.create('tough', TOUGH, NEVER);
    await screenHas(backend, 'tough', 'up');
    expect(watch.events.filter((e) => e.kind === 'infrastructure-gone')).toHaveLength(1);
    expect(watch.events.filter((e) => e.kind === 'exited')).toEqual([]);
    expect(await backend.inspectAll()).toMatchObject({ kind: 'seen' });
    await watch.stop();
  });

  it('killed hard while nobody looked: the next controller is told, a visitor leaves it to be told', async () => {
    await backend.create('tough', TOUGH, NEVER);
    await screenHas(backend, 'tough', 'up');
    const pid = await pidOf(backend, 'tough');
    await backend.close();
    await killHost();
    const visitor = fixture.backend('visitor');
    expect(await visitor.inspect('tough')).toEqual({ kind: 'absent' });
    expect(isAlive(pid)).toBe(false);
    await visitor.create('other', SLEEP, NEVER);
    const next = fixture.backend();
    expect(await next.inspectAll()).toMatchObject({ kind: 'infrastructure-gone', what: /tough/ });
    const all = await next.inspectAll();
    expect(all.kind === 'seen' && [...all.sessions.keys()]).toEqual(['other']);
  });

  it('without sessions is no loss', async () => {
    await backend.create('brief', SLEEP, NEVER);
    await backend.kill('brief', 0);
    await killHost();
    expect(await backend.inspectAll()).toEqual({ kind: 'seen', sessions: new Map() });
  });

  it('that is stopped is unknown, not gone; nothing was created once it goes on', async () => {
    await backend.create('one', SLEEP, NEVER);
    const host = fixture.hostPid;
    const pid = await pidOf(backend, 'one');
    process.kill(host, 'SIGSTOP');
    expect((await backend.inspect('one')).kind).toBe('unknown');
    expect((await backend.inspectAll()).kind).toBe('unknown');
    await expect(backend.kill('one', 0)).rejects.toMatchObject({ code: 'runtime-unavailable' });
    const late = new AbortController();
    const creation = backend.create('two', SLEEP, late.signal);
    late.abort(new Error('no patience'));
    await expect(creation).rejects.toThrow();
    process.kill(host, 'SIGCONT');
    await until('the host answers', async () => (await backend.inspect('one')).kind === 'present');
    expect(await pidOf(backend, 'one')).toBe(pid);
    expect(await backend.inspect('two')).toEqual({ kind: 'absent' });
    expect(fixture.hostPid).toBe(host);
  });

  it('told to end, ends its agents gracefully and says that they are lost', async () => {
    const file = join(fixture.dir, 'saved');
    await backend.create(
      'polite',
      shell(`trap 'echo x >${file}; exit 0' TERM; echo up; while :; do sleep 0.05; done`),
      NEVER,
    );
    await screenHas(backend, 'polite', 'up');
    process.kill(fixture.hostPid, 'SIGTERM');
    await until('the host has ended', () => !isLockHeld(hostLockFile(fixture.dir)));
    expect(existsSync(file)).toBe(true);
    expect(existsSync(hostSocketPath(fixture.dir))).toBe(false);
    expect(await backend.inspectAll()).toMatchObject({ kind: 'infrastructure-gone', what: /polite/ });
    expect(await backend.inspectAll()).toEqual({ kind: 'seen', sessions: new Map() });
    expect(readdirSync(join(fixture.dir, 'ledger'))).toEqual([]);
  });

  it('ends by itself when it has neither sessions nor clients, and not before', async () => {
    await backend.create('brief', SLEEP, NEVER);
    await backend.close();
    await systemClock.sleep(HOST_LINGER_MS + 1_000);
    const second = fixture.backend();
    expect((await sessionOf(second, 'brief')).state.kind).toBe('alive');
    await second.kill('brief', 0);
    await second.close();
    expect(isLockHeld(hostLockFile(fixture.dir))).toBe(true);
    await until('it has ended', () => !isLockHeld(hostLockFile(fixture.dir)), HOST_LINGER_MS + 5_000);
    expect(fixture.log()).toContain('nothing to do');
  });

  it('TMX-18 is let go at once when its city stopped, and not while it has sessions', async () => {
    await backend.create('one', SLEEP, NEVER);
    await backend.release();
    expect((await sessionOf(backend, 'one')).state.kind).toBe('alive');
    await backend.kill('one', 0);
    await backend.release();
    expect(isLockHeld(hostLockFile(fixture.dir))).toBe(false);
    expect(fixture.log()).toContain('the city stopped');
    await backend.release();
  });

  it('is one, however many start it at once', async () => {
    const backends = Array.from({ length: 6 }, () => fixture.backend());
    await Promise.all(backends.map((one, i) => one.create(`s-${i}`, SLEEP, NEVER)));
    const all = await backend.inspectAll();
    expect(all.kind === 'seen' && all.sessions.size).toBe(6);
    expect(fixture.log().match(/serving/g)).toHaveLength(1);
    const same = await Promise.allSettled(backends.map((one) => one.create('same', SLEEP, NEVER)));
    expect(same.filter((r) => r.status === 'fulfilled')).toHaveLength(1);
  });

  it('is not hurt by a stale socket, or by garbage on its own', async () => {
    writeFileSync(hostSocketPath(fixture.dir), 'no socket at all');
    await backend.create('one', SLEEP, NEVER);
    const send = async (bytes: string | Buffer): Promise<string> => {
      const socket = connect(hostSocketPath(fixture.dir));
      let answer = '';
      socket.on('data', (chunk) => {
        answer += String(chunk);
      });
      socket.on('error', () => undefined); // it may close in our face
      socket.write(bytes);
      await new Promise((resolve) => socket.on('close', resolve));
      return answer;
    };
    const hello = '{"t":"hello","version":1,"oldest":0,"city":"test-city"}\n';
    expect(await send('GET / HTTP/1.1\r\n\r\n')).toContain('bad-message');
    expect(await send(Buffer.from([0, 255, 254, 10]))).toContain('bad-message');
    expect(await send('{"t":"request","id":1,"request":{"op":"list"}}\n')).toContain('greeting');
    expect(await send('{"t":"hello","version":9,"oldest":8,"city":"test-city"}\n')).toContain(
      'protocol-version',
    );
    expect(
      await send(`${hello}{"t":"request","id":2,"request":{"op":"kill","name":"../one","graceMs":0}}\n`),
    ).toContain('bad-message');
    expect(await send(`${hello}{"t":"attach","name":"nobody","size":{"columns":80,"rows":24}}\n`)).toContain(
      'session-not-found',
    );
    expect(await send(Buffer.concat([Buffer.from(hello), Buffer.alloc(5_000_000, 0x61)]))).toContain(
      'welcome',
    );
    const rude = connect(hostSocketPath(fixture.dir));
    rude.write(hello + '{"t":"request","id":3,"request":{"op":"watch"}}\n'.repeat(50));
    await once(rude, 'data');
    rude.destroy();
    expect((await sessionOf(backend, 'one')).state.kind).toBe('alive');
  });

  it.each([
    ['ahead', { version: PROTOCOL_VERSION + 1, oldest: PROTOCOL_VERSION }, PROTOCOL_VERSION],
    ['behind', { version: PROTOCOL_VERSION - 1, oldest: 0 }, PROTOCOL_VERSION - 1],
  ])('greets a client that is one version %s', async (_where, spoken, agreed) => {
    await backend.create('one', SLEEP, NEVER);
    const socket = connect(hostSocketPath(fixture.dir));
    socket.write(`${JSON.stringify({ t: 'hello', ...spoken, city: 'test-city', more: true })}\n`);
    const [answer] = await once(socket, 'data');
    expect(JSON.parse(String(answer))).toMatchObject({ t: 'welcome', version: agreed });
    socket.destroy();
  });
});
