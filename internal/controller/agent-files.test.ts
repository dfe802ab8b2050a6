import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PRIME_LINE } from '../agent/hooks/hook-lines.ts';
import type { City } from '../config/city.ts';
import { loadCity } from '../config/load-city.ts';
import { applyOverlay } from '../runtime/overlay.ts';
import { claudeSettingsFile, linkSessionSkills, writeAgentFiles } from './agent-files.ts';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-files-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

function put(path: string, text: string, mode = 0o644): void {
  mkdirSync(dirname(join(dir, path)), { recursive: true });
  writeFileSync(join(dir, path), text, { mode });
}

const AGENT = 'agents: [{ name: mayor, provider: claude }]\n';

async function city(yaml = AGENT, overlays: readonly string[] = []): Promise<City> {
  put('city.yaml', `workspace: { name: t }\n${yaml}`);
  const loaded = await loadCity(dir, { env: {} });
  if (loaded.kind !== 'ok') throw new Error(JSON.stringify(loaded.problems));
  const { layers } = loaded.city;
  return { ...loaded.city, layers: { ...layers, overlays: { city: overlays, rigs: {} } } };
}

const write = (of: City, env = {}, program = '/nowhere/gc') =>
  writeAgentFiles(of, { provider: 'tmux', program, env });

type Hooks = Readonly<
  Record<string, readonly { matcher?: string; command?: string; hooks?: { command: string }[] }[]>
>;
interface Settings {
  readonly hooks: Hooks;
  readonly [key: string]: unknown;
}
const settings = (file = claudeSettingsFile(dir)): Settings =>
  JSON.parse(readFileSync(file, 'utf8')) as Settings;
const commands = (hooks: Hooks, event: string) =>
  (hooks[event] ?? []).flatMap((entry) => [
    ...(entry.command ? [entry.command] : []),
    ...(entry.hooks ?? []).map((h) => h.command),
  ]);

const TURN = (words: string) =>
  `[ -e "\${GC_CITY_RUNTIME_DIR:-}/turns/\${GC_SESSION_NAME:-}" ] && "\${GC_BIN:-gc}" ${words} || true`;

describe('the settings of Claude Code', () => {
  it('prime at the start, and look for a flag before each turn', async () => {
    expect(await write(await city())).toEqual([]);
    const { hooks, ...rest } = settings();
    expect(rest).toEqual({ skipDangerousModePermissionPrompt: true, editorMode: 'normal' });
    expect(commands(hooks, 'SessionStart')).toEqual([PRIME_LINE]);
    expect(commands(hooks, 'UserPromptSubmit')).toEqual([
      TURN('nudge drain --inject'),
      TURN('mail check --inject'),
    ]);
    expect(commands(hooks, 'Stop')).toEqual([TURN('hook --inject')]);
    expect(statSync(claudeSettingsFile(dir)).mode & 0o777).toBe(0o600);
  });

  it("have the city's own over them, .claude over hooks/, and lose none of ours", async () => {
    const entry = (command: string) => [{ matcher: '', hooks: [{ type: 'command', command }] }];
    put(
      'hooks/claude.json',
      JSON.stringify({ model: 'haiku', env: { A: '1' }, hooks: { SessionStart: entry('gc prime --hook') } }),
    );
    put(
      '.claude/settings.json',
      JSON.stringify({ model: 'opus', hooks: { SessionStart: entry('make ready') } }),
    );
    await write(await city());
    expect(settings()).toMatchObject({ model: 'opus', env: { A: '1' } });
    expect(commands(settings().hooks, 'SessionStart')).toHaveLength(2);
    expect(commands(settings().hooks, 'SessionStart')).toContain('make ready');
  });

  it('keep what was written into them where the city has none, and are not written again for nothing', async () => {
    put('.gc/settings.json', JSON.stringify({ model: 'mine', hooks: {} }));
    const of = await city();
    await write(of);
    expect(settings()).toMatchObject({ model: 'mine' });
    const before = statSync(claudeSettingsFile(dir)).ino;
    await write(of);
    expect(statSync(claudeSettingsFile(dir)).ino).toBe(before);
  });

  it.each(['', '[1]', '{'])(
    'stay the last good ones, said with the file, when its own are %j',
    async (text) => {
      await write(await city());
      const good = readFileSync(claudeSettingsFile(dir), 'utf8');
      put('.claude/settings.json', text);
      expect((await write(await city())).join()).toContain(join(dir, '.claude/settings.json'));
      expect(readFileSync(claudeSettingsFile(dir), 'utf8')).toBe(good);
      rmSync(claudeSettingsFile(dir));
      await write(await city());
      expect(settings().hooks['SessionStart']).toHaveLength(1);
    },
  );

  it('are the same before and after overlays were laid over the city', async () => {
    const overlay = join(dir, 'pack/overlay');
    const gastown = {
      SessionStart: [{ matcher: '', hooks: [{ type: 'command', command: 'gc prime' }] }],
      Stop: [{ matcher: 'x', hooks: [] }],
    };
    put('pack/overlay/.claude/settings.json', JSON.stringify({ mcpServers: { a: {} }, hooks: gastown }));
    put(
      '.claude/settings.json',
      JSON.stringify({ mcpServers: { b: {} }, hooks: { Stop: [{ matcher: 'y', hooks: [] }] } }),
    );
    await write(await city(AGENT, [overlay]));
    const before = readFileSync(claudeSettingsFile(dir), 'utf8');
    await applyOverlay(overlay, dir, ['claude'], new AbortController().signal);
    await write(await city(AGENT, [overlay]));
    expect(readFileSync(claudeSettingsFile(dir), 'utf8')).toBe(before);
    expect(commands(settings().hooks, 'SessionStart')).toHaveLength(1);
  });
});

it('overlays of several packs add up in the work dir: servers, bare hooks, skills', async () => {
  const bare = (command: string) => ({ type: 'command', command });
  const packs = {
    cm: { mcpServers: { 'cass-memory': { url: 'a' } } },
    mail: { mcpServers: { 'agent-mail': { url: 'b' } }, hooks: { UserPromptSubmit: [bare('check-mail')] } },
    ubs: { hooks: { PreToolUse: [bare('scan')], UserPromptSubmit: [bare('scan-prompt')] } },
  };
  for (const [name, value] of Object.entries(packs)) {
    put(`packs/${name}/.claude/settings.json`, JSON.stringify(value));
    put(`packs/${name}/.claude/skills/${name}/SKILL.md`, name);
  }
  put(
    'work/.claude/settings.json',
    JSON.stringify({
      permissions: { allow: ['x'] },
      hooks: { UserPromptSubmit: [{ matcher: '', hooks: [] }] },
    }),
  );
  for (const round of [1, 2]) {
    for (const name of Object.keys(packs)) {
      await applyOverlay(
        join(dir, 'packs', name),
        join(dir, 'work'),
        ['claude', `round${round}`],
        new AbortController().signal,
      );
    }
  }
  const merged = settings(join(dir, 'work/.claude/settings.json'));
  expect(merged).toMatchObject({
    permissions: { allow: ['x'] },
    mcpServers: { 'cass-memory': { url: 'a' }, 'agent-mail': { url: 'b' } },
  });
  expect(merged.hooks['UserPromptSubmit']).toEqual([
    { matcher: '', hooks: [] },
    bare('check-mail'),
    bare('scan-prompt'),
  ]);
  expect(merged.hooks['PreToolUse']).toEqual([bare('scan')]);
  expect(existsSync(join(dir, 'work/.claude/skills/ubs/SKILL.md'))).toBe(true);
});

describe('tools and skills', () => {
  it('gives agents gc and bd, unless there is a real bd', async () => {
    put('program/gc', '#!/bin/sh\n', 0o755);
    put('real/bd', '#!/bin/sh\n', 0o755);
    const bin = (name: string) => join(dir, '.gc/runtime/bin', name);
    const of = await city();
    await write(of, { PATH: '/usr/bin' }, join(dir, 'program/gc'));
    expect([existsSync(bin('gc')), existsSync(bin('bd'))]).toEqual([true, true]);
    await write(of, { PATH: join(dir, '.gc/runtime/bin') }, join(dir, 'program/gc'));
    expect(existsSync(bin('bd'))).toBe(true);
    await write(of, { PATH: join(dir, 'real') }, join(dir, 'program/gc'));
    expect(existsSync(bin('bd'))).toBe(false);
  });

  it('links skills into the folders of the city and the rigs, and of a session elsewhere', async () => {
    put('skills/plan/SKILL.md', '---\ndescription: plans\n---\n');
    execFileSync('git', ['init', '-q', join(dir, 'api')]);
    const yaml = `agents: [{ name: mayor, provider: claude }, { name: w, provider: codex, dir: api }, { name: x, start_command: x, dir: web }]\nrigs: [{ name: api, path: api }, { name: web, path: web }]\n`;
    const loaded = { ...(await city(yaml)), skillsDir: join(dir, 'skills') };
    expect(await write(loaded)).toEqual([]);
    expect(readlinkSync(join(dir, '.claude/skills/plan'))).toBe(join(dir, 'skills/plan'));
    expect(readlinkSync(join(dir, 'api/.codex/skills/plan'))).toBe(join(dir, 'skills/plan'));
    expect(existsSync(join(dir, 'web/.claude'))).toBe(false);
    expect(execFileSync('git', ['-C', join(dir, 'api'), 'status', '--porcelain'], { encoding: 'utf8' })).toBe(
      '',
    );
    const [mayor] = loaded.agents;
    if (!mayor) throw new Error('no mayor');
    const linked = await linkSessionSkills(loaded, mayor, join(dir, 'work'));
    expect(linked).toMatchObject({ sink: join(dir, 'work/.claude/skills'), linked: ['plan'] });
    rmSync(join(dir, 'skills/plan'), { recursive: true });
    await write(loaded);
    expect(existsSync(join(dir, '.claude/skills/plan'))).toBe(false);
  });
});
