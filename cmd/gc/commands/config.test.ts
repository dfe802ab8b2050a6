import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runIn } from '../testing/fake-city.ts';

let root = '';
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'gc-config-show-')));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const gc = (...argv: readonly string[]) =>
  runIn(['config', ...argv], {
    cwd: root,
    env: { HOME: join(root, '.home'), GC_HOME: join(root, '.home/.gc') },
  });

function write(files: Readonly<Record<string, string>>): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
}

const CITY = `[workspace]
name = "town"
[imports.b]
source = "pack"
[[agent]]
name = "boss"
start_command = "sh"
max_active_sessions = 1
[[patches.agent]]
name = "b.dog"
nudge = "up"
`;
const PACK = '[pack]\nname = "kennel"\nschema = 2\ncolour = "red"\n';
const WARNING =
  'city.toml:8:1: warning: agent "boss" has max_active_sessions = 1 and no named session: it never comes up by itself ' +
  '(add a named session with this template, or make one with gc session new)\n';
const NOTE = 'pack/pack.toml:4:1: note: unknown key "colour" in pack\n';

describe('gc config show', () => {
  beforeEach(() => {
    write({
      'city.toml': CITY,
      'pack/pack.toml': PACK,
      'pack/agents/dog/agent.toml': 'start_command = "sh"\n',
    });
  });

  it('prints what is in force on stdout, warnings on stderr', async () => {
    const ran = await gc('show');
    expect(ran.code).toBe(0);
    expect(ran.err).toBe(WARNING);
    expect(ran.out).toContain('[[agent]]\nname = "dog"\nbinding = "b"\nnudge = "up"\n');
  });

  it('--validate tells warnings and notes and that the city is valid', async () => {
    const ran = await gc('show', '--validate');
    expect(ran).toEqual({ code: 0, out: 'Config valid.\n', err: WARNING + NOTE });
    const data = JSON.parse((await gc('show', '--validate', '--json')).out);
    expect(data).toMatchObject({
      valid: true,
      warnings: [{ code: 'no-named-session', line: 8 }],
      notes: [{ severity: 'note', line: 4 }],
    });
  });

  it('--provenance has the warnings on its page, and only there', async () => {
    const ran = await gc('show', '--provenance');
    expect([ran.code, ran.err]).toEqual([0, '']);
    expect(ran.out).toContain(
      'Agents:\n  b.dog ← pack/agents/dog/agent.toml:1\n    nudge ← city.toml:11 (patch in city.toml)\n  boss ← city.toml:6\n',
    );
    expect(ran.out.endsWith(`Warnings:\n  ${WARNING}`)).toBe(true);
    const { values } = JSON.parse((await gc('show', '--provenance', '--json')).out);
    expect(values['agents[0].nudge']).toEqual({
      file: join(root, 'city.toml'),
      line: 11,
      column: 1,
      layer: 'patch in city.toml',
    });
  });

  it('prints every error with its place when the city is wrong', async () => {
    write({ 'city.toml': `${CITY}[[patches.agent]]\nname = "cat"\n[daemon]\npatrol_interval = "soon"\n` });
    const ran = await gc('show', '--validate');
    expect([ran.code, ran.out]).toEqual([1, '']);
    expect(ran.err).toContain('city.toml:15:19: error: daemon.patrol_interval is not a duration: "soon"');
    expect(ran.err).toContain('agent "cat" not found in merged config');
  });
});

describe('gc config explain', () => {
  beforeEach(() => {
    write({
      'city.toml': CITY,
      'pack/pack.toml': PACK,
      'pack/agents/dog/agent.toml': 'start_command = "sh"\n',
    });
  });

  it('says which line and layer set each value', async () => {
    const ran = await gc('explain', '--agent', 'b.dog');
    expect(ran.code).toBe(0);
    expect(ran.out).toContain('  nudge = up  # city.toml:11 patch in city.toml\n');
    expect(ran.out).toContain('  start_command = sh  # pack/agents/dog/agent.toml:1\n');
  });

  it('says when no agent matches', async () => {
    expect(await gc('explain', '--agent', 'cat')).toEqual({
      code: 1,
      out: '',
      err: 'gc config explain: no agents match filters\n  next: gc agent list\n',
    });
  });
});
