import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agentNames, cityOf, imports, pack, problemsOf, sessionNames } from '../testing/scratch-packs.ts';

const RIG = (more = '', name = 'r') => `[[rigs]]\nname = "${name}"\npath = "."\n${more}`;
const OWN = (name: string, more = '') => `[[agent]]\nname = "${name}"\nstart_command = "s"\n${more}`;
const SESSION = (template: string, more = '') => `[[named_session]]\ntemplate = "${template}"\n${more}`;
const BOTH = (sources: string) => `[workspace]\nincludes = ${sources}\n`;

describe('scopes', () => {
  const files = {
    ...pack(
      'p',
      `${SESSION('c', 'scope = "city"\n')}${SESSION('r', 'scope = "rig"\nmode = "always"\n')}${SESSION('u')}`,
      ['u'],
    ),
    'p/agents/c/agent.toml': 'scope = "city"\nstart_command = "s"\n',
    'p/agents/r/agent.toml': 'scope = "rig"\nstart_command = "s"\n',
  };

  it('the city takes city agents and unscoped ones, a rig its own and unscoped ones', async () => {
    const city = await cityOf(
      `${BOTH('["p"]')}${OWN('own')}${RIG('includes = ["p"]\n[rigs.imports.x]\nsource = "p"\n')}`,
      files,
    );
    expect(agentNames(city)).toEqual(['c', 'u', 'own', 'r/r', 'r/u', 'r/x.r', 'r/x.u']);
    expect(sessionNames(city)).toEqual([
      'c on_demand',
      'u on_demand',
      'r/r always',
      'r/u on_demand',
      'r/x.r always',
      'r/x.u on_demand',
    ]);
  });

  it('a rig pack brings all but commands and services', async () => {
    const rig = {
      ...pack('p', `[providers.q]\ncommand = "c"\n[global]\nsession_live = ["l"]\n`, ['a']),
      'p/commands/go/run.sh': '',
      'p/doctor/look/run.sh': '',
      'p/overlay/f': '',
      'p/formulas/f.toml': '',
      'p/scripts/s.sh': '',
      'p/assets/scripts/s.sh': '',
    };
    const city = await cityOf(`${OWN('own')}${RIG('includes = ["p"]\n')}`, rig);
    expect([city.commands, Object.keys(city.providers)]).toEqual([[], ['q']]);
    expect(city.doctors.map(({ name, rig: of }) => [name, of])).toEqual([['look', 'r']]);
    expect(city.layers).toEqual({
      packDirs: { city: [], rigs: { r: [join(city.root, 'p')] } },
      overlays: { city: [], rigs: { r: [join(city.root, 'p/overlay')] } },
      scripts: { city: [], rigs: { r: [join(city.root, 'p/scripts'), join(city.root, 'p/assets/scripts')] } },
      formulas: { city: [], rigs: { r: [join(city.root, 'p/formulas')] } },
    });
    expect(city.packs.map(({ name, rig: of }) => [name, of])).toEqual([['p', 'r']]);
    const service = '[[service]]\nname = "s"\n[service.workflow]\ncontract = "gc.healthz.v1"\n';
    expect(await problemsOf(RIG('includes = ["p"]\n'), pack('p', service))).toEqual([
      'p/pack.toml:5:8 service-in-rig: rig "r": [[service]] is only allowed in city-scoped packs (service "s")',
    ]);
  });
});

describe('lines for all sessions', () => {
  it('of city packs reach every agent but implicit ones, of rig packs the agents of the rig', async () => {
    const files = {
      ...pack('c', '[global]\nsession_live = ["{{.ConfigDir}}/c {{ .ConfigDir }} {{.Session}}"]\n', ['x']),
      ...pack('w', '[global]\nsession_live = ["w"]\n', ['y']),
    };
    const city = await cityOf(
      `[workspace]\nprovider = "claude"\nincludes = ["c"]\n${OWN('own', 'session_live = ["o"]\n')}${RIG('includes = ["w", "c"]\n')}${RIG('', 'q')}${OWN('z', 'dir = "q"\n')}`,
      files,
    );
    const line = `${city.root}/c/c ${city.root}/c {{.Session}}`;
    expect(
      Object.fromEntries(city.agents.map(({ qualifiedName, sessionLive }) => [qualifiedName, sessionLive])),
    ).toEqual({
      x: [line],
      own: ['o', line],
      'q/z': [line],
      'r/y': [line, 'w', line],
      'r/x': [line, 'w', line],
      claude: [],
      'r/claude': [],
      'q/claude': [],
    });
  });
});

describe('what packs require', () => {
  const needs = (scope: string, agent: string) =>
    `[[pack.requires]]\nscope = "${scope}"\nagent = "${agent}"\n`;

  it('must be there by bare name, in its scope', async () => {
    const files = {
      ...pack('p', needs('city', 'mayor') + needs('rig', 'cook')),
      ...pack('q', '', ['mayor', 'cook']),
    };
    expect(await problemsOf(`${imports('p', 'p')}${RIG('includes = ["p"]\n')}`, files)).toEqual([
      'p/pack.toml:4:3 pack-requires: pack requires city agent "mayor" — include a pack that provides it',
      'p/pack.toml:7:3 pack-requires: rig "r": pack requires rig agent "cook" — include a pack that provides it',
    ]);
    const met = `${imports('p', 'p')}${imports('q', 'q')}${RIG('includes = ["p", "q"]\n')}`;
    expect(await problemsOf(met, files)).toEqual([]);
  });

  it('must be written whole', async () => {
    const bad =
      '[[pack.requires]]\nscope = "city"\n[[pack.requires]]\nscope = "town"\nagent = "a"\n[[pack.requires]]\nagent = "a"\n';
    expect(await problemsOf(imports('p', 'p'), pack('p', bad))).toEqual([
      'p/pack.toml:4:3 missing-key: pack.toml: [pack] requires[0]: agent is required',
      'p/pack.toml:7:9 bad-value: pack.toml: [pack] requires[1]: scope must be "city" or "rig", got "town"',
      'p/pack.toml:9:3 bad-value: pack.toml: [pack] requires[2]: scope must be "city" or "rig", got ""',
    ]);
  });
});

describe('providers of packs', () => {
  it('the city wins, then the first pack; inside a pack its own', async () => {
    const provider = (name: string, command: string) => `[providers.${name}]\ncommand = "${command}"\n`;
    const city = await cityOf(`${provider('a', 'city')}${BOTH('["p", "q"]')}${RIG('includes = ["w"]\n')}`, {
      ...pack(
        'p',
        `${imports('i', '../inner')}${provider('a', 'p')}${provider('b', 'p')}${provider('d', 'p')}`,
      ),
      ...pack('q', provider('b', 'q') + provider('c', 'q')),
      ...pack('w', provider('c', 'w') + provider('e', 'w')),
      ...pack('inner', provider('d', 'inner')),
    });
    expect(
      Object.fromEntries(Object.entries(city.providers).map(([name, { command }]) => [name, command])),
    ).toEqual({
      a: 'city',
      b: 'p',
      c: 'q',
      d: 'p',
      e: 'w',
    });
  });
});
