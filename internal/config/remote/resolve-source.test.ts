import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cacheDirOf, includeCacheDir, namedPackDir } from './cache-paths.ts';
import { fetchInto } from './fetch.ts';
import { readImplicitImports, resolveImplicit } from './implicit-imports.ts';
import { readLock } from './lock-file.ts';
import {
  type ResolvedSource,
  resolveNamedPack,
  resolveSource,
  type SourceContext,
} from './resolve-source.ts';
import { parseSource, type RemoteSource } from './source.ts';
import { Machine, packFiles, type Upstream } from './testing/upstream.ts';

let machine: Machine;
let upstream: Upstream;
let city: string;
beforeEach(() => {
  machine = new Machine();
  upstream = machine.upstream('tools');
  city = machine.write('city', { 'city.yaml': 'workspace: {name: x}\n', 'packs/own/pack.toml': '' });
});
afterEach(() => machine.remove());

async function resolveIn(text: string, over: Partial<SourceContext> = {}): Promise<ResolvedSource> {
  const lock = await readLock(city);
  return resolveSource(text, { cityRoot: city, home: machine.home, baseDir: city, lock, ...over });
}

/** Pins a source at a commit, which is fetched. */
async function have(source: string, commit: string, extra = ''): Promise<string> {
  const dir = cacheDirOf(machine.home, upstream.url, commit);
  await fetchInto(dir, upstream.url, { commit }, machine.fetchContext());
  machine.write('city', { 'packs.lock': `schema = 1\n[packs."${source}"]\ncommit = "${commit}"\n${extra}` });
  return dir;
}

describe('a folder', () => {
  it('starts from the file that names it, the city, the home or the root', async () => {
    const own = join(city, 'packs/own');
    for (const [text, baseDir] of [
      ['packs/own', city],
      ['own', join(city, 'packs')],
      ['//packs/own', '/'],
      [own, '/'],
    ] as const) {
      expect(await resolveIn(text, { baseDir })).toEqual({ kind: 'dir', dir: own, root: undefined });
    }
    mkdirSync(join(machine.home, 'mine'));
    expect(await resolveIn('~/mine')).toMatchObject({ dir: join(machine.home, 'mine') });
  });

  it('is in the city when it begins with //', async () => {
    expect(await resolveIn('//../..')).toMatchObject({
      kind: 'missing',
      message: expect.stringMatching(/leads out/),
    });
    expect(await resolveIn('//packs/own/..')).toMatchObject({ kind: 'dir', dir: join(city, 'packs') });
  });

  it('that is not there is named', async () => {
    expect(await resolveIn('packs/owm')).toEqual({
      kind: 'missing',
      code: 'no-folder',
      message: `there is no folder ${join(city, 'packs/owm')}`,
      next: 'create it, or correct the source',
    });
  });
});

describe('a repository', () => {
  it('is found at its pinned commit, with its folder, without asking anybody', async () => {
    const source = `${upstream.url}//packs/a`;
    const dir = await have(source, upstream.commit(packFiles('a', { dir: 'packs/a' })));
    upstream.commit({ later: '1' });
    expect(await resolveIn(source)).toEqual({ kind: 'dir', dir: join(dir, 'packs/a'), root: dir });
  });

  it('that was never fetched, or not here, leads to the command that fetches it', async () => {
    expect(await resolveIn(upstream.url)).toEqual({
      kind: 'missing',
      code: 'not-locked',
      message: `${upstream.url} has not been fetched yet`,
      next: 'gc import install',
    });
    const commit = 'a'.repeat(40);
    machine.write('city', { 'packs.lock': `[packs."${upstream.url}"]\ncommit = "${commit}"\n` });
    expect(await resolveIn(upstream.url)).toMatchObject({
      code: 'not-cached',
      message: `${upstream.url} is locked at aaaaaaaaaaaa but not cached`,
      next: 'gc import install',
    });
  });

  it('is refused when the lock is older than what is asked for', async () => {
    await have(upstream.url, upstream.commit(packFiles('a')), 'version = "1.2.0"\n');
    expect(await resolveIn(upstream.url, { version: '^1' })).toMatchObject({ kind: 'dir' });
    expect(await resolveIn(upstream.url, { version: '^2' })).toMatchObject({
      code: 'lock-outdated',
      message: `${upstream.url} is locked at 1.2.0 (packs.lock:2:2), but ^2 is asked for`,
      next: 'gc import install',
    });
  });

  it('is refused when its folder stands at another commit', async () => {
    const commit = upstream.commit(packFiles('a'));
    const dir = await have(upstream.url, commit);
    writeFileSync(join(dir, '.git/HEAD'), `${'b'.repeat(40)}\n`);
    expect(await resolveIn(upstream.url)).toMatchObject({ code: 'cache-changed', next: 'gc import install' });
  });

  it('is refused when its folder is a link out of it', async () => {
    const commit = upstream.commit({ out: '-> /etc', in: '-> packs', 'packs/pack.toml': '' });
    const dir = await have(`${upstream.url}//out`, commit);
    expect(await resolveIn(`${upstream.url}//out`)).toMatchObject({ code: 'leaves-repository' });
    await have(`${upstream.url}//in`, commit);
    expect(await resolveIn(`${upstream.url}//in`)).toMatchObject({ kind: 'dir', root: dir });
    await have(`${upstream.url}//none`, commit);
    expect(await resolveIn(`${upstream.url}//none`)).toMatchObject({ code: 'no-folder' });
  });

  it('keeps the folders that its packs name to itself', async () => {
    const commit = upstream.commit({
      ...packFiles('a', { dir: 'a' }),
      ...packFiles('b', { dir: 'b' }),
      link: '-> /etc',
    });
    const root = await have(upstream.url, commit);
    const from = (text: string) => resolveIn(text, { baseDir: join(root, 'a'), root });
    expect(await from('../b')).toEqual({ kind: 'dir', dir: join(root, 'b'), root });
    for (const text of ['../..', '//packs/own', '/etc', '~', '../link']) {
      expect(await from(text), text).toMatchObject({ kind: 'missing', code: 'leaves-repository' });
    }
  });

  it('that the city included before it had a lock is used as it is', async () => {
    const source = `${upstream.url}#main`;
    const commit = upstream.commit(packFiles('a'));
    const dir = includeCacheDir(city, parseSource(source) as RemoteSource);
    expect(dir).toMatch(/\/\.gc\/cache\/includes\/tools-[0-9a-f]{12}$/);
    await fetchInto(dir, upstream.url, { commit }, machine.fetchContext());
    expect(await resolveIn(source)).toEqual({ kind: 'dir', dir, root: dir });
  });

  it('says what is wrong with a source or a lock file', async () => {
    expect(await resolveIn('https://me:x@h.org/a')).toMatchObject({ code: 'bad-source' });
    machine.write('city', { 'packs.lock': '[packs\n' });
    expect(await resolveIn(upstream.url)).toMatchObject({
      code: 'lock-unreadable',
      message: expect.stringMatching(/^packs\.lock:1:\d+: /),
    });
  });
});

describe('a named pack', () => {
  it('is in the cache of the city, with its path', async () => {
    const commit = upstream.commit(packFiles('a', { dir: 'p' }));
    const declared = { source: upstream.url, ref: 'main', path: 'p' };
    const find = async () =>
      resolveNamedPack('x', declared, {
        cityRoot: city,
        home: machine.home,
        baseDir: city,
        lock: await readLock(city),
      });
    expect(await find()).toMatchObject({
      message: 'pack "x" has not been fetched yet',
      next: 'gc pack fetch',
    });
    const dir = namedPackDir(city, 'x');
    await fetchInto(dir, upstream.url, { commit }, machine.fetchContext());
    expect(await find()).toEqual({ kind: 'dir', dir: join(dir, 'p'), root: dir });
    machine.write('city', { 'pack.lock': `[packs.x]\nsource = "other"\ncommit = "${commit}"\n` });
    expect(await find()).toMatchObject({ code: 'lock-outdated' });
  });
});

describe('implicit imports', () => {
  it('are read with their problems, and found in the cache of the machine', async () => {
    const gcHome = join(machine.home, '.gc');
    const digest = 'c'.repeat(64);
    machine.write('home/.gc', {
      'implicit-import.toml': `schema = 1\n[imports."core"]\nsource = "github.com/o/core"\nversion = "0.1.0"\ncommit = "${digest}"\n[imports."bad"]\nsource = "x"\n`,
    });
    const { imports, problems } = await readImplicitImports(gcHome);
    expect(imports.map(({ binding, version }) => [binding, version])).toEqual([['core', '0.1.0']]);
    expect(problems.map(({ message, position }) => [message, position?.line])).toEqual([
      ['imports.bad: commit is required', 6],
    ]);
    const [core] = imports;
    if (!core) throw new Error('no import');
    expect(await resolveImplicit(core, gcHome)).toMatchObject({ code: 'not-cached' });
    const dir = cacheDirOf(machine.home, 'https://github.com/o/core', digest);
    mkdirSync(dir, { recursive: true });
    expect(await resolveImplicit(core, gcHome)).toEqual({ kind: 'dir', dir, root: dir });
  });
});
