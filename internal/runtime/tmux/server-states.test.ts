import { existsSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RuntimeUnavailableError } from '../errors.ts';
import { sleeper } from './testing/agents.ts';
import {
  endProcess,
  eventually,
  hasTmux,
  isAlive,
  PrivateServer,
  TRANSPORTS,
  tmuxNote,
} from './testing/private-server.ts';
import type { TmuxBackend } from './tmux-backend.ts';

const never = new AbortController().signal;
const SHORT_SILENCE_MS = 600;

describe.skipIf(!hasTmux).each(TRANSPORTS)(`the tmux server over %s${tmuxNote}`, (transport) => {
  let server: PrivateServer;
  let backend: TmuxBackend;

  beforeEach(() => {
    server = new PrivateServer();
    backend = server.backend(transport, { silenceMs: SHORT_SILENCE_MS });
  });
  afterEach(() => server.dispose());

  const start = (name: string) => backend.create(name, server.launch(sleeper), never);
  const serverPid = () => {
    const pid = server.serverPid();
    if (pid === undefined) throw new Error('no server');
    return pid;
  };

  it('TMX-19 a silent server is unknown within a bounded time, and everything is there afterwards', async () => {
    for (const name of ['a', 'b', 'c']) await start(name);
    const pid = serverPid();
    endProcess(pid, 'SIGSTOP');
    try {
      const began = performance.now();
      expect(await backend.inspectAll()).toMatchObject({ kind: 'unknown' });
      expect(await backend.inspect('a')).toMatchObject({ kind: 'unknown' });
      expect(performance.now() - began).toBeLessThan(10 * SHORT_SILENCE_MS);
      await expect(backend.kill('a', 100)).rejects.toBeInstanceOf(RuntimeUnavailableError);
      await expect(backend.capture('a', 10)).rejects.toBeInstanceOf(RuntimeUnavailableError);
      await expect(backend.getMeta('a', 'X')).rejects.toBeInstanceOf(RuntimeUnavailableError);
      await expect(backend.shutdownIfEmpty()).rejects.toBeInstanceOf(RuntimeUnavailableError);
    } finally {
      endProcess(pid, 'SIGCONT');
    }
    const all = await eventually('it answers again', async () => {
      const answer = await backend.inspectAll();
      return answer.kind === 'seen' && answer;
    });
    expect([...all.sessions.keys()].sort()).toEqual(['a', 'b', 'c']);
    for (const session of all.sessions.values()) expect(session.state.kind).toBe('alive');
  });

  it('a silent server ends no watch and makes no event', async () => {
    await start('a');
    const stop = new AbortController();
    const events: unknown[] = [];
    const watching = (async () => {
      for await (const event of backend.watch(stop.signal)) events.push(event);
    })();
    const pid = serverPid();
    endProcess(pid, 'SIGSTOP');
    expect(await backend.inspectAll()).toMatchObject({ kind: 'unknown' });
    endProcess(pid, 'SIGCONT');
    await eventually('it answers again', async () => (await backend.inspectAll()).kind === 'seen');
    stop.abort();
    await watching;
    expect(events).toEqual([]);
  });

  it('TMX-20 a server that is gone is gone by fact, and the next start makes another', async () => {
    await start('a');
    const found = await backend.inspect('a');
    endProcess(serverPid());
    if (found.kind === 'present' && found.session.state.kind === 'alive') endProcess(found.session.state.pid);
    await eventually(
      'the loss is known',
      async () => (await backend.inspectAll()).kind === 'infrastructure-gone',
    );
    await backend.kill('a', 100);
    expect(await backend.getMeta('a', 'GC_SESSION_ID')).toBe('');
    await start('a');
    expect((await backend.inspect('a')).kind).toBe('present');
  });

  it('survives the end of its last session while another start is under way', async () => {
    for (let round = 0; round < 5; round += 1) {
      await start(`r${round}`);
      await Promise.all([backend.kill(`r${round}`, 1_000), start(`s${round}`)]);
      expect((await backend.inspect(`s${round}`)).kind).toBe('present');
      await backend.kill(`s${round}`, 1_000);
    }
  });

  it('TMX-18 leaves no server behind after the last session', async () => {
    await start('a');
    const pid = serverPid();
    expect(await backend.shutdownIfEmpty()).toBe('sessions-left');
    await backend.kill('a', 1_000);
    expect(await backend.shutdownIfEmpty()).toBe('server-gone');
    expect(isAlive(pid)).toBe(false);
    expect(await backend.inspectAll()).toMatchObject({ kind: 'infrastructure-gone' });
    await start('again');
    expect((await backend.inspect('again')).kind).toBe('present');
  });

  it('TMX-22 the server and its agents outlive the connection', async () => {
    await start('a');
    await backend.close();
    const other = server.backend(transport);
    const found = await other.inspect('a');
    expect(found.kind === 'present' && found.session.state.kind).toBe('alive');
  });

  it('lends a server that it starts nothing of this process but a small environment', async () => {
    const rich = server.backend(transport, {
      env: { ...server.env, SECRET_TOKEN: 'x', GC_CITY: 'y', TMUX: '/x,1,0' },
    });
    await rich.create('a', server.launch(sleeper), never);
    const names = server
      .tmux('show-environment', '-g')
      .split('\n')
      .flatMap((line) => line.split('=')[0] || []);
    expect(names).toContain('PATH');
    for (const name of ['SECRET_TOKEN', 'GC_CITY', 'TMUX', 'VITEST']) expect(names).not.toContain(name);
  });
});

describe.skipIf(!hasTmux)(`the cost of tmux${tmuxNote}`, () => {
  let server: PrivateServer;
  beforeEach(() => {
    server = new PrivateServer();
  });
  afterEach(() => server.dispose());

  const startMany = async (backend: TmuxBackend, count: number) => {
    const names = Array.from({ length: count }, (_, i) => `agent-${i}`);
    await Promise.all(names.map((name) => backend.create(name, server.launch(sleeper), never)));
    return names;
  };

  it('TMX-26 fifty sessions cost no process per look over the control connection', async () => {
    const backend = server.backend('control');
    const names = await startMany(backend, 50);
    await backend.inspectAll();
    server.spawned.length = 0;
    for (let i = 0; i < 5; i += 1) {
      const all = await backend.inspectAll();
      expect(all.kind === 'seen' && all.sessions.size).toBe(50);
    }
    await Promise.all(names.map((name) => backend.capture(name, 50)));
    await Promise.all(names.map((name) => backend.getMeta(name, 'GC_SESSION_ID')));
    expect(server.spawned).toEqual([]);
  });

  it('and at most two with plain commands', async () => {
    const backend = server.backend('plain');
    await startMany(backend, 20);
    server.spawned.length = 0;
    await backend.inspectAll();
    expect(server.spawned.length).toBeLessThanOrEqual(2);
  });

  it('a missing server costs no process at all, and none is started by asking', async () => {
    for (const transport of ['control', 'plain', 'auto'] as const) {
      const backend = server.backend(transport);
      expect(await backend.inspectAll()).toMatchObject({ kind: 'infrastructure-gone' });
      expect(await backend.shutdownIfEmpty()).toBe('server-gone');
    }
    expect(server.spawned).toEqual([]);
    expect(existsSync(server.path(`tmux-${process.getuid?.()}`))).toBe(false);
  });
});
