import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseText } from '../document/read-source.ts';
import { convertText } from './convert.ts';

const convert = (text: string, from: string, to: 'toml' | 'yaml') => convertText(text, `c.${from}`, to, '/');

async function dataOf(format: string, text: string): Promise<unknown> {
  const result = await parseText(`c.${format}`, text);
  if (result.kind !== 'parsed') throw new Error(`does not parse as ${format}:\n${text}`);
  return result.document.data;
}

const TOML = `# A city
# of two

# the workspace
[workspace] # here
name = "b" # its name
includes = [
  "x", # one
  # then
  "yy",
]
script = """
a
  b
"""

# list of agents

# the boss
[[agent]] # number one
name = "mayor"
env = { A = "1", B = "#no" }

[agent.option_defaults]
model = "opus" # big

# second
[[agent]]
name = "w"
# max = 3
n = 0x10

[providers.x]
command = "sh"

# the end
`;

const YAML = `# A city
# of two

# the workspace
workspace: # here
  name: b # its name
  includes:
    - x # one
    # then
    - yy
  script: |
    a
      b

# list of agents

agent:
  # the boss
  # number one
  - name: mayor
    env: {A: "1", B: "#no"}
    option_defaults:
      model: opus # big

  # second
  - name: w
    # max = 3
    n: 16

providers:
  x:
    command: sh

# the end
`;

describe('convertText', () => {
  it('TOML to YAML', async () => {
    const converted = await convert(TOML, 'toml', 'yaml');
    expect(converted.text).toBe(YAML);
    expect(converted.notes).toEqual(['configuration inside comments keeps its TOML spelling']);
  });

  it('and back', async () => {
    const back = await convert(YAML, 'yaml', 'toml');
    expect(await dataOf('toml', back.text)).toEqual(await dataOf('toml', TOML));
    expect(back.text).toContain(
      '[workspace] # here\nname = "b" # its name\nincludes = [\n  "x", # one\n  # then\n  "yy",\n]\n',
    );
    expect(back.text).toContain(
      '# the boss\n# number one\n[[agent]]\nname = "mayor"\nenv = { A = "1", B = "#no" }\n',
    );
    expect(back.text).toContain('\n# second\n[[agent]]\nname = "w"\n# max = 3\nn = 16\n');
    expect(back.text.startsWith('# A city\n# of two\n\n# the workspace\n[workspace] # here\n')).toBe(true);
    expect(back.text.endsWith('[providers.x]\ncommand = "sh"\n\n# the end\n')).toBe(true);
  });

  it('comments behind brackets', async () => {
    const toml = 'a = ["x"] # list\nb = [\n  1, # one\n] # numbers\nc = { d = [2] } # map\ne = [] # none\n';
    const { text } = await convert(toml, 'toml', 'yaml');
    expect(text).toBe('a: [x] # list\n\nb: # numbers\n  - 1 # one\nc: {d: [2]} # map\ne: [] # none\n');
    expect((await convert(text, 'yaml', 'toml')).text).toBe(toml);
  });

  it('values before tables, aliases written out', async () => {
    const yaml = 'base: &b\n  k: 1 # kay\nother:\n  <<: *b # merged\n  z: *s\nlater: &s yes # last\n'.replace(
      'z: *s',
      'z: 2',
    );
    const { text, notes } = await convert(yaml, 'yaml', 'toml');
    expect(await dataOf('toml', text)).toEqual({ base: { k: 1 }, other: { k: 1, z: 2 }, later: 'yes' });
    for (const comment of ['# kay', '# merged', '# last']) expect(text).toContain(comment);
    expect(notes).toEqual(['anchors and aliases are written out where they were used']);
  });

  it.each([
    ['toml', 'yaml', 'a = 1\nwhen = 2020-01-01\n', 'c.toml:2:8: when is a date'],
    ['yaml', 'toml', 'a:\n  - b:\n', 'a[0].b has no value'],
    ['yaml', 'toml', 'a: 12345678901234567890\n', 'too large'],
    ['yaml', 'toml', 'a: [', 'cannot be converted'],
  ] as const)('%s to %s refuses %j', async (from, to, text, said) => {
    await expect(convert(text, from, to)).rejects.toThrow(said);
  });

  it('numbers of TOML that YAML spells otherwise', async () => {
    const text = 'a = 1_000\nb = 0xff\nc = inf\nd = nan\ne = 1e5\nf = 2.0\ng = -inf\n';
    const { text: yaml } = await convert(text, 'toml', 'yaml');
    expect(await dataOf('yaml', yaml)).toEqual(await dataOf('toml', text));
  });

  it('any data, there and back; every comment survives', async () => {
    const word = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 8 }),
      fc.constantFrom(
        'a\nb\n',
        'x\n\n',
        '\n',
        ' lead\n',
        "it's\n'''",
        'a: b',
        '# no',
        'true',
        '1e3',
        '',
        '~',
        '\t',
        'é',
        '"""',
        '\\n',
        '- x',
        'a #b',
      ),
    );
    const key = fc.oneof(
      fc.stringMatching(/^[a-z]{1,4}$/),
      fc.constantFrom('a b', 'x.y', 'é', '', '#', '- k', 'true', '1'),
    );
    const leaf = fc.oneof(word, fc.integer(), fc.boolean(), fc.constantFrom(0.5, 1e21, -1e-9, Infinity));
    const { tree } = fc.letrec<{ tree: Record<string, unknown>; node: unknown }>((tie) => ({
      node: fc.oneof(
        { depthSize: 'small', withCrossShrink: true },
        leaf,
        fc.array(tie('node'), { maxLength: 3 }),
        tie('tree'),
      ),
      tree: fc.dictionary(key, tie('node'), { maxKeys: 4, noNullPrototype: true }) as fc.Arbitrary<
        Record<string, unknown>
      >,
    }));
    await fc.assert(
      fc.asyncProperty(tree, fc.array(fc.nat(), { maxLength: 6 }), async (data, places) => {
        const { text: bare } = await convertText(
          JSON.stringify(data, (_, v) => (v === Infinity ? 7 : v)),
          'c.yaml',
          'toml',
          '/',
        );
        const lines = bare.split('\n');
        const marks: string[] = [];
        // Comments where a line of its own is no part of a text of several lines.
        for (const place of bare.includes("'''") ? [] : places) {
          const mark = `# mark ${marks.length}`;
          marks.push(mark);
          lines.splice(place % lines.length, 0, mark);
        }
        const toml = lines.join('\n');
        const { text: yaml } = await convert(toml, 'toml', 'yaml');
        expect(await dataOf('yaml', yaml)).toEqual(await dataOf('toml', toml));
        const { text: back } = await convert(yaml, 'yaml', 'toml');
        expect(await dataOf('toml', back)).toEqual(await dataOf('toml', toml));
        const said = (text: string) => (text.match(/# mark \d+/g) ?? []).sort();
        expect(said(yaml)).toEqual([...marks].sort());
        expect(said(back)).toEqual([...marks].sort());
      }),
      { numRuns: 200 },
    );
  });
});
