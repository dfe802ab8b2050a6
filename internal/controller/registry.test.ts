import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../platform/clock.ts';
import { systemIds } from '../platform/ids.ts';
import {
  citiesOf,
  parseRegistry,
  type Registry,
  readRegisteredCities,
  register,
  registryFile,
  renderRegistry,
  resolveCityPath,
  unregister,
} from './registry.ts';
import { registerCity, unregisterCity } from './registry-file.ts';
import { scratch } from './testing/supervising.ts';

const EMPTY: Registry = { tables: [] };
const name = fc.stringMatching(/^[a-zA-Z0-9][a-zA-Z0-9._-]{0,12}$/);
const city = fc.record({ path: fc.string({ unit: 'binary' }).map((text) => `/${text}`), name });

describe('the rules', () => {
  it('a registered city is found, by path and name, whatever its path looks like in the file', () => {
    fc.assert(
      fc.property(fc.array(city), (cities) => {
        let registry = EMPTY;
        const expected = new Map<string, string>();
        for (const each of cities) {
          try {
            registry = register(registry, each).registry;
            expected.set(each.path, each.name);
          } catch (error) {
            expect(error).toMatchObject({ code: 'registry-name-taken' });
            expect([...expected.values()]).toContain(each.name);
          }
        }
        const back = parseRegistry(renderRegistry(registry), 'cities.toml');
        expect(citiesOf(back)).toEqual([...expected].map(([path, called]) => ({ path, name: called })));
        expect(back).toEqual(registry);
      }),
    );
  });

  it.each(['\u2028', '\u2029', '\u0085', '\u007f'])(
    'keeps a path with %j, which JavaScript may take for a line end',
    (odd) => {
      const { registry } = register(EMPTY, { path: `/a${odd}b`, name: 'a' });
      expect(parseRegistry(renderRegistry(registry), 'cities.toml')).toEqual(registry);
    },
  );

  it('the same again changes nothing, another name renames, a taken name is refused', () => {
    const one = register(EMPTY, { path: '/a', name: 'a' });
    expect(one.outcome).toBe('added');
    expect(register(one.registry, { path: '/a', name: 'a' })).toEqual({
      registry: one.registry,
      outcome: 'unchanged',
    });
    const renamed = register(one.registry, { path: '/a', name: 'b' });
    expect([renamed.outcome, citiesOf(renamed.registry)]).toEqual(['renamed', [{ path: '/a', name: 'b' }]]);
    expect(() => register(renamed.registry, { path: '/c', name: 'b' })).toThrow(
      /"b" is already registered for \/a/,
    );
    for (const wrong of ['', '-a', '.a', 'a b', 'a/b', 'ä', 'a\n']) {
      expect(() => register(EMPTY, { path: '/x', name: wrong })).toThrow(/cannot be registered/);
    }
  });

  it('unregistering takes out one city and nothing else', () => {
    const both = register(register(EMPTY, { path: '/a', name: 'a' }).registry, {
      path: '/b',
      name: 'b',
    }).registry;
    const { registry, removed } = unregister(both, '/a');
    expect([removed, citiesOf(registry)]).toEqual([{ path: '/a', name: 'a' }, [{ path: '/b', name: 'b' }]]);
    expect(unregister(registry, '/a')).toEqual({ registry, removed: undefined });
  });
});

describe('the file', () => {
  it('of Gas City is understood, and what is not ours in it stays', () => {
    const text = `# cities of this machine
[[cities]]
path = "/home/me/one" # the first
name = 'one'

[[rigs]]
  path = "/src/proj\\U0001F600"
  name = "proj"
  default_city = "one"
`;
    const registry = parseRegistry(text, 'cities.toml');
    expect(citiesOf(registry)).toEqual([{ path: '/home/me/one', name: 'one' }]);
    const again = parseRegistry(
      renderRegistry(register(registry, { path: '/two', name: 'two' }).registry),
      'x',
    );
    expect(again.tables).toContainEqual({
      kind: 'rigs',
      fields: { path: '/src/proj\u{1f600}', name: 'proj', default_city: 'one' },
    });
  });

  it('with foreign content is an error with its line, not a loss', () => {
    for (const line of [
      'port = 8080',
      '[supervisor]',
      'name = one',
      'name = "a',
      '<<<<<<< HEAD',
      'list = ["a"]',
    ]) {
      const text = `[[cities]]\npath = "/a"\n${line}\n`;
      expect(() => parseRegistry(text, '/h/cities.toml')).toThrow(/^\/h\/cities\.toml:3 is not a line/);
    }
    expect(() => parseRegistry('name = "a"\n', 'f')).toThrow(/f:1/);
  });
});

describe('on disk', () => {
  let place: ReturnType<typeof scratch>;
  let home: string;
  const children: ChildProcess[] = [];
  const here = () => ({ home, clock: systemClock, ids: systemIds });

  beforeEach(() => {
    place = scratch();
    home = join(place.dir, 'home');
  });
  afterEach(async () => {
    for (const child of children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    place.dispose();
  });

  it('resolves symlinks, also below a folder that is gone, and is owner-only', async () => {
    mkdirSync(join(place.dir, 'real'));
    symlinkSync(join(place.dir, 'real'), join(place.dir, 'link'));
    expect(await registerCity(here(), { path: join(place.dir, 'link'), name: 'c' })).toBe('added');
    expect(await registerCity(here(), { path: join(place.dir, 'real'), name: 'c' })).toBe('unchanged');
    expect(readRegisteredCities(home)).toEqual([{ path: join(place.dir, 'real'), name: 'c' }]);
    expect(statSync(registryFile(home)).mode & 0o777).toBe(0o600);
    expect(resolveCityPath(join(place.dir, 'link', 'gone', 'city'))).toBe(
      join(place.dir, 'real', 'gone', 'city'),
    );
    expect(await unregisterCity(here(), join(place.dir, 'link'))).toEqual({
      path: join(place.dir, 'real'),
      name: 'c',
    });
    expect(await unregisterCity(here(), join(place.dir, 'link'))).toBeUndefined();
    expect(readdirSync(home)).toEqual(['cities.toml']);
  });

  it('says which file it cannot change', async () => {
    writeFileSync(join(place.dir, 'home'), 'a file in the way');
    await expect(registerCity(here(), { path: '/a', name: 'a' })).rejects.toMatchObject({
      code: 'registry-unwritable',
      message: expect.stringContaining(registryFile(home)),
    });
  });

  it('keeps a broken file as it is', async () => {
    mkdirSync(home);
    writeFileSync(registryFile(home), 'broken\n');
    await expect(registerCity(here(), { path: '/a', name: 'a' })).rejects.toMatchObject({
      code: 'registry-invalid',
    });
    expect(readFileSync(registryFile(home), 'utf8')).toBe('broken\n');
  });

  it('loses nothing when many processes register at the same time, on a stale lock too', async () => {
    const writers = 6;
    const each = 8;
    mkdirSync(`${registryFile(home)}.lock.d`, { recursive: true });
    utimesSync(`${registryFile(home)}.lock.d`, 1, 1);
    const running = Array.from({ length: writers }, (_, index) => registeringProcess(index, each));
    const codes = await Promise.all(running.map(async (child) => (await once(child, 'exit'))[0]));
    expect(codes).toEqual(Array(writers).fill(0));
    const names = readRegisteredCities(home).map((found) => found.name);
    const expected = Array.from({ length: writers * each }, (_, n) => `c${Math.floor(n / each)}-${n % each}`);
    expect(names.toSorted()).toEqual(expected.toSorted());
    expect(existsSync(`${registryFile(home)}.lock.d`)).toBe(false);
  });

  function registeringProcess(index: number, count: number): ChildProcess {
    const from = import.meta.dirname;
    const script = `
      import { systemClock } from ${JSON.stringify(join(from, '../platform/clock.ts'))};
      import { systemIds } from ${JSON.stringify(join(from, '../platform/ids.ts'))};
      import { registerCity } from ${JSON.stringify(join(from, 'registry-file.ts'))};
      const place = { home: ${JSON.stringify(home)}, clock: systemClock, ids: systemIds };
      for (let n = 0; n < ${count}; n += 1) {
        await registerCity(place, { path: '/cities/' + ${index} + '/' + n, name: 'c${index}-' + n });
      }
    `;
    const child = spawn(process.execPath, ['--import', 'tsx', '--input-type=module', '-e', script], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    children.push(child);
    return child;
  }
});
