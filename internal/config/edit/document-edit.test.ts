import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseText } from '../document/read-source.ts';
import { appendItem, insertTable, removeAt, setValue } from './document-edit.ts';

async function dataOf(file: string, text: string): Promise<unknown> {
  const result = await parseText(file, text);
  if (result.kind !== 'parsed') throw new Error(`${file} does not parse:\n${text}`);
  return result.document.data;
}

const RIG = {
  name: 'new',
  path: '/p q',
  suspended: true,
  includes: ['a', 'b, c'],
  imports: { gs: { source: './x' } },
};

const TOML = `# the city
[workspace]  # here
name = "b"
# old = 1

[imports.a]
source = "x" # a

[[rigs]]
name = "one"
  [rigs.env]
  A = "1"
# tail of one

# the second
[[rigs]]
name = "two"

# end
`;

const YAML = `# the city
workspace:  # here
  name: b
  # old: 1

imports:
  a: {source: x} # a
rigs:
  - name: one
    env:
      A: "1"
    # tail of one

  # the second
  - name: two
    note: |
      # text

# end
`;

describe('insertTable', () => {
  it('stands behind its siblings', async () => {
    expect(await insertTable(TOML, 'c.toml', ['imports', 'g'], { source: './p', export: true })).toBe(
      TOML.replace('source = "x" # a\n', 'source = "x" # a\n\n[imports.g]\nsource = "./p"\nexport = true\n'),
    );
    expect(await insertTable(YAML, 'c.yaml', ['imports', 'g'], { source: './p', export: true })).toBe(
      YAML.replace('# a\n', '# a\n  g:\n    source: ./p\n    export: true\n'),
    );
  });

  it('makes what is missing above it', async () => {
    expect(await insertTable('a = 1', 'c.toml', ['imports', 'g.x'], { source: 's' })).toBe(
      'a = 1\n\n[imports."g.x"]\nsource = "s"',
    );
    expect(await insertTable('# only this\n', 'c.yaml', ['imports', 'g'], { source: 's' })).toBe(
      '# only this\n\nimports:\n  g:\n    source: s\n',
    );
    expect(await insertTable('', 'c.yaml', ['imports', 'g'], { source: 's' })).toBe(
      'imports:\n  g:\n    source: s\n',
    );
    expect(await insertTable('imports:\nx: 1\n', 'c.yaml', ['imports', 'g'], { source: 's' })).toBe(
      'imports:\n  g:\n    source: s\nx: 1\n',
    );
  });

  it('keeps the style of a file: brackets, line breaks, indentation', async () => {
    expect(
      await insertTable('imports = { a = { source = "x" } }\n', 'c.toml', ['imports', 'g'], { source: 's' }),
    ).toBe('imports = { a = { source = "x" }, g = { source = "s" } }\n');
    expect(await insertTable('imports: {}\r\n', 'c.yaml', ['imports', 'g'], { source: 's, t' })).toBe(
      'imports: {g: {source: "s, t"}}\r\n',
    );
    expect(await insertTable('a:\r\n    b: 1\r\n', 'c.yaml', ['x', 'g'], { source: 's' })).toBe(
      'a:\r\n    b: 1\r\nx:\r\n    g:\r\n        source: s\r\n',
    );
  });

  it('refuses what is there, and what cannot be read', async () => {
    await expect(insertTable(TOML, 'c.toml', ['imports', 'a'], {})).rejects.toMatchObject({
      code: 'already-there',
    });
    await expect(insertTable('a = [', 'c.toml', ['imports', 'a'], {})).rejects.toMatchObject({
      code: 'config-unreadable',
    });
  });

  it('refuses to change what an alias shares', async () => {
    const text = 'a: &x\n  k: {source: s}\nimports: *x\n';
    await expect(insertTable(text, 'c.yaml', ['imports', 'g'], { source: 's' })).rejects.toMatchObject({
      code: 'ambiguous-edit',
    });
  });
});

describe('appendItem', () => {
  it('stands behind the last item', async () => {
    expect(await appendItem(TOML, 'c.toml', ['rigs'], RIG)).toBe(
      TOML.replace(
        'name = "two"\n',
        'name = "two"\n\n[[rigs]]\nname = "new"\npath = "/p q"\nsuspended = true\nincludes = ["a", "b, c"]\n\n[rigs.imports.gs]\nsource = "./x"\n',
      ),
    );
    expect(await appendItem(YAML, 'c.yaml', ['rigs'], { name: 'new', path: '/p q', includes: ['a'] })).toBe(
      YAML.replace('      # text\n', '      # text\n\n  - name: new\n    path: /p q\n    includes: [a]\n'),
    );
  });

  it('goes into brackets where the list has them', async () => {
    const lines = 'rigs = [\n  { name = "a" },  # one\n]\n';
    expect(await appendItem(lines, 'c.toml', ['rigs'], { name: 'b' })).toBe(
      'rigs = [\n  { name = "a" },  # one\n  { name = "b" },\n]\n',
    );
    expect(await appendItem('rigs: [{name: a}]', 'c.yaml', ['rigs'], { name: 'b' })).toBe(
      'rigs: [{name: a}, {name: b}]',
    );
    expect(await appendItem('rigs:\n- name: a\n', 'c.yaml', ['rigs'], { name: 'b' })).toBe(
      'rigs:\n- name: a\n- name: b\n',
    );
  });
});

describe('removeAt', () => {
  it('takes the comments of an item with it, and no others', async () => {
    expect(await removeAt(TOML, 'c.toml', ['rigs', 0])).toBe(
      TOML.replace(/\n\[\[rigs\]\]\nname = "one"[\s\S]*# tail of one\n/, ''),
    );
    expect(await removeAt(TOML, 'c.toml', ['rigs', 1])).toBe(
      TOML.replace('\n# the second\n[[rigs]]\nname = "two"\n', ''),
    );
    expect(await removeAt(YAML, 'c.yaml', ['rigs', 0])).toBe(
      YAML.replace(/ {2}- name: one[\s\S]*# tail of one\n/, ''),
    );
    expect(await removeAt(YAML, 'c.yaml', ['rigs', 1])).toBe(
      YAML.replace(/\n {2}# the second\n {2}- name: two\n.*\n.*\n/, ''),
    );
  });

  it('takes one value out', async () => {
    expect(await removeAt(TOML, 'c.toml', ['imports', 'a'])).toBe(
      TOML.replace('\n[imports.a]\nsource = "x" # a\n', ''),
    );
    expect(await removeAt(YAML, 'c.yaml', ['imports', 'a'])).toBe(
      YAML.replace('\nimports:\n  a: {source: x} # a\n', '').replace('1\nrigs', '1\nrigs'),
    );
    expect(await removeAt('a: [x, y, z]', 'c.yaml', ['a', 1])).toBe('a: [x, z]');
    expect(await removeAt('a = { x = 1, y = 2 }', 'c.toml', ['a', 'y'])).toBe('a = { x = 1 }');
  });
});

describe('setValue', () => {
  it.each([
    ['c.toml', '[w] # x\nname = "a" # n\n', ['w', 'name'], 'b', '[w] # x\nname = "b" # n\n'],
    ['c.toml', '# c\n[w]\n', ['w', 'name'], 'b', '# c\n[w]\nname = "b"\n'],
    ['c.toml', '# c\n', ['w', 'name'], 'b', '# c\n\n[w]\nname = "b"\n'],
    ['c.toml', '[a]\nb = 1\n', ['top'], 2, 'top = 2\n\n[a]\nb = 1\n'],
    ['c.yaml', 'w: # x\n  name: a # n\n', ['w', 'name'], 'b c', 'w: # x\n  name: b c # n\n'],
    ['c.yaml', 'w: {name: a}\n', ['w', 'name'], 'b, c', 'w: {name: "b, c"}\n'],
    ['c.yaml', 'w:\n  name:\n  z: 1\n', ['w', 'name'], 'b', 'w:\n  name: b\n  z: 1\n'],
    ['c.yaml', 'a: 1\n', ['w', 'name'], 'yes', 'a: 1\nw:\n  name: yes\n'],
    ['c.yaml', 'l:\n  - a\n  - b\nz: 1\n', ['l'], ['c'], 'l: [c]\nz: 1\n'],
    [
      'c.yaml',
      'rigs:\n  - name: a\n  - name: b\n',
      ['rigs', 0, 'suspended'],
      true,
      'rigs:\n  - name: a\n    suspended: true\n  - name: b\n',
    ],
    [
      'c.toml',
      '[[rigs]]\nname = "a"\n[rigs.env]\n',
      ['rigs', 0, 'x'],
      [1.5],
      '[[rigs]]\nname = "a"\nx = [1.5]\n[rigs.env]\n',
    ],
  ] as const)('%s %j', async (file, text, path, value, result) => {
    expect(await setValue(text, file, path, value)).toBe(result);
  });
});

describe('any city', () => {
  const comment = fc.constantFrom('', '  # c', ' # "x" = [', '\t# [[rigs]]');
  const above = fc.constantFrom('', '\n', '# a\n', '\n# b\n# c\n', '# d\n\n', '\n\n');
  const scalar = fc.oneof(
    fc.string({ maxLength: 6 }),
    fc.constantFrom('a: b', '- x', '# no', 'yes', '1', '', 'null', '{', "it's", 'é\u2028', '~', '\u007f'),
    fc.integer({ min: -1000, max: 1000 }),
    fc.boolean(),
    fc.constantFrom(0.5, -1e-7, 1e21),
    fc.array(fc.string({ maxLength: 3 }), { maxLength: 3 }),
  );
  const key = fc.oneof(fc.constantFrom('name', 'path', 'a b', 'x.y', 'é'), fc.stringMatching(/^[a-z]{1,4}$/));
  const values = fc.dictionary(
    key,
    fc.oneof(scalar, fc.dictionary(key, scalar, { minKeys: 1, maxKeys: 2, noNullPrototype: true })),
    { minKeys: 1, maxKeys: 4, noNullPrototype: true },
  );
  const eol = fc.constantFrom('\n', '\r\n');
  const finish = fc.constantFrom('', '\n', '\n\n', '\n\n# the end\n', '\n# the end', '\n  \n');
  const safe = fc.constantFrom('"s"', '[ "a", "b" ]', '1', 'true');
  const parts = fc.record({
    head: above,
    sections: fc.array(
      fc.record({ above, comment, values: fc.array(fc.tuple(above, safe, comment), { maxLength: 3 }) }),
      {
        maxLength: 3,
      },
    ),
    rigs: fc.array(
      fc.record({
        above,
        comment,
        values: fc.array(fc.tuple(above, safe, comment), { minLength: 1, maxLength: 3 }),
      }),
      {
        maxLength: 3,
      },
    ),
    rigsFirst: fc.boolean(),
    indent: fc.constantFrom('', '  ', '    '),
    eol,
    finish,
  });
  type Parts = typeof parts extends fc.Arbitrary<infer T> ? T : never;

  const tomlOf = ({ head, sections, rigs, rigsFirst, eol: e, finish: f }: Parts): string => {
    const entries = (list: Parts['rigs'][number]['values']) =>
      list.map(([a, v, c], index) => `${a}k${index} = ${v}${c}\n`).join('');
    const tables = sections.map((s, index) => `${s.above}[s${index}]${s.comment}\n${entries(s.values)}`);
    const items = rigs.map((r) => `${r.above}[[rigs]]${r.comment}\n${entries(r.values)}`);
    const body = head + (rigsFirst ? [...items, ...tables] : [...tables, ...items]).join('');
    return (body.replace(/\n$/, '') + f).replaceAll('\n', e);
  };
  const yamlOf = ({ head, sections, rigs, rigsFirst, indent, eol: e, finish: f }: Parts): string => {
    const shifted = (text: string, by: string) => text.replace(/^(?=#)/gm, by);
    const deep = indent || '  ';
    const maps = sections.map((s, index) =>
      s.values.length === 0
        ? `${s.above}s${index}: {}${s.comment}\n`
        : `${s.above}s${index}:${s.comment}\n${s.values.map(([a, v, c], at) => `${shifted(a, deep)}${deep}k${at}: ${v}${c}\n`).join('')}`,
    );
    const items = rigs.map((r) =>
      r.values
        .map(([a, v, c], at) =>
          at === 0
            ? `${shifted(r.above, indent)}${indent}- k0: ${v}${c}\n`
            : `${shifted(a, `${indent}  `)}${indent}  k${at}: ${v}${c}\n`,
        )
        .join(''),
    );
    const list = items.length === 0 ? [] : [`rigs:\n${items.join('')}`];
    const body = head + (rigsFirst ? [...list, ...maps] : [...maps, ...list]).join('');
    return (body.replace(/\n$/, '') + f).replaceAll('\n', e);
  };

  /** `after` is `before` with one run of characters added. */
  function onlyAdds(before: string, after: string): boolean {
    let start = 0;
    while (start < before.length && before[start] === after[start]) start += 1;
    const rest = before.slice(start);
    return after.length > before.length && after.endsWith(rest);
  }

  for (const [format, write] of [
    ['c.toml', tomlOf],
    ['c.yaml', yamlOf],
  ] as const) {
    it(`${format}: added and taken out again leaves the same bytes`, async () => {
      await fc.assert(
        fc.asyncProperty(parts, values, async (shape, added) => {
          const text = write(shape);
          const data = await dataOf(format, text);
          const withItem = await appendItem(text, format, ['rigs'], added);
          expect(onlyAdds(text, withItem)).toBe(true);
          expect(await dataOf(format, withItem)).toEqual({
            ...(data as object),
            rigs: [...shape.rigs.map((_, index) => (data as { rigs: unknown[] }).rigs[index]), added],
          });
          expect(await removeAt(withItem, format, ['rigs', shape.rigs.length])).toBe(text);
          for (const path of [['imports', 'a.b'], ['s0', 'new'], ['zz']]) {
            const withTable = await insertTable(text, format, path, added);
            expect(onlyAdds(text, withTable)).toBe(true);
            if (path[0] === 's0' && (shape.sections[0]?.values.length ?? 0) === 0) continue;
            expect(await removeAt(withTable, format, path)).toBe(text);
          }
        }),
        { numRuns: 60 },
      );
    });

    it(`${format}: every item can be taken out, and nothing else goes`, async () => {
      await fc.assert(
        fc.asyncProperty(parts, fc.nat(), async (shape, pick) => {
          fc.pre(shape.rigs.length > 0);
          const text = write(shape);
          const index = pick % shape.rigs.length;
          const after = await removeAt(text, format, ['rigs', index]);
          const left = (await dataOf(format, after)) as { rigs?: unknown[] } | null;
          expect(left?.rigs?.length ?? 0).toBe(shape.rigs.length - 1);
        }),
        { numRuns: 60 },
      );
    });
  }
});
