import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cityPacks } from './declared-packs.ts';
import {
  fetchNamedPack,
  type Installed,
  type InstallOptions,
  installPacks,
  lockValuesOf,
} from './install.ts';
import { readLock, writeLock } from './lock-file.ts';
import type { PackNode } from './pack-tree.ts';
import { Machine, packFiles } from './testing/upstream.ts';

let machine: Machine;
beforeEach(() => {
  machine = new Machine();
});
afterEach(() => machine.remove());

const city = (files: Record<string, string>) => machine.write('city', files);

async function install(root: string, options: InstallOptions = {}): Promise<Installed> {
  const lock = await readLock(root);
  const context = { ...machine.fetchContext(), cityRoot: root, home: machine.home, lock };
  const done = await installPacks(await cityPacks(root), context, options);
  await writeLock(lock.packs, lockValuesOf(done.pins));
  return done;
}

const pinned = (done: Installed, url: string) => done.pins.get(url)?.ref || done.pins.get(url)?.commit;

function names(nodes: readonly PackNode[], depth = 0): string[] {
  return nodes.flatMap(({ declared, children }) => [
    `${' '.repeat(depth)}${declared.owner}: ${declared.name}`,
    ...names(children, depth + 1),
  ]);
}

describe('install', () => {
  it('follows the root pack, the city, rigs and fetched packs, within repositories too', async () => {
    const deep = machine.upstream('deep');
    deep.commit(packFiles('deep'));
    const tools = machine.upstream('tools');
    tools.commit({
      ...packFiles('a', { dir: 'a', imports: `[imports.b]\nsource = "../b"\n` }),
      ...packFiles('b', { dir: 'b', imports: `[imports.deep]\nsource = "${deep.url}"\n` }),
    });
    const root = city({
      'city.yaml': `include: [rigs.yaml]\nworkspace: {includes: [packs/v1]}\nrigs:\n  - {name: r, path: r, imports: {t: {source: "${tools.url}//a"}}}\n`,
      'rigs.yaml': 'rigs:\n  - {name: s, path: s, includes: [packs/v1]}\n',
      'pack.toml': `[pack]\nname = "x"\nschema = 2\n[imports.own]\nsource = "packs/own"\n`,
      'packs/v1/pack.toml': '[pack]\nname = "v1"\nschema = 1\n',
      ...Object.fromEntries(
        Object.entries(packFiles('own', { imports: `[imports.back]\nsource = "../own"\n` })).map(
          ([name, text]) => [`packs/own/${name}`, text],
        ),
      ),
    });
    const done = await install(root);
    expect(names(done.tree)).toEqual([
      'the city: own',
      ' pack "own": back',
      'the city: ',
      'rig "r": t',
      ' pack "a": b',
      '  pack "b": deep',
      'rig "s": ',
    ]);
    expect([...done.pins.keys()].sort()).toEqual([deep.url, `${tools.url}//a`].sort());
    expect(done.fetched).toBe(2);
  });

  it('keeps a pin when upstream moves, and needs no network for it', async () => {
    const tools = machine.upstream('tools');
    const first = tools.commit(packFiles('a'));
    const root = city({ 'city.yaml': `imports: {a: {source: "${tools.url}"}}\n` });
    await install(root);
    tools.commit({ later: '1' });
    const offline = await install(root);
    expect([pinned(offline, tools.url), offline.fetched]).toEqual([first, 0]);
    const renewed = await install(root, { renew: () => true });
    expect(pinned(renewed, tools.url)).not.toBe(first);
  });

  it('pins anew when the city asks for another version', async () => {
    const tools = machine.upstream('tools');
    tools.commit(packFiles('a'), { tag: 'v1.0.0' });
    tools.commit({ x: '1' }, { tag: 'v1.1.0' });
    tools.commit({ x: '2' }, { tag: 'v2.0.0' });
    const asking = (version: string) =>
      city({ 'city.yaml': `imports: {a: {source: "${tools.url}", version: "${version}"}}\n` });
    expect(pinned(await install(asking('~1.0')), tools.url)).toBe('v1.0.0');
    expect(pinned(await install(asking('^1')), tools.url)).toBe('v1.0.0');
    expect(pinned(await install(asking('^1.1')), tools.url)).toBe('v1.1.0');
    expect(pinned(await install(asking('2.x')), tools.url)).toBe('v2.0.0');
  });

  it('finds one version for all, also when the stricter one is met last', async () => {
    const tools = machine.upstream('tools');
    tools.commit(packFiles('a'), { tag: 'v1.0.0' });
    tools.commit({ x: '1' }, { tag: 'v1.5.0' });
    const root = city({
      'city.yaml': `imports:\n  a: {source: "${tools.url}", version: "^1"}\n  b: {source: packs/b}\n`,
      'packs/b/pack.toml': `[pack]\nname = "b"\nschema = 2\n[imports.a]\nsource = "${tools.url}"\nversion = "~1.0"\n`,
    });
    expect(pinned(await install(root), tools.url)).toBe('v1.0.0');
  });

  it('forgets what nobody reaches any more', async () => {
    const one = machine.upstream('one');
    one.commit(packFiles('one'));
    const two = machine.upstream('two');
    two.commit(packFiles('two'));
    const root = city({ 'city.yaml': `imports: {a: {source: "${one.url}"}, b: {source: "${two.url}"}}\n` });
    await install(root);
    city({ 'city.yaml': `imports: {b: {source: "${two.url}"}}\n` });
    await install(root);
    expect([...(await readLock(root)).packs.entries.keys()]).toEqual([two.url]);
  });

  it('pins what is included by its address, too', async () => {
    const tools = machine.upstream('tools');
    tools.commit(packFiles('a'), { tag: 'v1.0.0' });
    tools.commit({ later: '1' });
    const source = `${tools.url}#v1.0.0`;
    const done = await install(city({ 'city.yaml': `workspace: {includes: ["${source}"]}\n` }));
    expect(pinned(done, source)).toBe('v1.0.0');
  });

  it('says who asks for what cannot be had', async () => {
    const tools = machine.upstream('tools');
    tools.commit(packFiles('a', { imports: '[imports.out]\nsource = "../../x"\n' }));
    const root = city({ 'city.yaml': `imports:\n  a: {source: "${tools.url}", version: "^9"}\n` });
    await expect(install(root)).rejects.toMatchObject({
      code: 'version-not-found',
      message: expect.stringContaining('city.yaml:2:3: import "a" of the city: '),
    });
    expect(existsSync(join(root, 'packs.lock'))).toBe(false);
    city({ 'city.yaml': `imports:\n  a: {source: "https://me:x@h.org/a"}\n` });
    await expect(install(root)).rejects.toMatchObject({ code: 'bad-source' });
  });
});

describe('named packs', () => {
  it('stay at their locked commit until they are renewed', async () => {
    const tools = machine.upstream('tools');
    const first = tools.commit(packFiles('a'));
    const root = city({ 'city.toml': '' });
    const declared = { source: tools.url, ref: 'main' };
    const fetchIt = async (renew: boolean) => {
      const lock = await readLock(root);
      const context = { ...machine.fetchContext(), cityRoot: root, home: machine.home, lock };
      const got = await fetchNamedPack('t', declared, context, renew);
      if (got) await writeLock(lock.named, new Map([['t', got.values]]));
      return got?.pin.commit;
    };
    expect(await fetchIt(false)).toBe(first);
    const second = tools.commit({ later: '1' });
    expect(await fetchIt(false)).toBe(first);
    expect(await fetchIt(true)).toBe(second);
    expect(existsSync(join(root, '.gc/cache/packs/t/later'))).toBe(true);
    expect(await fetchIt(false)).toBe(second);
  });
});
