import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadCity } from '../load-city.ts';
import { scratch } from '../testing/scratch-city.ts';
import {
  agentNames,
  cityOf,
  imports,
  inCity,
  pack,
  problemsOf,
  sessionNames,
  shown,
} from '../testing/scratch-packs.ts';

const SESSION = (template: string) => `[[named_session]]\ntemplate = "${template}"\n`;
const includes = (...sources: readonly string[]) => `[workspace]\nincludes = ${JSON.stringify(sources)}\n`;

describe('names of what packs bring', () => {
  it('an include binds nothing, an import gives its name to agents and named sessions', async () => {
    const files = pack('p', SESSION('a'), ['a']);
    const included = await cityOf(includes('p'), files);
    expect([agentNames(included), sessionNames(included)]).toEqual([['a'], ['a on_demand']]);
    const imported = await cityOf(imports('b', 'p'), files);
    expect([agentNames(imported), sessionNames(imported)]).toEqual([['b.a'], ['b.a on_demand']]);
    expect(imported.agents[0]).toMatchObject({
      binding: 'b',
      packName: 'p',
      sourceDir: join(imported.root, 'p'),
    });
  });

  it('the name that the city gives stands over the names given inside packs', async () => {
    const files = {
      ...pack('outer', imports('mid', '../mid') + SESSION('o'), ['o']),
      ...pack('mid', imports('in', '../inner'), ['m']),
      ...pack('inner', SESSION('i'), ['i']),
    };
    const city = await cityOf(imports('top', 'outer'), files);
    expect(agentNames(city)).toEqual(['top.i', 'top.m', 'top.o']);
    expect(sessionNames(city)).toEqual(['top.i on_demand', 'top.o on_demand']);
  });

  it('inside packs the innermost name stays, unless the import is exported', async () => {
    const files = (more: string) => ({
      ...pack('outer', imports('mid', '../mid', more), ['o']),
      ...pack('mid', imports('in', '../inner'), ['m']),
      ...pack('inner', '', ['i']),
    });
    expect(agentNames(await cityOf(includes('outer'), files('')))).toEqual(['in.i', 'mid.m', 'o']);
    expect(agentNames(await cityOf(includes('outer'), files('export = true\n')))).toEqual([
      'mid.i',
      'mid.m',
      'o',
    ]);
  });

  it('commands and checks keep the first name, unless the import is exported', async () => {
    const files = {
      ...pack('outer', imports('dolt', '../inner')),
      ...pack('inner'),
      'inner/commands/go/run.sh': '',
      'inner/doctor/look/run.sh': '',
    };
    const of = async (file: string) => {
      const { commands, doctors } = await cityOf(file, files);
      return [commands.map(({ binding }) => binding), doctors.map(({ binding }) => binding)];
    };
    expect(await of(includes('outer'))).toEqual([['dolt'], ['dolt']]);
    expect(await of(imports('o', 'outer'))).toEqual([['dolt'], ['dolt']]);
    expect(await of(imports('o', 'outer', 'export = true\n'))).toEqual([['o'], ['o']]);
    expect(await of(includes('inner'))).toEqual([['inner'], ['']]);
  });

  it('one pack under two names is two packs, and two of one bare name live together', async () => {
    const city = await cityOf(
      `${imports('one', 'p')}${imports('two', 'p')}[[patches.agent]]\nname = "two.a"\nnudge = "x"\n`,
      pack('p', SESSION('a'), ['a']),
    );
    expect(city.agents.map(({ qualifiedName, nudge }) => [qualifiedName, nudge])).toEqual([
      ['one.a', ''],
      ['two.a', 'x'],
    ]);
    expect(sessionNames(city)).toEqual(['one.a on_demand', 'two.a on_demand']);
    const both = await cityOf(imports('one', 'p') + imports('two', 'q'), {
      ...pack('p', '', ['a']),
      ...pack('q', '', ['a']),
    });
    expect([agentNames(both), both.warnings]).toEqual([['one.a', 'two.a'], []]);
  });

  it('a bare dependency means the sibling of the pack, under the name it came with', async () => {
    const files = {
      ...pack('p', '[[agent]]\nname = "a"\nstart_command = "s"\ndepends_on = ["b"]\n', ['b']),
      ...pack('q', imports('inner', '../p')),
    };
    const city = await cityOf(
      `${imports('x', 'q')}[[rigs]]\nname = "r"\npath = "."\nincludes = ["p"]\n`,
      files,
    );
    expect(city.agents.filter(({ name }) => name === 'a').map(({ dependsOn }) => dependsOn)).toEqual([
      ['x.b'],
      ['r/b'],
    ]);
  });
});

describe('packs within packs', () => {
  it('includes come first in their order, imports by name, the pack itself last', async () => {
    const city = await cityOf(includes('top'), {
      ...pack('top', `includes = ["../i2", "../i1"]\n${imports('z', '../y')}${imports('a', '../x')}`, [
        'own',
      ]),
      ...pack('i1', '', ['one']),
      ...pack('i2', '', ['two']),
      ...pack('x', '', ['ex']),
      ...pack('y', '', ['why']),
    });
    expect(agentNames(city)).toEqual(['two', 'one', 'a.ex', 'z.why', 'own']);
    expect(inCity(city, city.layers.packDirs.city)).toEqual(['i2', 'i1', 'x', 'y', 'top']);
    expect(
      city.packs.map(({ name, via, binding, parent }) => [name, via, binding, inCity(city, [parent])[0]]),
    ).toEqual([
      ['i2', 'include', '', 'top'],
      ['i1', 'include', '', 'top'],
      ['x', 'import', 'a', 'top'],
      ['y', 'import', 'z', 'top'],
      ['top', 'include', '', city.root],
    ]);
  });

  it('a diamond brings each of its things once, its lines for all sessions too', async () => {
    const inner =
      '[global]\nsession_live = ["l"]\n[[service]]\nname = "v"\n[service.workflow]\ncontract = "gc.healthz.v1"\n';
    const city = await cityOf(imports('t', 'top'), {
      ...pack('top', imports('l', '../left') + imports('r', '../right')),
      ...pack('left', imports('in', '../inner')),
      ...pack('right', imports('in', '../inner')),
      ...pack('inner', inner + SESSION('i'), ['i']),
      'inner/commands/go/run.sh': '',
      'inner/doctor/look/run.sh': '',
      'inner/formulas/f.toml': '',
    });
    expect([agentNames(city), sessionNames(city)]).toEqual([['t.i'], ['t.i on_demand']]);
    expect(city.agents[0]?.sessionLive).toEqual(['l']);
    expect([city.commands.length, city.doctors.length, city.services.length]).toEqual([1, 1, 1]);
    expect(inCity(city, city.layers.packDirs.city)).toEqual(['inner', 'left', 'right', 'top']);
    expect(inCity(city, city.layers.formulas.city)).toEqual(['inner/formulas']);
  });

  it('a patch on one way of a diamond holds; two different ones are told apart', async () => {
    const patch = (nudge: string) => `[[patches.agent]]\nname = "i"\nnudge = "${nudge}"\n`;
    const files = (left: string, right: string) => ({
      ...pack('top', imports('l', '../left') + imports('r', '../right')),
      ...pack('left', imports('in', '../inner') + left),
      ...pack('right', imports('in', '../inner') + right),
      ...pack('inner', '', ['i']),
    });
    const nudges = async (left: string, right: string) =>
      (await cityOf(imports('t', 'top'), files(left, right))).agents.map(({ nudge }) => nudge);
    expect(await nudges(patch('x'), '')).toEqual(['x']);
    expect(await nudges('', patch('x'))).toEqual(['x']);
    expect(await nudges(patch('x'), patch('x'))).toEqual(['x']);
    expect(await problemsOf(imports('t', 'top'), files(patch('x'), patch('y')))).toEqual([
      'inner/agents/i/agent.toml:1:1 duplicate-agent: city: agent "t.i" comes in over two packs that patch it differently (left/pack.toml:8:1 and right/pack.toml:8:1)',
    ]);
  });

  it('transitive = false keeps what the pack itself declares', async () => {
    const files = {
      ...pack('outer', imports('in', '../inner') + SESSION('o'), ['o']),
      ...pack('inner', `${SESSION('i')}[global]\nsession_live = ["l"]\n`, ['i']),
      'inner/commands/go/run.sh': '',
      'inner/doctor/look/run.sh': '',
      'outer/commands/own/run.sh': '',
    };
    const city = await cityOf(imports('x', 'outer', 'transitive = false\n'), files);
    expect([agentNames(city), sessionNames(city)]).toEqual([['x.o'], ['x.o on_demand']]);
    expect(city.commands.map(({ words }) => words)).toEqual([['own']]);
    expect(city.doctors).toEqual([]);
    expect(city.agents[0]?.sessionLive).toEqual(['l']);
    expect(inCity(city, city.layers.packDirs.city)).toEqual(['inner', 'outer']);
  });

  it('a cycle is told where it closes, also one over a link', async () => {
    expect(
      await problemsOf(imports('a', 'a'), {
        ...pack('a', imports('b', '../b')),
        ...pack('b', imports('a', '../a')),
      }),
    ).toEqual(['b/pack.toml:5:10 pack-cycle: cycle detected: pack "a" already visited (a -> b -> a)']);
    const dir = scratch({ 'city.toml': imports('a', 'a'), ...pack('a', imports('self', './self')) });
    symlinkSync('.', join(dir, 'a/self'));
    const result = await loadCity(dir, { env: {} });
    expect(result.kind === 'invalid' && shown(result.problems, dir)).toEqual([
      'a/pack.toml:5:10 pack-cycle: cycle detected: pack "a" already visited (a -> a)',
    ]);
  });

  it('one folder by two ways, one of them a link, is one pack', async () => {
    const dir = scratch({
      'city.toml': imports('t', 'top'),
      ...pack('top', imports('a', '../inner') + imports('b', '../link')),
      ...pack('inner', '', ['i']),
    });
    symlinkSync('inner', join(dir, 'link'));
    const result = await loadCity(dir, { env: {} });
    expect(result.kind === 'ok' && agentNames(result.city)).toEqual(['t.i']);
  });
});

describe('a pack that is not there', () => {
  it('an include of the city is left out with a warning, an import is an error', async () => {
    expect(await problemsOf(`${includes('gone')}[[agent]]\nname = "a"\nstart_command = "s"\n`)).toEqual(
      ['2:13 pack-skipped: pack "gone" is left out: there is no folder gone'].map(
        (line) => `city.toml:${line}`,
      ),
    );
    expect(await problemsOf(imports('b', 'gone'))).toEqual([
      'city.toml:2:10 pack-not-found: city import "b": there is no folder gone',
    ]);
    expect(await problemsOf(`[[rigs]]\nname = "r"\npath = "."\n[rigs.imports.b]\nsource = "gone"\n`)).toEqual(
      ['city.toml:5:10 pack-not-found: rig "r" import "b": there is no folder gone'],
    );
  });

  it('inside a pack both are errors, and what misses its agents is not told again', async () => {
    const files = pack(
      'p',
      `includes = ["../no"]\n${imports('b', '../gone')}[[patches.agent]]\nname = "x"\nnudge = "y"\n`,
    );
    expect(
      await problemsOf(`${imports('p', 'p')}[[patches.agent]]\nname = "p.x"\nnudge = "y"\n`, files),
    ).toEqual([
      'p/pack.toml:4:13 pack-not-found: [pack] includes "../no": there is no folder no',
      'p/pack.toml:6:10 pack-not-found: import "b": there is no folder gone',
    ]);
  });

  it('a folder without a manifest is told where it is asked for', async () => {
    const files = { ...pack('p', imports('b', '../q')), 'q/readme': '' };
    expect(await problemsOf(imports('p', 'p'), files)).toEqual([
      'p/pack.toml:5:10 pack-not-found: q is no pack: it has no pack.toml or pack.yaml',
    ]);
  });
});
