import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SessionExistsError, SessionNotFoundError } from '../errors.ts';
import type { HostBackend } from './host-backend.ts';
import {
  deathOf,
  descriptorsOf,
  HostFixture,
  isAlive,
  NEVER,
  node,
  pidOf,
  screenHas,
  sessionOf,
  shell,
  sleeps,
  until,
} from './host-fixture.ts';

const SLEEP = shell('exec sleep 300');

describe('without a host', () => {
  it('looking starts none: everything is absent', async () => {
    const fixture = new HostFixture();
    const backend = fixture.backend();
    expect(await backend.inspect('a')).toEqual({ kind: 'absent' });
    expect(await backend.inspectAll()).toEqual({ kind: 'seen', sessions: new Map() });
    await backend.kill('a', 0);
    expect(await backend.getMeta('a', 'k')).toBe('');
    await backend.removeMeta('a', 'k');
    await expect(backend.capture('a', 0)).rejects.toThrow(SessionNotFoundError);
    await expect(backend.attach('a')).rejects.toThrow(SessionNotFoundError);
    expect(existsSync(join(fixture.dir, 'host.log'))).toBe(false);
    await fixture.dispose();
  });

  it('says why a host cannot start', async () => {
    const fixture = new HostFixture();
    writeFileSync(join(fixture.dir, 'scrollback'), 'a file where a folder must be');
    writeFileSync(join(fixture.dir, 'ledger'), 'the same');
    await expect(fixture.backend().create('a', SLEEP, NEVER)).rejects.toThrow(/session host|ENOTDIR/);
    rmSync(join(fixture.dir, 'ledger'));
    await fixture.dispose();
  });
});

describe('sessions in one host', () => {
  const fixture = new HostFixture();
  let backend: HostBackend;
  beforeAll(() => {
    backend = fixture.backend();
  });
  afterAll(() => fixture.dispose());

  it('are created, seen, and refused twice', async () => {
    await backend.create('one', SLEEP, NEVER);
    const session = await until('the shell has become sleep', async () => {
      const found = await sessionOf(backend, 'one');
      return found.processNames?.[0] === 'sleep' && found;
    });
    expect(session).toMatchObject({ name: 'one', state: { kind: 'alive' }, attached: 0 });
    expect(session.lastActivity).toBeGreaterThan(Date.now() - 60_000);
    await expect(backend.create('one', SLEEP, NEVER)).rejects.toThrow(SessionExistsError);
    expect((await sessionOf(backend, 'one')).state).toEqual(session.state);
    await backend.kill('one', 1_000);
    expect(await backend.inspect('one')).toEqual({ kind: 'absent' });
    await backend.kill('one', 1_000);
  });

  it('stay as dead ones with exit and last lines until they are killed', async () => {
    await backend.create('brief', shell('echo first; echo "no such model" >&2; exit 7'), NEVER);
    const death = await deathOf(backend, 'brief');
    expect(death).toEqual({ kind: 'dead', exit: { code: 7 }, lastLines: 'first\nno such model' });
    await expect(backend.create('brief', SLEEP, NEVER)).rejects.toThrow(SessionExistsError);
    expect((await backend.capture('brief', -1)).lines).toContain('no such model');
    const plan = await backend.attach('brief');
    if (plan.kind !== 'stream') throw new Error(plan.kind);
    await expect(plan.open({ columns: 80, rows: 24 })).rejects.toThrow(/has ended/);
    await expect(backend.paste('brief', 'hello')).rejects.toThrow(SessionNotFoundError);
    await expect(backend.sendKeys('brief', ['Enter'])).rejects.toThrow(SessionNotFoundError);
    expect(await backend.inputLimit('brief')).toBeUndefined();
    await backend.interrupt('brief');
    await backend.wake('brief');
    await backend.kill('brief', 0);
    await backend.create('brief', shell('kill -9 $$'), NEVER);
    expect((await deathOf(backend, 'brief')).exit).toEqual({ signal: 'SIGKILL' });
    await backend.kill('brief', 0);
  });

  it('have metadata that begins with their environment and ends with them', async () => {
    const env = { PATH: '/bin', GC_SESSION_ID: 's-1', GC_INSTANCE_TOKEN: 't-1' };
    await backend.create('meta', shell('exec sleep 300', { env }), NEVER);
    expect((await sessionOf(backend, 'meta')).meta).toEqual(env);
    await backend.setMeta('meta', 'GC_DRAIN', ' a\nb ');
    const other = fixture.backend('visitor');
    expect(await other.getMeta('meta', 'GC_DRAIN')).toBe(' a\nb ');
    await other.removeMeta('meta', 'GC_DRAIN');
    expect(await backend.getMeta('meta', 'GC_DRAIN')).toBe('');
    await backend.setMeta('meta', 'left', 'over');
    await backend.kill('meta', 1_000);
    await expect(backend.setMeta('meta', 'k', 'v')).rejects.toThrow(SessionNotFoundError);
    await backend.create('meta', shell('exec sleep 300', { env: { PATH: '/bin' } }), NEVER);
    expect((await sessionOf(backend, 'meta')).meta).toEqual({ PATH: '/bin' });
    await backend.kill('meta', 1_000);
  });

  it.each([true, false])(
    'get exactly their environment and no descriptor of ours (terminal: %s)',
    async (pty) => {
      const name = `clean-${pty}`;
      await backend.create(
        name,
        node('setInterval(() => {}, 1e6); console.log(JSON.stringify(process.env))', { pty, columns: 500 }),
        NEVER,
      );
      const lines = await screenHas(backend, name, '}');
      const env: unknown = JSON.parse(lines.join(''));
      const wanted = { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' };
      expect(env).toEqual(pty ? { ...wanted, TERM: 'xterm-256color' } : wanted);
      // Node opens descriptors of its own: a plain sleep shows what is inherited.
      await backend.create(`${name}-fd`, shell('exec sleep 300', { pty }), NEVER);
      const pid = await pidOf(backend, `${name}-fd`);
      await until('it sleeps', () => sleeps(pid));
      const open = descriptorsOf(pid);
      await Promise.all([backend.kill(name, 0), backend.kill(`${name}-fd`, 0)]);
      expect(Object.keys(open)).toEqual(['0', '1', '2']);
    },
  );

  it('get no descriptor of each other, whatever was opened and closed before', async () => {
    const names = Array.from({ length: 30 }, (_, i) => `fd-${i}`);
    await Promise.all(names.map((name) => backend.create(name, SLEEP, NEVER)));
    await Promise.all(names.filter((_, i) => i % 2 === 0).map((name) => backend.kill(name, 1_000)));
    for (const pty of [true, false, true]) {
      await backend.create(`late-${pty}`, shell('exec sleep 300', { pty }), NEVER);
      const pid = await pidOf(backend, `late-${pty}`);
      await until('it sleeps', () => sleeps(pid));
      const open = descriptorsOf(pid);
      await backend.kill(`late-${pty}`, 1_000);
      expect(Object.keys(open)).toEqual(['0', '1', '2']);
    }
    await Promise.all(names.map((name) => backend.kill(name, 1_000)));
  });

  it('lead a session and a group of their own, and keep the umask', async () => {
    for (const pty of [true, false]) {
      await backend.create('own', shell('ps -o sid=,pgid=,pid= -p $$; umask', { pty }), NEVER);
      await deathOf(backend, 'own');
      const [ids = '', mask] = (await backend.capture('own', -1)).lines;
      expect(new Set(ids.trim().split(/\s+/)).size).toBe(1);
      expect(Number.parseInt(mask ?? '', 8)).toBe(process.umask());
      await backend.kill('own', 0);
    }
  });

  it('refuse a work dir, a command or a name that cannot be, and leave nothing', async () => {
    const scratch = mkdtempSync(join(tmpdir(), 'gc-cwd-'));
    const gone = shell('true', { cwd: join(scratch, 'missing') });
    await expect(backend.create('bad', gone, NEVER)).rejects.toMatchObject({ code: 'work-dir-missing' });
    const unknown = shell('', { argv: ['claudee-not-installed'] });
    await expect(backend.create('bad', unknown, NEVER)).rejects.toMatchObject({ code: 'command-not-found' });
    writeFileSync(join(scratch, 'plain'), 'not a program');
    for (const pty of [true, false]) {
      const plain = shell('', { argv: [join(scratch, 'plain')], pty });
      await expect(backend.create('bad', plain, NEVER)).rejects.toMatchObject({ code: 'command-not-found' });
      const nul = shell('', { argv: ['/bin/echo', 'a\0b'], pty });
      await expect(backend.create('bad', nul, NEVER)).rejects.toMatchObject({ code: 'bad-launch' });
    }
    for (const name of ['', '../up', 'a/b', 'a b', 'a.b', 'a:b', '\u{1f600}', 'x'.repeat(300)]) {
      await expect(backend.create(name, SLEEP, NEVER)).rejects.toMatchObject({
        code: 'invalid-session-name',
      });
      expect(await backend.inspect(name)).toEqual({ kind: 'absent' });
    }
    const all = await backend.inspectAll();
    expect(all.kind === 'seen' && all.sessions.has('bad')).toBe(false);
    expect(existsSync(join(fixture.dir, 'ledger', 'bad.json'))).toBe(false);
    rmSync(scratch, { recursive: true });
  });

  it('are not created by an aborted start', async () => {
    await expect(backend.create('never', SLEEP, AbortSignal.abort(new Error('too late')))).rejects.toThrow(
      'too late',
    );
    const during = new AbortController();
    const creation = backend.create('never', SLEEP, during.signal);
    setImmediate(() => during.abort(new Error('while it started')));
    await expect(creation).rejects.toThrow('while it started');
    expect(await backend.inspect('never')).toEqual({ kind: 'absent' });
  });

  it('are files that only the owner can read', async () => {
    await backend.create(
      'private',
      shell('seq 1000; exec sleep 300', { env: { PATH: '/usr/bin:/bin', GC_INSTANCE_TOKEN: 'x' } }),
      NEVER,
    );
    await screenHas(backend, 'private', '1000');
    for (const file of [
      '.',
      'host.sock',
      'host.log',
      'ledger',
      'ledger/private.json',
      'scrollback',
      'scrollback/private',
    ]) {
      expect(statSync(join(fixture.dir, file)).mode & 0o077, file).toBe(0);
    }
    await backend.kill('private', 0);
    expect(existsSync(join(fixture.dir, 'scrollback/private'))).toBe(false);
    expect(existsSync(join(fixture.dir, 'ledger/private.json'))).toBe(false);
  });

  it('are twenty at once, and one call sees them all', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `many-${i}`);
    await Promise.all(
      names.map((name) => backend.create(name, shell(`echo I am ${name}; exec sleep 300`), NEVER)),
    );
    await Promise.all(names.map((name) => screenHas(backend, name, `I am ${name}`)));
    const all = await backend.inspectAll();
    if (all.kind !== 'seen') throw new Error(all.kind);
    expect([...all.sessions.keys()].filter((name) => name.startsWith('many-')).sort()).toEqual(
      names.toSorted(),
    );
    const pids = names.map((name) => {
      const state = all.sessions.get(name)?.state;
      return state?.kind === 'alive' ? state.pid : 0;
    });
    expect(new Set(pids).size).toBe(20);
    for (const name of names) expect(all.sessions.get(name)?.processNames).toHaveLength(1);
    await Promise.all(names.map((name) => backend.kill(name, 2_000)));
    expect(pids.filter(isAlive)).toEqual([]);
    const after = await backend.inspectAll();
    expect(after.kind === 'seen' && names.filter((name) => after.sessions.has(name))).toEqual([]);
  });

  it('belong to one city: another is refused', async () => {
    await backend.create('mine', SLEEP, NEVER);
    const stranger = fixture.backend('visitor', 'other-city');
    expect(await stranger.inspectAll()).toMatchObject({
      kind: 'unknown',
      reason: /belongs to the city test-city/,
    });
    await expect(stranger.kill('mine', 0)).rejects.toThrow(/belongs to/);
    await expect(stranger.create('theirs', SLEEP, NEVER)).rejects.toMatchObject({ code: 'wrong-city' });
    expect(await backend.inspect('mine')).toMatchObject({ kind: 'present' });
    await backend.kill('mine', 0);
  });
});
