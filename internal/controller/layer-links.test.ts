import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadCity } from '../config/load-city.ts';
import { hashPathContent } from '../runtime/path-hash.ts';
import { withBlock } from './git-exclude.ts';
import { linkLayers } from './layer-links.ts';

let base: string;
let city: string;
let rig: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'gc-layer-links-')));
  city = join(base, 'city');
  rig = join(base, 'rig');
  put('packs/a/pack.toml', '[pack]\nname = "a"\nschema = 2\n');
  put('packs/b/pack.toml', '[pack]\nname = "b"\nschema = 2\n');
  config('packs/a', 'packs/b');
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function put(path: string, text = path): void {
  mkdirSync(dirname(join(city, path)), { recursive: true });
  writeFileSync(join(city, path), text);
}

function config(...includes: string[]): void {
  put(
    'city.yaml',
    `workspace: {name: c, includes: ${JSON.stringify(includes)}}\nrigs: [{name: r, path: ../rig, includes: [packs/b]}]\n`,
  );
}

async function link(): Promise<void> {
  const loaded = await loadCity(city, { env: {} });
  if (loaded.kind !== 'ok') throw new Error(loaded.problems[0]?.message);
  expect(await linkLayers(loaded.city)).toEqual([]);
}

const target = (root: string, path: string) => readlinkSync(join(root, path)).replace(`${city}/`, '');
const names = (root: string, path: string) =>
  existsSync(join(root, path)) ? readdirSync(join(root, path)) : [];

function git(...words: string[]): string {
  return execFileSync('git', ['-C', rig, ...words], { encoding: 'utf8' });
}

describe('links into the layers of a city', () => {
  it('carry formulas under both names, the later layer winning, and the plain name within one', async () => {
    put('packs/a/formulas/one.toml');
    put('packs/a/formulas/two.formula.toml');
    put('packs/a/formulas/two.toml');
    put('packs/b/formulas/one.formula.toml');
    put('formulas/own.toml');
    await link();
    const dir = '.beads/formulas';
    expect(names(city, dir)).toEqual(
      ['one', 'own', 'two'].flatMap((n) => [`${n}.formula.toml`, `${n}.toml`]),
    );
    expect(target(city, `${dir}/one.toml`)).toBe('packs/b/formulas/one.formula.toml');
    expect(target(city, `${dir}/two.formula.toml`)).toBe('packs/a/formulas/two.toml');
    expect(existsSync(rig)).toBe(false);
    mkdirSync(rig);
    await link();
    expect(names(rig, dir)).toEqual(names(city, dir));
  });

  it('carry scripts of packs, leave what a person has there, and go when their pack goes', async () => {
    mkdirSync(rig);
    put('packs/a/scripts/x.sh');
    put('packs/b/assets/scripts/x.sh');
    put('packs/b/assets/scripts/deep/y.sh');
    put('packs/b/assets/scripts/mine.sh');
    put('packs/b/assets/scripts/theirs.sh');
    put('scripts/mine.sh', 'a person wrote it');
    symlinkSync('/somewhere/else', join(city, 'scripts/theirs.sh'));
    await link();
    expect(target(city, 'scripts/x.sh')).toBe('packs/b/assets/scripts/x.sh');
    expect(target(city, 'scripts/deep/y.sh')).toBe('packs/b/assets/scripts/deep/y.sh');
    expect(readFileSync(join(city, 'scripts/mine.sh'), 'utf8')).toBe('a person wrote it');
    expect(target(city, 'scripts/theirs.sh')).toBe('/somewhere/else');
    expect(names(rig, 'scripts')).toEqual(['deep', 'mine.sh', 'theirs.sh', 'x.sh']);
    put('city.yaml', 'workspace: {name: c, includes: [packs/a]}\n');
    rmSync(join(city, 'packs/b'), { recursive: true });
    await link();
    expect(target(city, 'scripts/x.sh')).toBe('packs/a/scripts/x.sh');
    expect(names(city, 'scripts')).toEqual(['mine.sh', 'theirs.sh', 'x.sh']);
    expect(names(base, 'rig')).toEqual([]);
  });

  it('change nothing when they are made again, so that agents do not drift', async () => {
    mkdirSync(rig);
    put('packs/a/formulas/one.toml');
    put('packs/a/scripts/x.sh');
    await link();
    const files = ['scripts/x.sh', '.beads/formulas/one.toml', '.gc/runtime/layer-links.json'];
    const state = () => files.map((path) => lstatSync(join(city, path)).ino);
    const hash = await hashPathContent(join(city, 'scripts'));
    const before = state();
    await link();
    expect(state()).toEqual(before);
    expect(await hashPathContent(join(city, 'scripts'))).toBe(hash);
    expect(hash).not.toBe('');
  });

  it('are told from those of people by the record, or by where they lead when it is lost', async () => {
    put('packs/a/scripts/x.sh');
    put('packs/a/scripts/y.sh');
    await link();
    rmSync(join(city, '.gc'), { recursive: true });
    rmSync(join(city, 'packs/a/scripts/y.sh'));
    await link();
    expect(names(city, 'scripts')).toEqual(['x.sh']);
  });

  it('never lead through a link of a person', async () => {
    put('packs/a/scripts/x.sh');
    put('packs/a/formulas/one.toml');
    mkdirSync(join(base, 'outside'));
    symlinkSync(join(base, 'outside'), join(city, 'scripts'));
    symlinkSync(join(base, 'outside'), join(city, '.beads'));
    await link();
    expect(names(base, 'outside')).toEqual([]);
  });

  it('leave a git repository clean', async () => {
    mkdirSync(join(rig, 'sub'), { recursive: true });
    git('init', '-q');
    put('packs/b/formulas/one.toml');
    put('packs/b/scripts/a b[1].sh');
    put('city.yaml', 'workspace: {name: c}\nrigs: [{name: r, path: ../rig/sub, includes: [packs/b]}]\n');
    await link();
    expect(names(rig, 'sub/scripts')).toEqual(['a b[1].sh']);
    put('../rig/sub/.gc/scripts/given-to-a-session.sh');
    expect(git('status', '--porcelain')).toBe('');
    put('city.yaml', 'workspace: {name: c}\n');
    await link();
    expect(readFileSync(join(rig, '.git/info/exclude'), 'utf8')).not.toContain('gas city');
  });
});

it('keeps the lines of others in an exclude file', () => {
  const one = withBlock('mine', 'n', ['/a']);
  expect(one).toBe('mine\n# gas city n: links, made by gc\n/a\n# gas city n: end\n');
  const two = withBlock(`${one}later\n`, 'n', ['/b', '/c']);
  expect(two).toBe('mine\n# gas city n: links, made by gc\n/b\n/c\n# gas city n: end\nlater\n');
  expect(withBlock(two, 'n', [])).toBe('mine\nlater\n');
  expect(withBlock(two, 'other', [])).toBe(two);
});
