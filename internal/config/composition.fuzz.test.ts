import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fuzzRun, loadOnce, writeFiles } from './testing/fuzz-run.ts';
import { type CityFiles, SEED_CITIES } from './testing/mutate-city.ts';
import { scratch } from './testing/scratch-city.ts';

/** The share of the campaign that runs with the tests; `npm run fuzz` runs ten thousand. */
const SHARE = 200;
const SEED = 20_260_901;

describe('damaged cities and packs', () => {
  it.each(SEED_CITIES.map((files) => [files]))('the seed city itself loads', async (files) => {
    const dir = scratch({});
    writeFiles(dir, files);
    expect(await loadOnce(dir, join(dir, 'home'), files)).toBe('loaded');
  });

  it('load or are refused with a place, and never look outside', async () => {
    const { loaded, refused, failures } = await fuzzRun(scratch({}), SEED, SHARE);
    expect(failures).toEqual([]);
    expect(loaded + refused).toBe(SHARE);
    expect(Math.min(loaded, refused)).toBeGreaterThan(SHARE / 20);
  }, 120_000);
});

describe('hazards', () => {
  const pack = (name: string, more = '') => `[pack]\nname = "${name}"\nschema = 2\n${more}`;
  const imports = (...sources: readonly string[]) =>
    sources.map((source, index) => `[imports.i${index}]\nsource = "${source}"\n`).join('');

  async function outcome(files: CityFiles, prepare: (dir: string) => void = () => {}): Promise<string> {
    const dir = scratch({});
    writeFiles(dir, files);
    prepare(dir);
    return loadOnce(dir, join(dir, 'home'), files);
  }

  it('a cycle of imports', async () => {
    const files = {
      'city.toml': imports('packs/a'),
      'packs/a/pack.toml': pack('a', imports('../b')),
      'packs/b/pack.toml': pack('b', imports('../a')),
    };
    expect(await outcome(files)).toBe('refused');
    expect(
      await outcome({ 'city.toml': imports('packs/a'), 'packs/a/pack.toml': pack('a', imports('.')) }),
    ).toBe('refused');
  });

  it('a diamond, and a ladder of diamonds that has 2^40 ways', async () => {
    const ladder: Record<string, string> = { 'city.toml': imports('packs/n0', 'packs/m0') };
    const last = 40;
    for (let step = 0; step < last; step += 1) {
      for (const side of ['n', 'm']) {
        ladder[`packs/${side}${step}/pack.toml`] = pack(
          `${side}${step}`,
          imports(`../n${step + 1}`, `../m${step + 1}`),
        );
      }
    }
    for (const side of ['n', 'm']) ladder[`packs/${side}${last}/pack.toml`] = pack(`${side}${last}`);
    expect(await outcome(ladder)).toBe('loaded');
  });

  it('links that lead out of a pack: a folder, a manifest, a prompt, a fragment', async () => {
    const outside = scratch({ 'secret.md': 'x', 'agent.toml': '', 'pack.toml': pack('s') });
    const city = {
      'city.toml': imports('packs/a'),
      'packs/a/pack.toml': pack('a'),
      'packs/a/agents/x/prompt.md': '',
    };
    const link = (target: string, path: string) => (dir: string) => {
      mkdirSync(join(dir, path, '..'), { recursive: true });
      symlinkSync(join(outside, target), join(dir, path));
    };
    expect(await outcome(city, link('', 'packs/a/agents/y'))).toBe('refused');
    expect(await outcome(city, link('agent.toml', 'packs/a/agents/x/agent.toml'))).toBe('refused');
    expect(await outcome(city, link('secret.md', 'packs/a/agents/x/prompt.template.md'))).toBe('refused');
    expect(await outcome(city, link('', 'packs/a/commands'))).toBe('refused');
    const fragments = { ...city, 'packs/a/agents/x/prompt.template.md': '{{ template "secret" . }}' };
    expect(await outcome(fragments, link('secret.md', 'packs/a/template-fragments/secret.template.md'))).toBe(
      'refused',
    );
    expect(await outcome({ 'city.toml': imports('packs/a') }, link('', 'packs/a'))).toBe('loaded');
  });

  it('an alias bomb', async () => {
    const levels = Array.from({ length: 9 }, (_, level) =>
      level === 0
        ? 'l0: &l0 [x, x, x, x, x, x, x, x, x]'
        : `l${level}: &l${level} [${Array(9)
            .fill(`*l${level - 1}`)
            .join(', ')}]`,
    );
    expect(await outcome({ 'city.yaml': `${levels.join('\n')}\n` })).toBe('refused');
    expect(await outcome({ 'city.yaml': 'workspace: &w {name: *w}\n' })).toBe('refused');
  });

  it('a file of 50 MB in every place', async () => {
    const huge = Buffer.alloc(50 * 1024 * 1024, '#');
    const city = {
      'city.toml': `include = ["more.toml"]\n${imports('packs/a')}`,
      'more.toml': '',
      'packs/a/pack.toml': pack('a'),
      'packs/a/agents/x/agent.toml': '',
      'packs/a/agents/x/prompt.template.md': 'x',
    };
    for (const name of Object.keys(city)) {
      expect(await outcome(city, (dir) => writeFileSync(join(dir, name), huge)), name).toBe('refused');
    }
  });

  it('a loop of links, and a folder where a file should be', async () => {
    const city = { 'city.toml': imports('packs/a'), 'packs/a/pack.toml': pack('a') };
    expect(await outcome(city, (dir) => symlinkSync('.', join(dir, 'packs/a/commands')))).toBe('loaded');
    expect(await outcome(city, (dir) => symlinkSync('agents', join(dir, 'packs/a/agents')))).not.toMatch(
      /^threw/,
    );
    expect(
      await outcome(city, (dir) => mkdirSync(join(dir, 'packs/a/agents/x/agent.toml'), { recursive: true })),
    ).toBe('refused');
    expect(await outcome({ 'city.toml': imports('packs/a'), 'packs/a/x': '' })).toBe('refused');
  });
});
