import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { installSystemPacks, programRootOf, provideSystemPacks } from './system-packs.ts';

let base: string;
let city: string;
let program: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'gc-system-packs-')));
  city = join(base, 'city');
  program = join(base, 'program');
  mkdirSync(city);
  for (const name of ['core', 'bd', 'dolt']) put(`packs/${name}/pack.toml`, name);
  for (const name of ['maintenance', 'gastown']) put(`examples/gastown/packs/${name}/pack.toml`, name);
  put('packs/core/tool.sh', '#!/bin/sh\n');
  put('packs/core/a/b/old.toml', 'old');
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function put(path: string, text: string): void {
  mkdirSync(dirname(join(program, path)), { recursive: true });
  writeFileSync(join(program, path), text, { mode: 0o600 });
}
const there = (path: string) => join(city, '.gc/system/packs', path);
const install = () => installSystemPacks({ cityRoot: city, programRoot: program });
const modeOf = (path: string) => statSync(there(path)).mode & 0o777;

describe('system packs', () => {
  it('are written once, with modes that fit', async () => {
    const { written } = await install();
    expect(written).toHaveLength(7);
    expect([modeOf('core/tool.sh'), modeOf('core/pack.toml')]).toEqual([0o755, 0o644]);
    expect(statSync(join(city, '.gc')).mode & 0o777).toBe(0o700);
    expect(readFileSync(there('gastown/pack.toml'), 'utf8')).toBe('gastown');
    const before = lstatSync(there('core/pack.toml'));
    chmodSync(there('core/tool.sh'), 0o644);
    expect(await install()).toEqual({ written: [], removed: [] });
    expect(lstatSync(there('core/pack.toml')).ino).toBe(before.ino);
    expect(modeOf('core/tool.sh')).toBe(0o755);
  });

  it('come back as they are, and lose what the program no longer brings, but nothing that a person wrote', async () => {
    put('packs/core/a/kept.toml', 'kept');
    await install();
    writeFileSync(there('core/pack.toml'), 'edited');
    writeFileSync(there('core/own.md'), 'own');
    writeFileSync(there('core/a/kept.toml'), 'edited');
    rmSync(join(program, 'packs/core/a'), { recursive: true });
    expect(await install()).toEqual({ written: ['core/pack.toml'], removed: ['core/a/b/old.toml'] });
    expect(existsSync(there('core/a/b'))).toBe(false);
    expect(readFileSync(there('core/a/kept.toml'), 'utf8')).toBe('edited');
    expect(readFileSync(there('core/own.md'), 'utf8')).toBe('own');
    expect(await install()).toEqual({ written: [], removed: [] });
  });

  it('never write or remove through a link', async () => {
    await install();
    const outside = join(base, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'file'), 'mine');
    unlinkSync(there('core/pack.toml'));
    symlinkSync(join(outside, 'file'), there('core/pack.toml'));
    expect((await install()).written).toEqual(['core/pack.toml']);
    expect(readFileSync(join(outside, 'file'), 'utf8')).toBe('mine');
    rmSync(there('core'), { recursive: true });
    symlinkSync(outside, there('core'));
    await expect(install()).rejects.toMatchObject({
      code: 'system-packs',
      message: `${there('core')} is a link`,
    });
    const lines: string[] = [];
    const main = join(program, 'dist', 'main.js');
    const options = { cityRoot: city, program: main, log: (line: string) => lines.push(line) };
    await provideSystemPacks({ ...options, env: {} });
    expect(lines).toEqual([`warning: the system packs could not be written: ${there('core')} is a link`]);
    await provideSystemPacks({ ...options, env: { GC_BOOTSTRAP: 'skip' } });
    expect(lines).toHaveLength(1);
    expect(existsSync(join(outside, 'pack.toml'))).toBe(false);
  });

  it('are found beside the program that is built here', async () => {
    const root = programRootOf(import.meta.filename);
    expect(root).toBeDefined();
    const { written } = await installSystemPacks({ cityRoot: city, programRoot: root ?? '' });
    expect(written).toContain('maintenance/agents/dog/agent.toml');
    expect(programRootOf(join(base, 'elsewhere', 'main.js'))).toBeUndefined();
  });
});
