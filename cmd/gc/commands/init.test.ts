import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
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
    expect(loaded.kind === 'ok' && loaded.city.agents.map((agent) => agent.qualifiedName)).toEqual([
      'mayor',
      'worker-1',
      'worker-2',
    ]);
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
    [['--template', 'gastown'], 'unknown template "gastown" (expected one of: mayor, team)'],
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
