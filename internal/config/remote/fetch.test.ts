import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cacheDirOf, repositoryCache } from './cache-paths.ts';
import { headOf } from './checkout.ts';
import { askRemote, fetchInto } from './fetch.ts';
import { gitEnvironment } from './git.ts';
import { Machine, packFiles, type Upstream } from './testing/upstream.ts';

let machine: Machine;
let upstream: Upstream;
beforeEach(() => {
  machine = new Machine();
  upstream = machine.upstream('tools');
});
afterEach(() => machine.remove());

const cached = () => readdirSync(repositoryCache(machine.home));
const dirFor = (commit: string) => cacheDirOf(machine.home, upstream.url, commit);

describe('askRemote', () => {
  it('reads branches and the commits of tags, annotated ones too', async () => {
    const first = upstream.commit(packFiles('a'), { tag: 'v1.0.0' });
    const second = upstream.commit({ x: '1' });
    const side = upstream.commit({ y: '1' }, { branch: 'feature/y' });
    const refs = await askRemote(upstream.url, machine.fetchContext());
    expect(refs.head).toBe(second);
    expect(Object.fromEntries(refs.tags)).toEqual({ 'v1.0.0': first });
    expect(Object.fromEntries(refs.branches)).toEqual({ main: second, 'feature/y': side });
  });

  it('says why a repository does not answer', async () => {
    const asking = askRemote(`${upstream.url}x`, machine.fetchContext());
    await expect(asking).rejects.toMatchObject({
      code: 'remote-unreachable',
      message: expect.stringMatching(
        /toolsx?\.gitx does not answer: .*does not appear to be a git repository/,
      ),
    });
  });

  it('says so when there is no git', async () => {
    const context = { ...machine.fetchContext(), env: { PATH: machine.home } };
    await expect(askRemote(upstream.url, context)).rejects.toMatchObject({ code: 'git-not-found' });
  });
});

describe('fetchInto', () => {
  it('has the commit alone, without history, also when the branch has moved on', async () => {
    const first = upstream.commit(packFiles('a'));
    upstream.commit({ later: '1' });
    await fetchInto(dirFor(first), upstream.url, { commit: first }, machine.fetchContext());
    expect(await headOf(dirFor(first))).toBe(first);
    expect(existsSync(join(dirFor(first), 'pack.toml'))).toBe(true);
    expect(existsSync(join(dirFor(first), 'later'))).toBe(false);
    expect(machine.git(dirFor(first), 'rev-list', '--count', 'HEAD')).toBe('1');
    expect(cached()).toHaveLength(1);
  });

  it('finds the commit where a server gives branches only', async () => {
    const first = upstream.commit(packFiles('a'));
    upstream.commit({ later: '1' });
    const env = {
      ...machine.env,
      GIT_CONFIG_COUNT: '1',
      GIT_CONFIG_KEY_0: 'protocol.version',
      GIT_CONFIG_VALUE_0: '0',
    };
    await fetchInto(dirFor(first), upstream.url, { commit: first }, { ...machine.fetchContext(), env });
    expect(await headOf(dirFor(first))).toBe(first);
  });

  it('does nothing when it is there, and needs no upstream then', async () => {
    const first = upstream.commit(packFiles('a'));
    await fetchInto(dirFor(first), upstream.url, { commit: first }, machine.fetchContext());
    writeFileSync(join(dirFor(first), 'mark'), '');
    const offline = { ...machine.fetchContext(), env: {} };
    await fetchInto(dirFor(first), upstream.url, { commit: first }, offline);
    expect(existsSync(join(dirFor(first), 'mark'))).toBe(true);
  });

  it('replaces a folder that is at another commit or no repository', async () => {
    const first = upstream.commit(packFiles('a'));
    const second = upstream.commit({ later: '1' });
    await fetchInto(dirFor(first), upstream.url, { commit: second }, machine.fetchContext());
    await fetchInto(dirFor(first), upstream.url, { commit: first }, machine.fetchContext());
    expect(await headOf(dirFor(first))).toBe(first);
    mkdirSync(dirFor(second));
    writeFileSync(join(dirFor(second), 'half'), '');
    await fetchInto(dirFor(second), upstream.url, { commit: second }, machine.fetchContext());
    expect(await headOf(dirFor(second))).toBe(second);
    expect(cached()).toHaveLength(2);
  });

  it('lets many fetch one repository at once', async () => {
    const first = upstream.commit(packFiles('a'));
    const fetches = Array.from({ length: 5 }, () =>
      fetchInto(dirFor(first), upstream.url, { commit: first }, machine.fetchContext()),
    );
    await Promise.all(fetches);
    expect(await headOf(dirFor(first))).toBe(first);
    expect(cached()).toHaveLength(1);
  });

  it('leaves nothing behind when it fails or is ended', async () => {
    const absent = '1'.repeat(40);
    upstream.commit(packFiles('a'));
    const failing = fetchInto(dirFor(absent), upstream.url, { commit: absent }, machine.fetchContext());
    await expect(failing).rejects.toMatchObject({ code: 'fetch-failed' });
    expect(cached()).toEqual([]);
    const abort = new AbortController();
    const fetching = fetchInto(
      dirFor(absent),
      upstream.url,
      { commit: absent },
      machine.fetchContext(abort.signal),
    );
    abort.abort(new Error('enough'));
    await expect(fetching).rejects.toThrow('enough');
    expect(cached()).toEqual([]);
  });

  it('clears away what a killed process has left', async () => {
    const first = upstream.commit(packFiles('a'));
    const cache = dirname(dirFor(first));
    const impossiblePid = 2 ** 30;
    mkdirSync(join(cache, `.new-${impossiblePid}-00ff`), { recursive: true });
    mkdirSync(join(cache, `.new-${process.ppid}-00ff`));
    await fetchInto(dirFor(first), upstream.url, { commit: first }, machine.fetchContext());
    expect(cached().filter((name) => name.startsWith('.'))).toEqual([`.new-${process.ppid}-00ff`]);
  });

  it('runs nothing that a repository or a template brings, and no submodule', async () => {
    const hooks = machine.write('template', {
      'hooks/post-checkout': `#!/bin/sh\ntouch ${machine.base}/ran\n`,
    });
    chmodSync(join(hooks, 'hooks/post-checkout'), 0o755);
    const first = upstream.commit({
      ...packFiles('a'),
      '.gitmodules': `[submodule "s"]\n\tpath = s\n\turl = ext::sh -c "touch ${machine.base}/ran"\n`,
    });
    const config = machine.write('home', {
      config: `[init]\n\ttemplateDir = ${hooks}\n[core]\n\thooksPath = ${hooks}/hooks\n[protocol "ext"]\n\tallow = always\n[submodule]\n\trecurse = true\n`,
    });
    const env = { ...machine.env, GIT_CONFIG_GLOBAL: join(config, 'config'), GIT_DIR: '/nowhere' };
    const plain = { ...env, GIT_DIR: undefined };
    execFileSync('git', ['clone', '--quiet', upstream.url, join(machine.base, 'plain')], { env: plain });
    expect(existsSync(join(machine.base, 'ran'))).toBe(true);
    rmSync(join(machine.base, 'ran'));
    await fetchInto(dirFor(first), upstream.url, { commit: first }, { ...machine.fetchContext(), env });
    expect(existsSync(join(machine.base, 'ran'))).toBe(false);
    expect(readFileSync(join(dirFor(first), 'pack.toml'), 'utf8')).toContain('name = "a"');
    const ext = askRemote(`ext::sh -c "touch ${machine.base}/ran"`, { ...machine.fetchContext(), env });
    await expect(ext).rejects.toThrow("transport 'ext' not allowed");
    expect(existsSync(join(machine.base, 'ran'))).toBe(false);
  });

  it('asks nobody', () => {
    expect(gitEnvironment({ GIT_ASKPASS: '/bin/x', GIT_WORK_TREE: '/x', HOME: '/h' })).toMatchObject({
      GIT_ASKPASS: '',
      GIT_TERMINAL_PROMPT: '0',
      HOME: '/h',
    });
  });
});
