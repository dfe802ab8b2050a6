import { type ChildProcess, spawn } from 'node:child_process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RuntimeEvent } from '../provider.ts';
import { script, sleeper } from './testing/agents.ts';
import {
  endProcess,
  eventually,
  hasTmux,
  PrivateServer,
  TRANSPORTS,
  tmuxNote,
} from './testing/private-server.ts';
import type { TmuxBackend } from './tmux-backend.ts';

const never = new AbortController().signal;

describe.skipIf(!hasTmux).each(TRANSPORTS)(`tmux watch over %s${tmuxNote}`, (transport) => {
  let server: PrivateServer;
  let backend: TmuxBackend;
  let events: RuntimeEvent[];
  let stop: AbortController;
  let watching: Promise<void>;
  const people: ChildProcess[] = [];

  beforeEach(() => {
    server = new PrivateServer();
    backend = server.backend(transport);
    events = [];
    stop = new AbortController();
  });
  afterEach(async () => {
    stop.abort();
    await watching;
    for (const person of people.splice(0)) person.kill('SIGKILL');
    await server.dispose();
  });

  const watch = () => {
    watching = (async () => {
      for await (const event of backend.watch(stop.signal)) events.push(event);
    })();
  };
  const start = (name: string, argv = sleeper) => backend.create(name, server.launch(argv), never);
  const seen = (kind: RuntimeEvent['kind'], name?: string) =>
    events.filter((e) => e.kind === kind && (name === undefined || ('name' in e && e.name === name)));
  const settled = () => eventually('the watch has looked', () => seen('activity', 'beat').length > 0);
  const pidOf = async (name: string) => {
    const found = await backend.inspect(name);
    if (found.kind !== 'present' || found.session.state.kind !== 'alive')
      throw new Error(`${name} is not alive`);
    return found.session.state.pid;
  };
  const beat = script('while :; do echo beat; sleep 0.5; done');
  /** A person's terminal on the session, in a PTY of its own. */
  const attachPerson = (name: string) => {
    const command = `tmux -u -L ${server.socketName} attach-session -t =${name}`;
    const child = spawn('script', ['-qfc', command, '/dev/null'], {
      env: { ...server.env, TERM: 'xterm-256color' },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    people.push(child);
  };

  it('reports an end once, with code or signal and the last lines', async () => {
    await start('beat', beat);
    await start('killed');
    watch();
    await settled();
    await start('code', script('echo bye; sleep 0.3; exit 5'));
    endProcess(await pidOf('killed'), 'SIGTERM');
    await eventually('both ends are told', () => seen('exited').length >= 2);
    events.splice(0, events.length, ...events.filter((e) => e.kind === 'exited'));
    await settled();
    expect(seen('exited', 'code')).toEqual([
      { kind: 'exited', name: 'code', exit: { code: 5 }, lastLines: 'bye' },
    ]);
    expect(seen('exited', 'killed')).toEqual([
      { kind: 'exited', name: 'killed', exit: { signal: 'SIGTERM' }, lastLines: '' },
    ]);
    expect(seen('exited')).toHaveLength(2);
  });

  it('says nothing of ends that we caused, and something of a session that a person removed', async () => {
    await start('beat', beat);
    await start('ours');
    await start('theirs');
    watch();
    await settled();
    await backend.kill('ours', 1_000);
    server.tmux('kill-session', '-t', '=theirs');
    await eventually('the removal is told', () => seen('exited', 'theirs').length > 0);
    expect(seen('exited')).toEqual([{ kind: 'exited', name: 'theirs', exit: {}, lastLines: '' }]);
  });

  it('tells when people come and go, and counts every terminal', async () => {
    await start('beat', beat);
    await start('desk');
    watch();
    await settled();
    attachPerson('desk');
    await eventually('one is there', () => seen('attached', 'desk').length === 1);
    attachPerson('desk');
    await eventually('two are there', () => seen('attached', 'desk').length === 2);
    const both = await backend.inspect('desk');
    expect(both.kind === 'present' && both.session.attached).toBe(2);
    const [terminal] = server.tmux('list-clients', '-t', '=desk', '-F', '#{client_tty}').split('\n');
    server.tmux('detach-client', '-t', terminal ?? '');
    await eventually('one left', () => seen('detached', 'desk').length >= 1);
    const found = await backend.inspect('desk');
    expect(found.kind === 'present' && found.session.attached).toBe(1);
    expect(found.kind === 'present' && found.session.state.kind).toBe('alive');
    expect(seen('attached', 'beat')).toEqual([]);
  });

  it('tells one event when the server is gone, and goes on when it is back', async () => {
    await start('beat', beat);
    await start('b');
    watch();
    await settled();
    const pid = server.serverPid();
    if (pid === undefined) throw new Error('no server');
    const agents = [await pidOf('beat'), await pidOf('b')];
    endProcess(pid);
    await eventually('the loss is told', () => seen('infrastructure-gone').length > 0);
    for (const agent of agents) endProcess(agent);
    expect(await backend.inspectAll()).toMatchObject({ kind: 'infrastructure-gone' });
    expect(await backend.inspect('b')).toEqual({ kind: 'absent' });
    await backend.kill('b', 100);
    events = [];
    await start('beat', beat);
    await settled();
    endProcess(await pidOf('beat'));
    await eventually('the end is told', () => seen('exited', 'beat').length > 0);
    expect(seen('infrastructure-gone')).toEqual([]);
  });

  it('a server replaced between two looks is one loss, not many ends', async () => {
    await start('beat', beat);
    await start('b');
    watch();
    await settled();
    const old = server.serverPid() ?? 0;
    const agents = [await pidOf('beat'), await pidOf('b')];
    endProcess(old);
    for (const agent of agents) endProcess(agent);
    await eventually('another server is up', () => {
      try {
        return server.tmux('new-session', '-d', '-s', 'mine', 'sleep 300') === '';
      } catch {
        return false; // the old one is on its way out
      }
    });
    await eventually('the loss is told', () => seen('infrastructure-gone').length > 0);
    expect(seen('infrastructure-gone')).toHaveLength(1);
    expect(seen('exited')).toEqual([]);
  });
});
