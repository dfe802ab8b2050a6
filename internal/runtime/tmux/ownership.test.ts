import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SessionExistsError, SessionNotFoundError } from '../errors.ts';
import { chooseSocket } from './choose-socket.ts';
import { recorder, script, sleeper } from './testing/agents.ts';
import {
  eventually,
  hasTmux,
  isAlive,
  PrivateServer,
  TRANSPORTS,
  tmuxNote,
} from './testing/private-server.ts';
import type { TmuxBackend } from './tmux-backend.ts';

const never = new AbortController().signal;

describe.skipIf(!hasTmux).each(TRANSPORTS)(`a shared tmux server over %s${tmuxNote}`, (transport) => {
  let server: PrivateServer;
  let backend: TmuxBackend;

  beforeEach(() => {
    server = new PrivateServer();
    backend = server.backend(transport);
  });
  afterEach(() => server.dispose());

  const start = (name: string, argv = sleeper, more = {}) =>
    backend.create(name, server.launch(argv, more), never);
  const names = async (of: TmuxBackend) => {
    const all = await of.inspectAll();
    return all.kind === 'seen' ? [...all.sessions.keys()].sort() : [all.kind];
  };
  const pidOf = async (name: string) => {
    const found = await backend.inspect(name);
    return found.kind === 'present' && found.session.state.kind === 'alive' ? found.session.state.pid : 0;
  };

  it('TMX-16 TMX-17 leaves the private sessions, keys and options of a person alone', async () => {
    server.tmux('new-session', '-d', '-s', 'private', 'sleep 300');
    server.tmux('bind-key', '-T', 'prefix', 'n', 'display-message', 'mine');
    const keys = server.tmux('list-keys');
    const options = server.tmux('show-options', '-g') + server.tmux('show-options', '-g', '-w');
    const environment = server.tmux('show-environment', '-g');
    await start('a');
    expect(await names(backend)).toEqual(['a']);
    expect(await backend.inspect('private')).toEqual({ kind: 'absent' });
    await expect(backend.paste('private', 'x')).rejects.toBeInstanceOf(SessionNotFoundError);
    await expect(backend.capture('private', 5)).rejects.toBeInstanceOf(SessionNotFoundError);
    await backend.kill('private', 100);
    await expect(start('private')).rejects.toThrow(/not made by this city/);
    await expect(start('private')).rejects.toBeInstanceOf(SessionExistsError);
    await backend.kill('a', 1_000);
    expect(await backend.shutdownIfEmpty()).toBe('others-left');
    expect(server.tmux('list-sessions', '-F', '#{session_name}')).toBe('private\n');
    expect(server.tmux('list-keys')).toBe(keys);
    expect(server.tmux('show-options', '-g') + server.tmux('show-options', '-g', '-w')).toBe(options);
    expect(server.tmux('show-environment', '-g')).toBe(environment);
  });

  it('keeps two cities on one server apart, also where a city id starts with the other', async () => {
    const other = server.backend(transport, { cityId: 'city-ab' });
    await start('mine');
    await other.create('theirs', server.launch(sleeper), never);
    expect(await names(backend)).toEqual(['mine']);
    expect(await names(other)).toEqual(['theirs']);
    await other.kill('mine', 100);
    expect(await names(backend)).toEqual(['mine']);
    expect(await other.getMeta('mine', 'GC_SESSION_ID')).toBe('');
    await backend.kill('mine', 1_000);
    expect(await backend.shutdownIfEmpty()).toBe('others-left');
    expect(await names(other)).toEqual(['theirs']);
  });

  it('is not fooled by a stamp in the global options, nor by metadata in the global environment', async () => {
    await start('a');
    const stamp = server.tmux('show-options', '-v', '-t', '=a:', '@gc_owner').trim();
    const pane = server.tmux('show-options', '-v', '-t', '=a:', '@gc_pane').trim();
    expect(stamp).toBe('city-a/token1');
    server.tmux('set-option', '-g', '@gc_owner', stamp);
    server.tmux('set-option', '-g', '@gc_pane', pane);
    server.tmux(
      'set-option',
      '-g',
      '@gc_session',
      server.tmux('show-options', '-v', '-t', '=a:', '@gc_session').trim(),
    );
    server.tmux('set-environment', '-g', 'GC_DRAIN', 'global');
    server.tmux('new-session', '-d', '-s', 'private', 'sleep 300');
    expect(await names(backend)).toEqual(['a']);
    expect(await backend.inspect('private')).toEqual({ kind: 'absent' });
    const found = await backend.inspect('a');
    expect(found.kind === 'present' && found.session.meta).toEqual({
      GC_SESSION_ID: 's-1',
      GC_INSTANCE_TOKEN: 'token1',
    });
    await backend.kill('private', 100);
    expect(server.tmux('list-sessions', '-F', '#{session_name}')).toContain('private');
  });

  it("TMX-15 ends the agent and keeps a person's split of its session alive", async () => {
    await start('a', recorder(server.path('log')));
    const agent = await pidOf('a');
    server.tmux('split-window', '-b', '-t', '=a:', `echo $$ > '${server.path('mine')}'; exec sleep 300`);
    const mine = await eventually(
      'the split runs',
      () =>
        existsSync(server.path('mine')) && (readFileSync(server.path('mine'), 'utf8').trim() || undefined),
    );
    await backend.kill('a', 500);
    expect(isAlive(agent)).toBe(false);
    expect(isAlive(Number(mine))).toBe(true);
    expect(await backend.inspect('a')).toEqual({ kind: 'absent' });
    await start('a');
    expect(await names(backend)).toEqual(['a']);
    expect(isAlive(Number(mine))).toBe(true);
  });

  it("closes a person's split as usual when its program ends, and calls a closed agent pane dead", async () => {
    await start('a');
    server.tmux('split-window', '-t', '=a:', 'true');
    await eventually(
      'the split is gone',
      () => server.tmux('list-panes', '-t', '=a:').trim().split('\n').length === 1,
    );
    const agent = await pidOf('a');
    server.tmux('split-window', '-t', '=a:', 'sleep 300');
    server.tmux('kill-pane', '-t', server.tmux('show-options', '-v', '-t', '=a:', '@gc_pane').trim());
    await eventually('the agent ended', () => !isAlive(agent));
    const found = await backend.inspect('a');
    expect(found.kind === 'present' && found.session.state).toEqual({
      kind: 'dead',
      exit: {},
      lastLines: '',
    });
    await backend.kill('a', 100);
    expect(await backend.inspect('a')).toEqual({ kind: 'absent' });
    await start('a');
  });

  it('keeps metadata when a person attaches and tmux updates the environment', async () => {
    await start('a', sleeper, { env: { SSH_AUTH_SOCK: '/agent.sock', GC_SESSION_ID: 's' } });
    expect(server.tmux('show-options', '-t', '=a:', 'update-environment')).not.toContain('SSH');
    expect(server.tmux('show-environment', '-t', '=a')).toBe('GC_SESSION_ID=s\nSSH_AUTH_SOCK=/agent.sock\n');
  });

  it('hides the keeper', async () => {
    await start('a');
    const sessions = server.tmux('list-sessions', '-F', '#{session_name}').trim().split('\n').sort();
    expect(sessions).toEqual(transport === 'control' ? ['a', 'gc+keeper-city-a'] : ['a']);
    expect(await names(backend)).toEqual(['a']);
    expect(server.tmux('list-panes', '-a', '-F', '#{session_name} #{pane_dead}')).toContain('a 0');
  });
});

describe.skipIf(!hasTmux)(`the socket of a city${tmuxNote}`, () => {
  let server: PrivateServer;
  beforeEach(() => {
    server = new PrivateServer();
  });
  afterEach(() => server.dispose());

  const choose = (cityId: string, more = {}) =>
    chooseSocket({ cityName: server.socketName, cityId, env: server.env, ...more });

  it('is the configured one, else the name of the city', async () => {
    expect(await choose('city-a', { configured: 'mine' })).toEqual({ socketName: 'mine', why: 'configured' });
    expect(await choose('city-a')).toEqual({ socketName: server.socketName, why: 'city-name' });
  });

  it.each(TRANSPORTS)(
    'NAM-03 is another one where the name belongs to another city (%s)',
    async (transport) => {
      await server.backend(transport).create('a', server.launch(sleeper), never);
      expect(await choose('city-a')).toEqual({ socketName: server.socketName, why: 'city-name' });
      const other = await choose('city-b');
      expect(other.why).toBe('name-taken-by-another-city');
      expect(other.socketName).toMatch(new RegExp(`^${server.socketName}-[0-9a-f]{6}$`));
      expect(await choose('city-b')).toEqual(other);
    },
  );

  it("stays with the name where only a person's sessions are", async () => {
    server.tmux('new-session', '-d', '-s', 'private', 'sleep 300');
    expect((await choose('city-a')).why).toBe('city-name');
  });

  it('is a usable file name of bounded length', async () => {
    expect((await choose('c', { cityName: 'a/b' })).socketName).toBe('a-b');
    expect((await choose('c', { cityName: '../..' })).socketName).not.toContain('/');
    expect((await choose('c', { cityName: 'x'.repeat(300) })).socketName).toMatch(/^gc-[0-9a-f]{6}$/);
    expect((await choose('c', { cityName: '' })).socketName).toMatch(/^gc-[0-9a-f]{6}$/);
  });
});

describe.skipIf(!hasTmux)(`choosing how to talk to tmux${tmuxNote}`, () => {
  let server: PrivateServer;
  beforeEach(() => {
    server = new PrivateServer();
  });
  afterEach(() => server.dispose());

  /** A tmux program that behaves as `body` says before it does what it is told. */
  const wrapper = (body: string) => {
    const path = server.path('tmux-wrapper');
    writeFileSync(path, `#!/bin/sh\n${body}\nexec tmux "$@"\n`, { mode: 0o755 });
    return path;
  };

  it('uses the control connection, and plain commands where it is refused, and says so once', async () => {
    const backend = server.backend('auto');
    await backend.create('a', server.launch(sleeper), never);
    expect(backend.transportKind).toBe('control');

    const notices: string[] = [];
    const tmuxPath = wrapper('case "$1" in -C) echo "no control here" >&2; exit 1;; esac');
    const limited = server.backend('auto', { tmuxPath, onNotice: (text) => notices.push(text) });
    await limited.create('b', server.launch(script('echo hi; exec sleep 300')), never);
    expect(limited.transportKind).toBe('plain');
    await eventually('it is up', async () => (await limited.capture('b', 5)).lines.includes('hi'));
    expect(notices).toEqual(['tmux control connection refused, using plain commands: no control here']);
    expect(limited.pollMs).toBeGreaterThan(backend.pollMs);
  });

  it('never uses the control mode of a version whose server it can crash', async () => {
    const tmuxPath = wrapper('case "$1" in -V) echo "tmux 3.2a"; exit 0;; esac');
    const backend = server.backend('auto', { tmuxPath });
    await backend.create('a', server.launch(sleeper), never);
    expect(backend.transportKind).toBe('plain');
    expect(server.spawned.filter((argv) => argv.includes('-C'))).toEqual([]);
  });

  it('tells an old or missing tmux apart, with what to do', async () => {
    const old = server.backend('plain', {
      tmuxPath: wrapper('case "$1" in -V) echo "tmux 3.1c"; exit 0;; esac'),
    });
    await expect(old.version()).rejects.toMatchObject({
      code: 'tmux-too-old',
      next: expect.stringContaining('3.2'),
    });
    const missing = server.backend('plain', { tmuxPath: server.path('nowhere') });
    await expect(missing.version()).rejects.toMatchObject({ code: 'tmux-not-found' });
    expect((await server.backend('plain').version()).supported).toBe(true);
  });

  it.each(TRANSPORTS)(
    'TMX-25 a tmux that refuses a flag is an error with its reason (%s)',
    async (transport) => {
      const backend = server.backend(transport);
      await backend.create('a', server.launch(sleeper), never);
      const broken = wrapper('case "$*" in *paste-buffer*) echo "unknown flag -r" >&2; exit 1;; esac');
      await expect(server.backend('plain', { tmuxPath: broken }).paste('a', 'x')).rejects.toThrow(
        /unknown flag -r/,
      );
    },
  );

  it('keeps the server alive when connections come and go in a hurry', async () => {
    await server.backend('plain').create('a', server.launch(sleeper), never);
    const pid = server.serverPid() ?? 0;
    for (let i = 0; i < 20; i += 1) {
      const backend = server.backend('control');
      const looking = backend.inspectAll();
      await backend.close();
      await looking;
    }
    expect(isAlive(pid)).toBe(true);
    expect((await server.backend('control').inspect('a')).kind).toBe('present');
  });
});
