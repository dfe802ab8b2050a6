import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadCity } from '../load-city.ts';
import { implicitCacheDir } from '../remote/cache-paths.ts';
import { scratch } from '../testing/scratch-city.ts';
import { agentNames, imports, pack, shown } from '../testing/scratch-packs.ts';

const OWN = (name: string, more = '') => `[[agent]]\nname = "${name}"\nstart_command = "s"\n${more}`;

describe('imports of this machine', () => {
  const implicit = (name: string) => `[imports.${name}]\nsource = "./shared"\ncommit = "${'a'.repeat(40)}"\n`;
  const load = async (city: string, names: readonly string[]) => {
    const dir = scratch({
      'city.toml': city,
      ...pack('home/.gc/shared', '', ['s']),
      ...pack('mine', '', ['m']),
      'home/.gc/implicit-import.toml': `schema = 1\n${names.map(implicit).join('')}`,
    });
    return { dir, result: await loadCity(dir, { env: { HOME: join(dir, 'home') } }) };
  };

  it('are in every city; one that the city declares itself wins', async () => {
    const { dir, result } = await load(`${OWN('a')}${imports('own', 'mine')}`, ['shared', 'own']);
    if (result.kind !== 'ok') throw new Error(JSON.stringify(result.problems));
    expect(agentNames(result.city)).toEqual(['own.m', 'shared.s', 'a']);
    expect(result.city.packs.map(({ name, via }) => [name, via])).toEqual([
      ['mine', 'import'],
      ['shared', 'implicit'],
    ]);
    expect(result.city.sources).toContain(join(dir, 'home/.gc/implicit-import.toml'));
  });

  it('are confined to the repository they came in', async () => {
    const commit = 'a'.repeat(40);
    const url = 'https://example.org/tools.git';
    const home = scratch({});
    const repository = implicitCacheDir(join(home, '.gc'), url, commit);
    const city = scratch({ 'city.toml': OWN('a') });
    const write = (path: string, text: string) => {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    };
    write(
      join(home, '.gc/implicit-import.toml'),
      `schema = 1\n[imports.x]\nsource = "${url}"\ncommit = "${commit}"\n`,
    );
    write(join(repository, 'pack.toml'), `[pack]\nname = "x"\nschema = 2\n${imports('out', '../..')}`);
    const result = await loadCity(city, { env: { HOME: home } });
    expect(result.kind === 'invalid' && result.problems.map(({ message }) => message)).toEqual([
      'import "out": a fetched pack may not use a folder outside its repository: ../..',
    ]);
  });

  it('of the program keep their names', async () => {
    const { dir, result } = await load(imports('core', 'mine'), ['core', 'registry']);
    expect(result.kind === 'invalid' && shown(result.problems, dir)).toEqual([
      'city.toml:1:2 implicit-collision: city pack declares [imports.core] which shadows the bootstrap implicit import(s) with the same name',
    ]);
  });
});
