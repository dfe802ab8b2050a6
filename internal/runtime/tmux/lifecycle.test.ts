import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SessionExistsError, SessionNotFoundError } from '../errors.ts';
import { forker, recorder, script, sleeper, stubborn } from './testing/agents.ts';
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

describe.skipIf(!hasTmux).each(TRANSPORTS)(`tmux sessions over %s${tmuxNote}`, (transport) => {
  let server: PrivateServer;
  let backend: TmuxBackend;

  beforeEach(() => {
    server = new PrivateServer({ LEAKED_SECRET: 'no', GC_DRAIN: 'from-the-server' });
    backend = server.backend(transport);
  });
  afterEach(() => server.dispose());

  const stateOf = async (name: string) => {
    const found = await backend.inspect(name);
    return found.kind === 'present' ? found.session.state : undefined;
  };
  const start = (name: string, argv = sleeper, more = {}) =>
    backend.create(name, server.launch(argv, more), never);

  const written = (file: string, isWhole: (text: string) => boolean): string | undefined => {
    const path = server.path(file);
    const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
    return isWhole(text) ? text : undefined;
  };

  it('creates, lists, inspects and ends a session', async () => {
    expect(await backend.inspectAll()).toMatchObject({ kind: 'infrastructure-gone' });
    expect(server.spawned).toHaveLength(0);
    await start('mayor');
    const all = await eventually('the program runs', async () => {
      const look = await backend.inspectAll();
      return look.kind === 'seen' && look.sessions.get('mayor')?.processNames?.join() === 'sleep' && look;
    });
    expect([...all.sessions.keys()]).toEqual(['mayor']);
    const session = all.sessions.get('mayor');
    expect(session).toMatchObject({
      name: 'mayor',
      attached: 0,
      meta: { GC_SESSION_ID: 's-1', GC_INSTANCE_TOKEN: 'token1' },
    });
    expect(session?.lastActivity).toBeGreaterThan(Date.UTC(2020, 0, 1));
    const state = await stateOf('mayor');
    if (state?.kind !== 'alive') throw new Error('not alive');
    expect(isAlive(state.pid)).toBe(true);
    await backend.kill('mayor', 2_000);
    expect(isAlive(state.pid)).toBe(false);
    expect(await backend.inspect('mayor')).toEqual({ kind: 'absent' });
    await backend.kill('mayor', 2_000);
  });

  it('refuses a name that is taken, alive or dead, and touches nothing of it', async () => {
    await start('a');
    const before = await stateOf('a');
    await expect(start('a', stubborn)).rejects.toBeInstanceOf(SessionExistsError);
    expect(await stateOf('a')).toEqual(before);
    await start('b', script('exit 3'));
    await eventually('b is dead', async () => (await stateOf('b'))?.kind === 'dead');
    await expect(start('b')).rejects.toBeInstanceOf(SessionExistsError);
  });

  it('lets exactly one of many starters of one name win', async () => {
    const results = await Promise.allSettled([1, 2, 3, 4].map(() => start('one')));
    expect(results.filter((r) => r.status === 'fulfilled')).toHaveLength(1);
    for (const r of results) if (r.status === 'rejected') expect(r.reason).toBeInstanceOf(SessionExistsError);
  });

  it('refuses names that tmux would change or take for a target', async () => {
    for (const name of ['', 'a.b', 'a:b', 'a b', '=a', '%1', '$1', 'ü', 'a/b', 'x'.repeat(201)]) {
      await expect(start(name)).rejects.toThrow(/invalid session name/);
    }
    expect(server.spawned).toHaveLength(0);
  });

  it('NAM-02 acts on the exact name only, never on one that starts with it', async () => {
    await start('worker-10', recorder(server.path('log')));
    await eventually('it is ready', async () =>
      (await backend.capture('worker-10', 0)).lines.includes('READY>'),
    );
    await expect(backend.paste('worker-1', 'x')).rejects.toBeInstanceOf(SessionNotFoundError);
    await expect(backend.sendKeys('worker-1', ['x'])).rejects.toBeInstanceOf(SessionNotFoundError);
    await expect(backend.interrupt('worker-1')).rejects.toBeInstanceOf(SessionNotFoundError);
    await expect(backend.capture('worker-1', 5)).rejects.toBeInstanceOf(SessionNotFoundError);
    await expect(backend.wake('worker-1')).rejects.toBeInstanceOf(SessionNotFoundError);
    await expect(backend.clearScrollback('worker-1')).rejects.toBeInstanceOf(SessionNotFoundError);
    await expect(backend.setMeta('worker-1', 'K', 'v')).rejects.toBeInstanceOf(SessionNotFoundError);
    await expect(backend.attach('worker-1')).rejects.toBeInstanceOf(SessionNotFoundError);
    await backend.removeMeta('worker-1', 'GC_SESSION_ID');
    expect(await backend.getMeta('worker-1', 'GC_SESSION_ID')).toBe('');
    await backend.kill('worker-1', 1_000);
    expect(await backend.inspect('worker-1')).toEqual({ kind: 'absent' });
    expect((await stateOf('worker-10'))?.kind).toBe('alive');
    expect(await backend.getMeta('worker-10', 'GC_SESSION_ID')).toBe('s-1');
    expect(readFileSync(server.path('log'), 'utf8')).toBe('');
  });

  it('TMX-10 keeps exit code and last lines of a command that ends at once or cannot be run', async () => {
    await start('gone', ['no-such-binary', '--x']);
    await start('quick', script('echo last words; sleep 0.1; exit 7'));
    const [gone, quick] = await eventually('both ended', async () => {
      const states = [await stateOf('gone'), await stateOf('quick')];
      return states.every((s) => s?.kind === 'dead') ? states : undefined;
    });
    expect(gone).toMatchObject({ kind: 'dead', exit: { code: 127 } });
    // tmux drops what a program printed in the very moment of its exit, about once in fifty times.
    if (gone?.kind === 'dead' && gone.lastLines) expect(gone.lastLines).toContain('no-such-binary');
    expect(quick).toEqual({ kind: 'dead', exit: { code: 7 }, lastLines: 'last words' });
  });

  it('names the signal that ended an agent', async () => {
    await start('victim', script('echo working; exec sleep 300'));
    await eventually('it works', async () => (await backend.capture('victim', 0)).lines.includes('working'));
    const state = await stateOf('victim');
    if (state?.kind !== 'alive') throw new Error('not alive');
    endProcess(state.pid);
    const dead = await eventually('it is dead', async () => {
      const now = await stateOf('victim');
      return now?.kind === 'dead' ? now : undefined;
    });
    expect(dead).toEqual({ kind: 'dead', exit: { signal: 'SIGKILL' }, lastLines: 'working' });
  });

  it('gives a session its own environment and nothing of the server or of this process', async () => {
    const env = {
      PLAIN: 'v',
      QUOTES: `a'b"c$HOME \\ ~ #{pid} ;`,
      LINES_TWO: 'one\ntwo',
      BLANK_END: 'x  ',
      GC_RIG: 'r',
    };
    const dump = `env -0 > '${server.path('env')}'; exec sleep 300`;
    await start('e', script(dump), { env, unsetEnv: ['GC_RIG', 'LANG'] });
    const text = await eventually('it wrote its environment', () =>
      written('env', (t) => t.includes('PWD=')),
    );
    const seen = new Map(
      text.split('\0').map((pair) => [pair.split('=')[0], pair.slice(pair.indexOf('=') + 1)]),
    );
    for (const key of ['PLAIN', 'QUOTES', 'LINES_TWO', 'BLANK_END'] as const)
      expect(seen.get(key)).toBe(env[key]);
    for (const key of ['GC_RIG', 'LANG', 'LEAKED_SECRET', 'GC_DRAIN', 'VITEST', 'NODE_ENV']) {
      expect(seen.has(key), key).toBe(false);
    }
    expect(seen.get('HOME')).toBe(server.root);
    expect(await backend.getMeta('e', 'LINES_TWO')).toBe('one\ntwo');
    expect(await backend.getMeta('e', 'BLANK_END')).toBe('x  ');
    expect(await backend.getMeta('e', 'GC_RIG')).toBe('');
  });

  it('starts with an empty environment, and hides what a foreign server would lend', async () => {
    server.tmux('new-session', '-d', '-s', 'private', 'sleep 300');
    server.tmux('set-environment', '-g', 'LENT_NAME', 'lent');
    server.tmux('set-environment', '-g', 'GC_SESSION_ID', 'somebody-else');
    await start('e', script(`env > '${server.path('env')}'; exec sleep 300`), { env: {} });
    const text = await eventually('it wrote its environment', () =>
      written('env', (t) => t.includes('PWD=')),
    );
    expect(text).not.toMatch(/LENT_NAME|GC_SESSION_ID/);
    expect(await backend.getMeta('e', 'GC_SESSION_ID')).toBe('');
    const found = await backend.inspect('e');
    expect(found.kind === 'present' && found.session.meta).toEqual({});
  });

  it('passes arguments as they are', async () => {
    const words = [
      '-x',
      ';',
      'a;',
      '\\;',
      '#{pid}',
      '$HOME',
      '~',
      "it's",
      '"',
      'two\nlines',
      '',
      '%1',
      'ünï',
      '{',
      '}',
    ];
    const show = `for a in "$@"; do printf '%s\\0' "$a"; done > '${server.path('args')}'; exec sleep 300`;
    await start('args', [...script(show), 'sh', ...words]);
    const text = await eventually('it wrote its arguments', () => written('args', (t) => t.endsWith('}\0')));
    expect(text.split('\0').slice(0, -1)).toEqual(words);
  });

  it('takes a command and an environment larger than a tmux command line', async () => {
    const big = 'x'.repeat(100_000);
    await start('big', script('exec sleep 300'), { env: { BIG: big, GC_SESSION_ID: 'b' } });
    expect(await backend.getMeta('big', 'BIG')).toBe(big);
    await expect(start('huge', sleeper, { env: { HUGE: 'x'.repeat(140_000) } })).rejects.toThrow(
      /140005 bytes/,
    );
    expect(await backend.inspect('huge')).toEqual({ kind: 'absent' });
  });

  it('refuses a work dir that is not there, and starts in one with odd letters', async () => {
    await expect(start('a', sleeper, { cwd: server.path('nowhere') })).rejects.toThrow(/not a directory/);
    expect(await backend.inspect('a')).toEqual({ kind: 'absent' });
    const odd = server.path('#{pid} #S ; $HOME');
    mkdirSync(odd);
    await start('a', script('pwd; exec sleep 300'), { cwd: odd, columns: 200 });
    await eventually('it printed its folder', async () =>
      (await backend.capture('a', 0)).lines.includes(odd),
    );
  });

  it('leaves nothing when the start is aborted', async () => {
    const abort = new AbortController();
    const starting = backend.create('a', server.launch(sleeper), abort.signal);
    abort.abort(new Error('changed my mind'));
    await expect(starting).rejects.toThrow('changed my mind');
    expect(await backend.inspect('a')).toEqual({ kind: 'absent' });
  });

  it('SUB-01 SUB-03 ends the whole tree: a child that ignores TERM, and one that left the session', async () => {
    await start('f', forker(server.path('pids')));
    const text = await eventually('both children run', () =>
      written('pids', (t) => t.split('\n').length === 3),
    );
    const pids = text.trim().split('\n').map(Number);
    await backend.kill('f', 300);
    expect(pids.filter(isAlive)).toEqual([]);
    expect(await backend.inspect('f')).toEqual({ kind: 'absent' });
  });

  it('ends a stubborn agent after the grace, and an obedient one much sooner', async () => {
    await start('s', stubborn);
    await start('o');
    await eventually('it is ready', async () => (await backend.capture('s', 0)).lines.includes('READY>'));
    await backend.kill('s', 300);
    expect(await backend.inspect('s')).toEqual({ kind: 'absent' });
    const began = performance.now();
    await backend.kill('o', 20_000);
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});
