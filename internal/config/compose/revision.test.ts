import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadOkAt, scratch } from '../testing/scratch-city.ts';
import { pack } from '../testing/scratch-packs.ts';
import { revisionOf, watchSet } from './revision.ts';

const CITY = 'agents: [{name: a, start_command: s, prompt_template: p.template.md}]\n';

describe('revision', () => {
  it('is the same after a touch and another after a change of anything that was read', async () => {
    const dir = scratch({
      'city.yaml': CITY,
      'p.template.md': 'x',
      'agents/b/agent.toml': 'start_command = "s"\n',
    });
    const of = async () => (await loadOkAt(dir)).revision;
    const first = await of();
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    utimesSync(join(dir, 'city.yaml'), 1, 1);
    writeFileSync(join(dir, 'p.template.md'), 'x');
    expect(await of()).toBe(first);
    const seen = new Set([first]);
    const changes: Record<string, string> = {
      'city.yaml': `${CITY}# comment\n`,
      'p.template.md': 'y',
      'agents/b/overlay/file': '1',
      'agents/b/prompt.md': '1',
      'commands/x/run.sh': '1',
      'doctor/x/run.sh': '1',
      'template-fragments/f.template.md': '{{define "f"}}{{end}}',
    };
    for (const [name, text] of Object.entries(changes)) {
      mkdirSync(join(dir, name, '..'), { recursive: true });
      writeFileSync(join(dir, name), text);
      const revision = await of();
      expect(seen.has(revision), name).toBe(false);
      seen.add(revision);
    }
    writeFileSync(join(dir, 'unrelated.txt'), 'z');
    expect(seen.has(await of())).toBe(true);
  });

  it('counts packs, imported ones as well as included ones', async () => {
    const dir = scratch({
      'city.toml': '[workspace]\nincludes = ["inc"]\n[imports.i]\nsource = "imp"\n',
      ...pack('inc', '', ['a']),
      ...pack('imp', '', ['b']),
      'imp/agents/b/prompt.template.md': 'x',
      'imp/template-fragments/f.template.md': '{{define "f"}}1{{end}}',
    });
    const seen = new Set([(await loadOkAt(dir)).revision]);
    const changes: Record<string, string> = {
      'inc/pack.toml': '[pack]\nname = "other"\nschema = 2\n',
      'inc/agents/a/agent.toml': 'start_command = "t"\n',
      'inc/agents/new/agent.toml': 'start_command = "t"\n',
      'imp/pack.toml': '[pack]\nname = "other"\nschema = 2\n',
      'imp/agents/b/prompt.template.md': 'y',
      'imp/template-fragments/f.template.md': '{{define "f"}}2{{end}}',
    };
    for (const [name, text] of Object.entries(changes)) {
      mkdirSync(join(dir, name, '..'), { recursive: true });
      writeFileSync(join(dir, name), text);
      const { revision } = await loadOkAt(dir);
      expect(seen.has(revision), name).toBe(false);
      seen.add(revision);
    }
  });

  it('does not run two contents together', async () => {
    const one = scratch({ a: 'xy', b: '' });
    const first = await revisionOf(one, [join(one, 'a'), join(one, 'b')]);
    writeFileSync(join(one, 'a'), 'x');
    writeFileSync(join(one, 'b'), 'y');
    expect(await revisionOf(one, [join(one, 'a'), join(one, 'b')])).not.toBe(first);
  });

  it('copes with what cannot be read', async () => {
    const dir = scratch({ 'agents/a/agent.toml': '' });
    symlinkSync('/nonexistent', join(dir, 'agents/a/dangling'));
    symlinkSync('.', join(dir, 'agents/a/loop'));
    const before = await revisionOf(dir, [join(dir, 'gone')]);
    rmSync(join(dir, 'agents/a/dangling'));
    expect(await revisionOf(dir, [join(dir, 'gone')])).not.toBe(before);
  });

  it('is watched where it is made of', () => {
    expect(watchSet('/c', ['/c/p.md', '/c/city.yaml', '/c/p.md'])).toEqual([
      '/c/agents',
      '/c/city.yaml',
      '/c/commands',
      '/c/doctor',
      '/c/p.md',
    ]);
  });
});
