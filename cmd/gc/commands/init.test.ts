import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadCity } from '../../../internal/config/load-city.ts';
import { runIn } from '../testing/fake-city.ts';

let base = '';
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'gc-init-')));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const init = (argv: readonly string[], path = '/nonexistent') =>
  runIn(['init', ...argv], { cwd: base, env: { HOME: base, PATH: path } });

/** A PATH with one agent program on it. */
function pathWith(program: string): string {
  const bin = join(base, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, program), '#!/bin/sh\n');
  chmodSync(join(bin, program), 0o755);
  return bin;
}

describe('gc init', () => {
  it('makes a city that is valid, with the program that was found', async () => {
    const ran = await init(['my-city'], pathWith('codex'));
    expect(ran).toEqual({
      code: 0,
      out: 'Initialized city "my-city" with default provider "codex".\n\n  gc start my-city\n',
      err: '',
    });
    const loaded = await loadCity(join(base, 'my-city'), { env: {} });
    expect(loaded.kind === 'ok' && loaded.city.warnings).toEqual([]);
    expect(
      loaded.kind === 'ok' && loaded.city.namedSessions.map(({ identity, mode }) => [identity, mode]),
    ).toEqual([['mayor', 'always']]);
    expect(readFileSync(join(base, 'my-city', '.gitignore'), 'utf8')).toContain('.gc/');
  });

  it('offers the demo agent when there is no agent program', async () => {
    const ran = await init(['c', '--template', 'team']);
    expect(ran.code).toBe(0);
    expect(ran.out).toContain('No agent program was found');
    expect(existsSync(join(base, 'c', 'demo-agent.mjs'))).toBe(true);
    const loaded = await loadCity(join(base, 'c'), { env: {} });
    expect(
      loaded.kind === 'ok' &&
        loaded.city.agents.filter(({ implicit }) => !implicit).map((agent) => agent.qualifiedName),
    ).toEqual(['dog', 'mayor', 'worker-1', 'worker-2']);
  });

  it.each(['k8s', 'kubernetes-cell'])(
    'makes a city of pods with --template %s, whatever is on the PATH here',
    async (template) => {
      const ran = await init(['c', '--template', template], pathWith('codex'));
      expect([ran.code, ran.err]).toEqual([0, '']);
      const loaded = await loadCity(join(base, 'c'), { env: {} });
      if (loaded.kind !== 'ok') throw new Error('it does not load');
      expect(loaded.city.warnings).toEqual([]);
      expect(loaded.city.session).toMatchObject({
        provider: 'k8s',
        k8s: { namespace: 'gc', image: 'gc-agent:latest', cpuLimit: '2', memLimit: '4Gi' },
      });
      expect(loaded.city.workspace.provider).toBe('claude');
    },
  );

  it('names the templates when one is misspelled', async () => {
    const ran = await init(['c', '--template', 'k8']);
    expect([ran.code, ran.err]).toEqual([1, expect.stringContaining('did you mean "k8s"')]);
    expect(existsSync(join(base, 'c'))).toBe(false);
  });

  it('works in the folder it is called in, whatever its name', async () => {
    const odd = join(base, 'my "odd" city!');
    mkdirSync(odd);
    writeFileSync(join(odd, 'notes.txt'), 'mine');
    const ran = await runIn(['init', '--provider', 'claude'], { cwd: odd, env: { PATH: '' } });
    expect(ran.out).toBe('Initialized city "my-odd-city" with default provider "claude".\n\n  gc start\n');
    expect((await loadCity(odd, { env: {} })).kind).toBe('ok');
    expect(readFileSync(join(odd, 'notes.txt'), 'utf8')).toBe('mine');
  });

  it('leaves a city that is there alone', async () => {
    writeFileSync(join(base, 'city.toml'), 'x');
    const ran = await init([]);
    expect([ran.code, ran.err]).toEqual([
      1,
      `gc init: already initialized: ${join(base, 'city.toml')} exists; nothing was changed\n  next: gc start .\n`,
    ]);
    expect(readdirSync(base)).toEqual(['city.toml']);
  });

  it.each([
    [['--provider', 'claud'], 'unknown provider "claud"; did you mean "claude"?'],
    [['--template', 'gastown'], 'unknown template "gastown" (expected one of: mayor, team, k8s)'],
    [['--name', '../x'], '"../x" cannot be the name of a city'],
  ])('refuses %j and writes nothing', async (argv, message) => {
    const ran = await init(['c', ...argv]);
    expect(ran.code).toBe(1);
    expect(ran.err).toContain(message);
    expect(existsSync(join(base, 'c'))).toBe(false);
  });

  it('leaves nothing half-made when a file cannot be written', async () => {
    mkdirSync(join(base, 'c'));
    writeFileSync(join(base, 'c', 'agents'), 'a file where a folder should be');
    const ran = await init(['c', '--provider', 'claude']);
    expect(ran.code).toBe(1);
    expect(ran.err).toContain('nothing was left behind');
    expect(readdirSync(join(base, 'c'))).toEqual(['agents']);
  });
});

describe('gc init --from and --file', () => {
  const CITY = '# kept\n[workspace]\nname = "old" # renamed\n\n[[agent]]\nname = "a"\nstart_command = "sh"\n';
  let source = '';
  beforeEach(() => {
    source = join(base, 'source');
    mkdirSync(join(source, 'scripts'), { recursive: true });
    mkdirSync(join(source, '.gc'));
    writeFileSync(join(source, '.gc', 'city.db'), '');
    mkdirSync(join(source, '.git'));
    writeFileSync(join(source, 'city.toml'), CITY);
    writeFileSync(join(source, 'scripts', 'run.sh'), '#!/bin/sh\n');
    chmodSync(join(source, 'scripts', 'run.sh'), 0o555);
    writeFileSync(join(source, 'x_test.go'), '');
    writeFileSync(join(source, '.gitignore'), 'mine\n');
    symlinkSync('scripts/run.sh', join(source, 'link'));
    symlinkSync(join(source, 'scripts'), join(source, 'far'));
  });

  it('copies a city under a new name and keeps its file', async () => {
    const ran = await init(['--from', 'source', 'copy']);
    expect(ran).toEqual({
      code: 0,
      out: 'Initialized city "copy" from source.\n\n  gc start copy\n',
      err: '',
    });
    const copy = join(base, 'copy');
    expect(readFileSync(join(copy, 'city.toml'), 'utf8')).toBe(CITY.replace('"old"', '"copy"'));
    expect(statSync(join(copy, 'scripts', 'run.sh')).mode & 0o777).toBe(0o755);
    expect([readlinkSync(join(copy, 'link')), readlinkSync(join(copy, 'far'))]).toEqual([
      'scripts/run.sh',
      'scripts',
    ]);
    for (const name of ['.gc/city.db', '.git', 'x_test.go'])
      expect(existsSync(join(copy, name)), name).toBe(false);
    expect(readdirSync(join(copy, '.gc', 'system', 'packs'))).toContain('maintenance');
    expect(existsSync(join(copy, 'orders'))).toBe(true);
    expect(readFileSync(join(copy, '.gitignore'), 'utf8')).toMatch(/^mine\n\n# Gas City\n\.gc\/\n/);
  });

  it('takes one file', async () => {
    writeFileSync(join(base, 'my-city.toml'), CITY);
    mkdirSync(join(base, 'c', '.gc', 'scripts'), { recursive: true });
    const ran = await init(['--skip-provider-readiness', '--name', 'n', '--file', 'my-city.toml', 'c']);
    expect([ran.code, ran.err, ran.out.split('\n')[0]]).toEqual([
      0,
      '',
      'Initialized city "n" from my-city.toml.',
    ]);
    expect(readFileSync(join(base, 'c', 'city.toml'), 'utf8')).toBe(CITY.replace('"old"', '"n"'));
  });

  it('knows the examples that come with the program', async () => {
    for (const name of ['quickstart', 'k8s']) {
      const ran = await init(['--from', name, `my-${name}`]);
      expect([ran.code, ran.out.split('\n')[0]]).toEqual([0, `Initialized city "my-${name}" from ${name}.`]);
    }
    expect((await init(['--from', 'quickstar', 'x'])).err).toContain('did you mean "quickstart"?');
  });

  it.each([
    ['a link that leaves', () => symlinkSync('../elsewhere', join(source, 'out')), 'outside of the source'],
    [
      'a wrong city',
      () => writeFileSync(join(source, 'city.toml'), `${CITY}suspended = "no-such"\n`),
      'no-such',
    ],
    ['no city file', () => rmSync(join(source, 'city.toml')), 'has no city.yaml or city.toml'],
  ])('%s: nothing is left', async (_what, spoil, said) => {
    spoil();
    const ran = await init(['--from', 'source', 'copy']);
    expect(ran.code).toBe(1);
    expect(ran.err).toContain(said);
    expect(existsSync(join(base, 'copy'))).toBe(false);
  });

  it('refuses what cannot be together, and to copy into itself', async () => {
    expect((await init(['--from', 'source', '--file', 'x', 'c'])).code).toBe(1);
    expect((await init(['--from', 'source', '--provider', 'claude', 'c'])).code).toBe(1);
    expect((await init(['--from', 'source', 'source/inner'])).err).toContain('inside the source');
    mkdirSync(join(base, 'c', 'scripts'), { recursive: true });
    writeFileSync(join(base, 'c', 'scripts', 'run.sh'), 'mine');
    expect((await init(['--from', 'source', 'c'])).err).toContain(
      'with other content; nothing was left behind',
    );
    expect(readdirSync(join(base, 'c'))).toEqual(['scripts']);
  });
});
