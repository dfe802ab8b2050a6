import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { City } from '../city.ts';
import { loadCity } from '../load-city.ts';
import { scratch } from '../testing/scratch-city.ts';

/** A file as tables that may stand in any order; those of one list keep theirs. */
type Tables = readonly { readonly head: string; readonly keys: readonly string[] }[];

const CITY: Tables = [
  {
    head: '[workspace]',
    keys: ['name = "town"', 'provider = "claude"', 'includes = ["p1", "p2"]', 'global_fragments = []'],
  },
  { head: '[imports.b]', keys: ['source = "p3"', 'shadow = "silent"'] },
  { head: '[imports.a]', keys: ['source = "p3"', 'export = true'] },
  { head: '[daemon]', keys: ['max_restarts = 3', 'patrol_interval = "7s"', 'formula_v2 = true'] },
  { head: '[providers.x]', keys: ['command = "x"', 'args = ["1"]', 'display_name = "X"'] },
  { head: '[agent_defaults]', keys: ['default_sling_formula = "f"', 'append_fragments = []'] },
  {
    head: '[[agent]]',
    keys: ['name = "own"', 'start_command = "s"', 'env = { B = "2", A = "1" }', 'nudge = "n"'],
  },
  { head: '[[rigs]]', keys: ['name = "r"', 'path = "."', 'includes = ["p1"]', 'prefix = "zz"'] },
  {
    head: '[[patches.agent]]',
    keys: ['name = "a.inner"', 'nudge = "patched"', 'wake_mode = "fresh"', 'env = { Z = "1" }'],
  },
  { head: '[[named_session]]', keys: ['template = "own"', 'mode = "always"'] },
];
const PACKS: Readonly<Record<string, Tables>> = {
  p1: [
    { head: '[pack]', keys: ['name = "p1"', 'schema = 2', 'version = "1"'] },
    { head: '[providers.x]', keys: ['command = "p1"'] },
    { head: '[providers.y]', keys: ['command = "y"', 'args = []'] },
    { head: '[[agent]]', keys: ['name = "one"', 'start_command = "s"', 'fallback = true'] },
    { head: '[global]', keys: ['session_live = ["{{.ConfigDir}}"]'] },
  ],
  p2: [
    { head: '[pack]', keys: ['name = "p2"', 'schema = 2', 'includes = ["../p1"]'] },
    { head: '[imports.q]', keys: ['source = "../p4"'] },
    { head: '[imports.o]', keys: ['source = "../p3"', 'transitive = false'] },
    { head: '[[patches.agent]]', keys: ['name = "inner"', 'nudge = "by p2"'] },
  ],
  p3: [
    { head: '[pack]', keys: ['name = "p3"', 'schema = 2', 'includes = ["../p5"]'] },
    { head: '[imports.n]', keys: ['source = "../p4"'] },
    { head: '[[agent]]', keys: ['name = "three"', 'start_command = "s"', 'scope = "city"'] },
    { head: '[[named_session]]', keys: ['template = "three"', 'mode = "on_demand"'] },
  ],
  p5: [
    { head: '[pack]', keys: ['name = "p5"', 'schema = 2'] },
    { head: '[global]', keys: ['session_live = ["5"]'] },
  ],
  p4: [
    { head: '[pack]', keys: ['name = "p4"', 'schema = 2'] },
    { head: '[[agent]]', keys: ['name = "inner"', 'start_command = "s"', 'max_active_sessions = 2'] },
  ],
};

const shuffled = (tables: Tables): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.shuffledSubarray([...tables], { minLength: tables.length }),
      ...tables.map(({ keys }) => fc.shuffledSubarray([...keys], { minLength: keys.length })),
    )
    .map(([order, ...keys]) =>
      order
        .map((table) => [table.head, ...(keys[tables.indexOf(table)] ?? [])].join('\n'))
        .concat('')
        .join('\n'),
    );

const files: fc.Arbitrary<Readonly<Record<string, string>>> = fc
  .tuple(shuffled(CITY), ...Object.values(PACKS).map(shuffled))
  .map(([city, ...packs]) => ({
    'city.toml': city,
    ...Object.fromEntries(Object.keys(PACKS).map((name, index) => [`${name}/pack.toml`, packs[index] ?? ''])),
  }));

async function load(dir: string): Promise<City> {
  const result = await loadCity(dir, { env: { HOME: '/nonexistent' } });
  if (result.kind === 'ok') return result.city;
  throw new Error(result.problems.map(({ message }) => message).join('\n'));
}

function write(dir: string, all: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(all)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
}

/** All but what depends on where things stand in their files; maps do not care for order. */
function withoutPlaces({ provenance, revision, ...city }: City): unknown {
  return JSON.parse(
    JSON.stringify(city, (key, value) => (key === 'source' || key === 'position' ? undefined : value)),
  );
}

describe('composing a city', () => {
  it('gives the same city again, and the same revision', async () => {
    const dir = scratch({});
    await fc.assert(
      fc.asyncProperty(files, async (all) => {
        write(dir, all);
        const { provenance: _first, ...first } = await load(dir);
        const { provenance: _second, ...second } = await load(dir);
        expect(second).toEqual(first);
      }),
      { numRuns: 15 },
    );
  });

  it('does not depend on the order of tables and keys', async () => {
    const dir = scratch({});
    let expected: unknown;
    await fc.assert(
      fc.asyncProperty(files, async (all) => {
        write(dir, all);
        const city = withoutPlaces(await load(dir));
        expected ??= city;
        expect(city).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  it('does not depend on packs that are not used', async () => {
    const dir = scratch({
      'city.toml': '[imports.p]\nsource = "p"\n',
      'p/pack.toml': '[pack]\nname = "p"\nschema = 2\n',
    });
    const before = await load(dir);
    write(dir, { 'other/pack.toml': 'broken', 'p2/agents/x/agent.toml': 'x' });
    const { provenance: _after, ...after } = await load(dir);
    rmSync(join(dir, 'other'), { recursive: true });
    const { provenance: _before, ...rest } = before;
    expect(after).toEqual(rest);
  });
});
