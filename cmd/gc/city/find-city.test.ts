import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CitySearch, findCity } from './find-city.ts';

let base = '';
let city = '';

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'gc-find-')));
  city = join(base, 'city');
  mkdirSync(join(city, 'deep', 'er'), { recursive: true });
  writeFileSync(join(city, 'city.yaml'), '');
});

afterEach(() => rmSync(base, { recursive: true, force: true }));

const search = (over: Partial<CitySearch>): CitySearch => ({
  env: {},
  cwd: base,
  home: undefined,
  option: undefined,
  registered: async () => [],
  ...over,
});

describe('which city a command means', () => {
  it('the one of its path argument, also from a folder inside it', async () => {
    expect(await findCity(search({ path: 'city' }))).toEqual({ root: city });
    expect(await findCity(search({ path: 'city/deep/er', option: '/elsewhere' }))).toEqual({ root: city });
  });

  it('the one of --city, before the environment', async () => {
    expect(await findCity(search({ option: city, env: { GC_CITY: '/nowhere' } }))).toEqual({ root: city });
  });

  it('the first valid one of the environment', async () => {
    expect(await findCity(search({ env: { GC_CITY: '/nowhere', GC_CITY_ROOT: city } }))).toEqual({
      root: city,
    });
  });

  it('upward from GC_DIR and from here', async () => {
    expect(await findCity(search({ cwd: join(city, 'deep', 'er') }))).toEqual({ root: city });
    expect(await findCity(search({ env: { GC_DIR: join(city, 'deep') } }))).toEqual({ root: city });
  });

  it('with symlinks resolved', async () => {
    symlinkSync(city, join(base, 'link'));
    expect(await findCity(search({ path: 'link' }))).toEqual({ root: city });
  });

  it('a folder with only the state of a city, when nothing better is above it', async () => {
    const legacy = join(base, 'legacy');
    mkdirSync(join(legacy, '.gc'), { recursive: true });
    writeFileSync(join(legacy, '.gc', 'city.db'), '');
    expect(await findCity(search({ cwd: legacy }))).toEqual({ root: legacy });
    mkdirSync(join(city, 'deep', '.gc'));
    writeFileSync(join(city, 'deep', '.gc', 'city.db'), '');
    expect(await findCity(search({ cwd: join(city, 'deep') }))).toEqual({ root: city });
  });

  it('the only registered one, and says so', async () => {
    const registered = async () => [{ path: city, name: 'bright' }];
    expect(await findCity(search({ registered }))).toEqual({
      root: city,
      note: `using bright (${city}), the only registered city`,
    });
  });

  it('says that a wrong GC_CITY was ignored', async () => {
    const found = await findCity(search({ env: { GC_CITY: '/nowhere' }, cwd: city }));
    expect(found).toEqual({ root: city, note: 'GC_CITY=/nowhere is not a city; ignored' });
  });
});

describe('no city', () => {
  it('stops at the ceilings and at home', async () => {
    const cwd = join(city, 'deep', 'er');
    await expect(findCity(search({ cwd, env: { GC_CEILING_DIRECTORIES: `/x:${city}` } }))).rejects.toThrow(
      'not in a city',
    );
    await expect(findCity(search({ cwd, home: city }))).rejects.toThrow('not in a city');
  });

  it('names the registered ones when there are several', async () => {
    const registered = async () => [
      { path: '/a', name: 'a' },
      { path: '/b', name: 'b' },
    ];
    await expect(findCity(search({ registered }))).rejects.toThrow('several cities are registered (a, b)');
  });

  it('says what is wrong with a path', async () => {
    await expect(findCity(search({ path: base }))).rejects.toMatchObject({
      code: 'no-city',
      next: `gc init ${base}`,
    });
    await expect(findCity(search({ option: '/no/such' }))).rejects.toThrow('no folder /no/such');
  });
});
