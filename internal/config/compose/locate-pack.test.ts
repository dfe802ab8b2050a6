import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type LoadResult, loadCity } from '../load-city.ts';
import { cacheDirOf, namedPackDir } from '../remote/cache-paths.ts';
import { fetchInto } from '../remote/fetch.ts';
import { Machine, packFiles, type Upstream } from '../remote/testing/upstream.ts';
import { agentNames, imports, pack, shown } from '../testing/scratch-packs.ts';

let machine: Machine;
let upstream: Upstream;
let home: string;
beforeEach(() => {
  machine = new Machine();
  upstream = machine.upstream('tools');
  home = join(machine.base, 'city');
});
afterEach(() => machine.remove());

/** Commits these files, fetches them, pins the source at them, and loads a city that imports it as `t`. */
async function withFetched(files: Readonly<Record<string, string>>, subpath: string): Promise<LoadResult> {
  const commit = upstream.commit(files);
  const source = `${upstream.url}//${subpath}`;
  const cached = cacheDirOf(machine.home, upstream.url, commit);
  await fetchInto(cached, upstream.url, { commit }, machine.fetchContext());
  machine.write('city', {
    'city.toml': imports('t', source),
    'packs.lock': `schema = 1\n[packs."${source}"]\ncommit = "${commit}"\n`,
  });
  return loadCity(home, { env: machine.env });
}

describe('a fetched pack', () => {
  it('brings what it imports from its own repository', async () => {
    const result = await withFetched(
      {
        ...packFiles('a', { dir: 'packs/a', imports: imports('b', '../b') }),
        ...packFiles('b', { dir: 'packs/b' }),
      },
      'packs/a',
    );
    expect(result.kind === 'ok' && agentNames(result.city)).toEqual(['t.b-agent', 't.a-agent']);
  });

  it.each([
    ['up the path', '../../..'],
    ['by an absolute path', '/etc'],
    ['in the home', '~/x'],
  ])('imports nothing outside of it: %s', async (_what, source) => {
    const result = await withFetched(
      packFiles('a', { dir: 'packs/a', imports: imports('b', source) }),
      'packs/a',
    );
    expect(result.kind === 'invalid' && result.problems.map(({ message }) => message)).toEqual([
      `import "b": a fetched pack may not use a folder outside its repository: ${source}`,
    ]);
  });

  it('may use files of its repository, but none beside it', async () => {
    const agent = (path: string) =>
      `[[agent]]\nname = "x"\nstart_command = "s"\nprompt_template = "${path}"\n`;
    const files = { ...pack('packs/a', agent('../../shared/p.md')), 'shared/p.md': '' };
    expect((await withFetched(files, 'packs/a')).kind).toBe('ok');
    machine.write('home/.gc/cache/repos', { 'secret.md': '' });
    const out = await withFetched(pack('packs/a', agent('../../../secret.md')), 'packs/a');
    expect(out.kind === 'invalid' && out.problems.map(({ code }) => code)).toEqual(['outside-pack']);
  });

  it('that is not here is told where it is asked for, with what to type', async () => {
    machine.write('city', { 'city.toml': imports('t', `${upstream.url}//a`) });
    const result = await loadCity(home, { env: machine.env });
    if (result.kind === 'ok') throw new Error('it loaded');
    expect(shown(result.problems, home)).toEqual([
      `city.toml:2:10 pack-not-found: city import "t": ${upstream.url}//a has not been fetched yet`,
    ]);
    expect(result.problems[0]?.hint).toBe('gc import install');
  });
});

describe('a named pack', () => {
  it('is found by its name, in includes and imports', async () => {
    upstream.commit(packFiles('a', { dir: 'sub' }));
    await fetchInto(
      namedPackDir(home, 'tools'),
      upstream.url,
      { commit: upstream.commit({}) },
      machine.fetchContext(),
    );
    machine.write('city', {
      'city.toml': `[packs.tools]\nsource = "${upstream.url}"\npath = "sub"\n[workspace]\nincludes = ["tools"]\n${imports('t', 'tools')}`,
    });
    const result = await loadCity(home, { env: machine.env });
    expect(result.kind === 'ok' ? agentNames(result.city) : result.problems).toEqual([
      'a-agent',
      't.a-agent',
    ]);
  });
});
