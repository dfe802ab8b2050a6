import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { brief, loadBad, loadOk } from '../testing/scratch-city.ts';
import { agentNames, cityOf, imports, pack, problemsOf, sessionNames } from '../testing/scratch-packs.ts';

const META = '[pack]\nname = "own"\nschema = 2\n';
const AGENT = (name: string, nudge = '') =>
  `[[agent]]\nname = "${name}"\nstart_command = "s"\nnudge = "${nudge}"\n`;

describe("the city's own manifest", () => {
  it('is the base: the city file wins by name, whole', async () => {
    const city = await cityOf(
      `[workspace]\nprovider = "p"\n[providers.p]\ncommand = "city"\n${AGENT('both', 'city')}${AGENT('mine')}[[patches.agent]]\nname = "theirs"\nnudge = "2"\n[agent_defaults]\ndefault_sling_formula = "c"\nappend_fragments = ["b"]\n[[named_session]]\ntemplate = "mine"\n`,
      {
        'pack.toml': `${META}${imports('x', 'p')}[providers.p]\ncommand = "pack"\nargs = ["a"]\n[providers.q]\ncommand = "q"
${AGENT('both', 'pack')}${AGENT('theirs')}[[named_session]]\ntemplate = "theirs"
[[patches.agent]]\nname = "theirs"\nnudge = "1"\nwake_mode = "fresh"
[agent_defaults]\ndefault_sling_formula = "p"\nallow_overlay = ["o"]\nappend_fragments = ["a"]\n`,
        'agents/folder/agent.toml': 'nudge = "folder"\n',
        'agents/theirs/prompt.md': '',
        ...pack('p', '', ['i']),
      },
    );
    expect(agentNames(city)).toEqual(['x.i', 'theirs', 'folder', 'both', 'mine']);
    expect(city.agents[3]?.nudge).toBe('city');
    expect(city.agents[1]).toMatchObject({
      nudge: '2',
      wakeMode: 'fresh',
      sourceDir: city.root,
      packName: '',
      promptTemplate: join(city.root, 'agents/theirs/prompt.md'),
    });
    expect(city.providers).toEqual({ p: { command: 'city' }, q: { command: 'q' } });
    expect(sessionNames(city)).toEqual(['theirs on_demand', 'mine on_demand']);
    expect(city.agentDefaults).toMatchObject({
      defaultSlingFormula: 'c',
      allowOverlay: ['o'],
      appendFragments: ['a', 'b'],
    });
    expect(city.warnings).toEqual([]);
  });

  it('gives its name to the commands of the city, and brings skills and mcp', async () => {
    const files = {
      'pack.toml': `${META}[[commands]]\nname = "old way"\nscript = "x.sh"\nlong_description = "x.md"\n[[doctor]]\nname = "d"\nscript = "d.sh"\n`,
      'commands/go/run.sh': '',
      'doctor/look/run.sh': '',
      'skills/s/SKILL.md': '',
      'mcp/x': '',
    };
    const city = await cityOf(AGENT('a'), files);
    expect(city.commands.map(({ binding, words }) => [binding, ...words])).toEqual([
      ['own', 'go'],
      ['own', 'old', 'way'],
    ]);
    expect(city.commands[1]).toMatchObject({
      run: join(city.root, 'x.sh'),
      helpFile: join(city.root, 'x.md'),
    });
    expect(city.doctors.map(({ name, packName }) => [name, packName])).toEqual([
      ['look', 'own'],
      ['d', 'own'],
    ]);
    expect([city.skillsDir, city.mcpDir]).toEqual([join(city.root, 'skills'), join(city.root, 'mcp')]);
    const bare = await cityOf(`[workspace]\nname = "town"\n${AGENT('a')}`, { 'commands/go/run.sh': '' });
    expect([bare.commands[0]?.binding, bare.skillsDir]).toEqual(['town', '']);
  });

  it('what has no effect there is told, imports in the city file too', async () => {
    const files = {
      'pack.toml': `[pack]\nname = "own"\nschema = 2\nincludes = ["p"]\n[global]\nsession_live = ["x"]\n[[service]]\nname = "s"\n[formulas]\ndir = "f"\n`,
      ...pack('p'),
    };
    expect(await problemsOf(`${imports('x', 'p')}${imports('y', 'p')}`, files)).toEqual([
      'city.toml:1:2 imports-in-city-file: city.toml declares 2 [imports] — consider moving them to pack.toml',
      "pack.toml:4:1 ignored-key: pack.includes has no effect in the city's own pack.toml",
      "pack.toml:5:2 ignored-key: global has no effect in the city's own pack.toml",
      "pack.toml:7:3 ignored-key: service has no effect in the city's own pack.toml",
      "pack.toml:9:2 ignored-key: formulas has no effect in the city's own pack.toml",
    ]);
    expect(await problemsOf(imports('x', 'p'), pack('p'))).toEqual([]);
  });

  it('may be YAML, then unknown keys are errors; in TOML they are notes', async () => {
    const city = await cityOf(AGENT('a'), { 'pack.toml': `${META}descr = "x"\n[agnt]\n` });
    expect(city.warnings).toEqual([]);
    expect(brief(city.notes)).toEqual([
      '4:1 unknown-key: unknown key "descr" in pack',
      '5:2 unknown-key: unknown key "agnt" in city pack.toml; did you mean "agents"?',
    ]);
    const yaml = 'pack: {name: own, schema: 2}\nagents: [{name: a, start_command: s}]\n';
    expect((await loadOk({ 'city.yaml': 'workspace: {name: x}\n', 'pack.yaml': yaml })).agents[0]?.name).toBe(
      'a',
    );
    expect(
      brief(await loadBad({ 'city.yaml': 'workspace: {name: x}\n', 'pack.yml': `${yaml}servces: []\n` })),
    ).toEqual(['3:1 unknown-key: unknown key "servces" in city pack.yml; did you mean "services"?']);
  });

  it.each([
    ['', 'pack.toml:1:1 missing-key: city pack.toml: [pack] name is required'],
    ['[pack]\nschema = 2\n', 'pack.toml:1:2 missing-key: city pack.toml: [pack] name is required'],
    ['[pack]\nname = "x"\n', 'pack.toml:1:2 missing-key: city pack.toml: [pack] schema is required'],
    [
      '[pack]\nname = "x"\nschema = 0\n',
      'pack.toml:3:10 missing-key: city pack.toml: [pack] schema is required',
    ],
    [
      '[pack]\nname = "x"\nschema = 3\n',
      'pack.toml:3:10 pack-schema: city pack.toml: [pack] schema 3 not supported (max 2)',
    ],
    [
      '[pack]\nname = "x"\nschema = "2"\n',
      'pack.toml:3:10 wrong-type: pack.schema must be a whole number, not the string "2"',
    ],
    ['[pack\n', 'pack.toml:1:6 toml-syntax: illegal character in key'],
  ])('is refused: %j', async (text, expected) => {
    const [first] = await problemsOf(AGENT('a'), { 'pack.toml': text });
    expect(first).toBe(expected);
  });

  it('two manifests, and what the city must have', async () => {
    expect(await problemsOf(AGENT('a'), { 'pack.toml': META, 'pack.yaml': 'pack: {}\n' })).toEqual([
      'pack.toml:1:1 two-manifests: the pack has both pack.toml and pack.yaml',
    ]);
    const requires = `${META}[[pack.requires]]\nscope = "city"\nagent = "b"\n[[pack.requires]]\nscope = "city"\nagent = "a"\n`;
    expect(await problemsOf(AGENT('a'), { 'pack.toml': requires })).toEqual([
      'pack.toml:4:3 pack-requires: pack requires city agent "b" — include a pack that provides it',
    ]);
  });
});
