import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Machine, packFiles, type Upstream } from '../../../internal/config/remote/testing/upstream.ts';
import { acquireLifetimeLock } from '../../../internal/platform/lifetime-lock.ts';
import { type Ran, runIn } from '../testing/fake-city.ts';

let machine: Machine;
let tools: Upstream;
let root: string;
beforeEach(() => {
  machine = new Machine();
  tools = machine.upstream('tools');
  root = city({ 'city.yaml': CITY });
});
afterEach(() => machine.remove());

const CITY = '# mine\nworkspace:\n  name: x   # here\n';
const city = (files: Record<string, string>) => machine.write('city', files);
const text = (name: string) => readFileSync(join(root, name), 'utf8');
const gc = (...argv: readonly string[]): Promise<Ran> => runIn(argv, { env: machine.env, cwd: root });
const ok = async (...argv: readonly string[]): Promise<string> => {
  const ran = await gc(...argv);
  expect(ran).toMatchObject({ code: 0, err: '' });
  return ran.out;
};

describe('gc import add', () => {
  it('fetches, pins and writes a repository, at its newest release', async () => {
    const first = tools.commit(packFiles('t', { dir: 'packs/t' }), { tag: 'v1.2.0' });
    tools.commit({ later: '1' });
    const source = `${tools.url}//packs/t`;
    expect(await ok('import', 'add', source)).toBe(
      `Added import "t" from ${source}\n  pinned at 1.2.0 (${first.slice(0, 12)}), version ^1.2\n`,
    );
    expect(text('city.yaml')).toMatch(/^# mine\nworkspace:\n {2}name: x {3}# here\n/);
    expect(text('city.yaml')).toContain(source);
    expect(text('packs.lock')).toContain(`[packs."${source}"]\nversion = "1.2.0"\ncommit = "${first}"`);
    expect(JSON.parse(await ok('import', 'list', '--json'))).toEqual([
      {
        name: 't',
        kind: 'import',
        source,
        version: '^1.2',
        locked_version: '1.2.0',
        commit: first,
        available: true,
      },
    ]);
    expect(await ok('config', 'show')).toContain('t-agent');
  });

  it('writes into the manifest of the city when there is one, and takes a folder from where one stands', async () => {
    city({
      'pack.toml': '[pack]\nname = "x"\nschema = 2\n# end\n',
      'packs/own/pack.toml': '[pack]\nname = "own"\nschema = 2\n',
    });
    const ran = await runIn(['import', 'add', './own'], { env: machine.env, cwd: join(root, 'packs') });
    expect(ran).toMatchObject({ code: 0, out: 'Added import "own" from ./own\n' });
    expect(text('pack.toml')).toContain('[imports.own]\nsource = "./packs/own"\n');
    expect(text('city.yaml')).toBe(CITY);
    expect(existsSync(join(root, 'packs.lock'))).toBe(false);
  });

  it.each([
    ['a ref in the source', () => [`${tools.url}#main`], `next: gc import add <url> --version main`],
    ['a version of a folder', () => ['./packs', '--version', '^1'], '--version is only for git sources'],
    ['an unusable version', () => [tools.url, '--version', '--x'], '"--x" is no version'],
    ['a version that is not there', () => [tools.url, '--version', '^7'], 'no version meets ^7'],
    ['a folder without a pack', () => [`${tools.url}//doc`], 'is no pack'],
    ['a folder that is not there', () => [`${tools.url}//nope`], 'there is no folder "nope"'],
    ['a repository that does not answer', () => [`${tools.url}x`], 'does not answer'],
    ['a credential', () => ['https://a:b@h.org/x'], 'has a credential in its URL'],
    ['a source that gives no name', () => ['.'], 'gives the import no name'],
  ])('changes nothing for %s', async (_what, argv, message) => {
    tools.commit({ ...packFiles('t'), 'doc/x': '' });
    const ran = await gc('import', 'add', ...argv());
    expect(ran).toMatchObject({ code: 1, out: '' });
    expect(ran.err).toContain(message.replace('<url>', tools.url));
    expect([text('city.yaml'), existsSync(join(root, 'packs.lock'))]).toEqual([CITY, false]);
  });

  it('takes all back when the city would not load with it', async () => {
    tools.commit({ 'pack.toml': '[pack]\nname = "t"\nschema = 9\n' });
    const ran = await gc('import', 'add', tools.url);
    expect(ran).toMatchObject({ code: 1, out: '' });
    expect(ran.err).toContain('schema 9');
    expect([text('city.yaml'), existsSync(join(root, 'packs.lock'))]).toEqual([CITY, false]);
  });

  it('refuses a name that is taken', async () => {
    tools.commit(packFiles('t'));
    await ok('import', 'add', tools.url);
    const ran = await gc('import', 'add', tools.url);
    expect(ran.err).toContain('import "tools" already exists');
    expect(await ok('import', 'add', tools.url, '--name', 'other')).toContain('Added import "other"');
  });
});

describe('gc import install', () => {
  it('gives another machine the same commits, and the lock file stays as it is', async () => {
    const first = tools.commit(packFiles('t'));
    await ok('import', 'add', tools.url);
    const lock = text('packs.lock');
    tools.commit({ later: '1' });
    rmSync(join(machine.home, '.gc'), { recursive: true });
    expect((await gc('config', 'show')).err).toContain('next: gc import install'.slice(6));
    expect(await ok('import', 'install')).toBe(
      `  ${tools.url}: ${first.slice(0, 12)}\nInstalled 1 pack source(s), 1 fetched.\n`,
    );
    expect(text('packs.lock')).toBe(lock);
    rmSync(tools.bare, { recursive: true });
    expect(await ok('import', 'install')).toContain('0 fetched.\n');
    expect(await ok('config', 'show')).toContain('t-agent');
  });

  it('says that there is nothing to do, and what of the city is not there', async () => {
    expect(await ok('import', 'install')).toBe('No remote imports.\n');
    city({ 'city.yaml': 'workspace: {includes: [gone]}\n' });
    expect((await gc('import', 'install')).err).toContain('gc: include gone of the city: there is no folder');
  });

  it('waits for another one in the same city', async () => {
    const lock = acquireLifetimeLock(join(root, '.gc/imports.lock'), {});
    const ending = new AbortController();
    const running = runIn(['import', 'install'], { env: machine.env, cwd: root, signal: ending.signal });
    ending.abort();
    expect((await running).err).toContain('waiting for another gc import');
    lock?.release();
    expect(await ok('import', 'install')).toBe('No remote imports.\n');
  });
});

describe('gc import upgrade', () => {
  it('moves within the version, all or one', async () => {
    tools.commit(packFiles('t'), { tag: 'v1.0.0' });
    const other = machine.upstream('other');
    other.commit(packFiles('o'));
    await ok('import', 'add', tools.url);
    await ok('import', 'add', other.url);
    tools.commit({ a: '1' }, { tag: 'v1.1.0' });
    tools.commit({ a: '2' }, { tag: 'v2.0.0' });
    other.commit({ a: '1' });
    const one = await ok('import', 'upgrade', 'tools');
    expect(one).toMatch(/1\.0\.0 \(.*\) -> 1\.1\.0 \(.*\)\nUpgraded 1 import\(s\)\.\n$/);
    expect(await ok('import', 'upgrade')).toContain(other.url);
    expect(await ok('import', 'upgrade')).toBe('Everything is up to date.\n');
    expect((await gc('import', 'upgrade', 'tols')).err).toContain('did you mean "tools"?');
  });
});

describe('gc import list and remove', () => {
  it('shows who brings what', async () => {
    expect(await ok('import', 'list')).toBe('No imports configured.\n');
    const deep = machine.upstream('deep');
    const commit = deep.commit(packFiles('deep'));
    tools.commit(packFiles('t', { imports: `[imports.d]\nsource = "${deep.url}"\n` }), { tag: 'v1.0.0' });
    await ok('import', 'add', tools.url);
    expect(await ok('import', 'list')).toMatch(
      /^NAME +SOURCE +VERSION +COMMIT +CACHED\ntools .* \^1\.0 +1\.0\.0 /,
    );
    expect(await ok('import', 'list', '--tree')).toMatch(
      new RegExp(`^tools  .*  1\\.0\\.0 [0-9a-f]{12}\\n  d  .*  ${commit.slice(0, 12)}\\n$`),
    );
    expect(JSON.parse(await ok('import', 'list', '--tree', '--json'))[0].packs[0].name).toBe('d');
    expect(await ok('import', 'remove', 'tools')).toBe('Removed import "tools"\n');
    expect(text('city.yaml')).toBe(CITY);
    expect(text('packs.lock')).not.toContain('commit');
    expect((await gc('import', 'remove', 'tools')).err).toContain('import "tools" not found');
  });

  it('says what is not fetched and what to type', async () => {
    city({ 'city.yaml': `${CITY}imports:\n  t: {source: "${tools.url}"}\n` });
    expect(await ok('import', 'list')).toContain('has not been fetched yet: gc import install\n');
  });
});

describe('gc pack', () => {
  it('lists and fetches named sources', async () => {
    expect(await ok('pack', 'list')).toBe('No remote packs configured.\n');
    expect(await ok('pack', 'fetch')).toBe('No remote packs configured.\n');
    const commit = tools.commit(packFiles('t', { dir: 'p' }));
    city({
      'city.yaml': `workspace: {includes: [t]}\npacks:\n  t: {source: "${tools.url}", ref: main, path: p}\n`,
    });
    expect(await ok('pack', 'list')).toMatch(/^NAME +SOURCE +REF +COMMIT\nt .* main +not fetched\n$/);
    const done = `Fetching 1 pack source(s)...\n  t: ${commit}\nDone.\n`;
    expect(await ok('pack', 'fetch')).toBe(done);
    expect(await ok('config', 'show')).toContain('t-agent');
    const later = tools.commit({ later: '1' });
    expect(await ok('pack', 'fetch')).toBe(done);
    expect(await ok('pack', 'fetch', '--update')).toContain(later);
    expect(JSON.parse(await ok('pack', 'list', '--json'))).toEqual([
      { name: 't', source: tools.url, ref: 'main', path: 'p', commit: later },
    ]);
  });
});

describe('gc import migrate', () => {
  const OLD = (url: string) => `# mine
[workspace]
name = "x"
includes = ["t", "packs/own"] # packs

[packs.t]
source = "${url}"
ref = "main"
path = "p"

[packs.kept]
source = "${url}"

[[rigs]]
name = "r"
path = "r"
includes = ["t"]
`;

  it('turns named sources into imports, at the commit that is pinned', async () => {
    rmSync(join(root, 'city.yaml'));
    const commit = tools.commit(packFiles('t', { dir: 'p' }));
    city({
      'city.toml': OLD(tools.url),
      'packs/own/pack.toml': '[pack]\nname = "own"\nschema = 1\n',
      'r/x': '',
    });
    await ok('pack', 'fetch');
    tools.commit({ later: '1' });
    const dry = await ok('import', 'migrate', '--dry-run');
    expect(dry).toContain('[packs.kept] stays: nothing includes it\n');
    expect(dry).toMatch(/No side effects executed \(--dry-run\)\.\n$/);
    expect(text('city.toml')).toBe(OLD(tools.url));
    expect(await ok('import', 'migrate')).toContain('Agents of "t" are now called t.<agent>\n');
    const after = text('city.toml');
    expect(after).toContain('includes = ["packs/own"] # packs\n');
    expect(after).toContain(`[imports.t]\nsource = "${tools.url}//p"\nversion = "main"\n`);
    expect(after).not.toContain('[packs.t]');
    expect(after).toContain('[packs.kept]');
    expect(await ok('import', 'install')).toContain(commit.slice(0, 12));
    expect(await ok('config', 'show')).toContain('t-agent');
    expect(await ok('import', 'migrate')).toContain('Nothing to migrate.\n');
  });

  it('changes nothing when a name is taken by another import', async () => {
    rmSync(join(root, 'city.yaml'));
    const old = OLD('https://h.org/a').replace(
      'includes = ["t"]',
      `includes = ["t"]
imports = { t = { source = "https://h.org/b" } }`,
    );
    city({ 'city.toml': old });
    const ran = await gc('import', 'migrate');
    expect(ran.err).toContain('rig "r" has an import "t" already, from https://h.org/b');
    expect(text('city.toml')).toBe(old);
  });
});
