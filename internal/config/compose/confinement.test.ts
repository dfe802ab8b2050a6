import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadCity } from '../load-city.ts';
import { scratch } from '../testing/scratch-city.ts';
import { type Files, imports, pack, shown } from '../testing/scratch-packs.ts';

const OWN = (more: string) => `[[agent]]\nname = "a"\nstart_command = "s"\n${more}`;

/** A city in a folder with a secret beside it. `links`: path in the city -> what it points to. */
async function load(files: Files, links: Readonly<Record<string, string>> = {}) {
  const base = scratch({ 'secret/file': 'x', 'secret/prompt.md': 'x', 'secret/run.sh': '' });
  const dir = join(base, 'city');
  for (const [name, text] of Object.entries({ 'city.toml': imports('p', 'p'), ...files })) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), text.replaceAll('<base>', base));
  }
  for (const [name, target] of Object.entries(links)) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    symlinkSync(target.replaceAll('<base>', base), join(dir, name));
  }
  const result = await loadCity(dir, { env: {} });
  const problems = result.kind === 'ok' ? result.city.warnings : result.problems;
  return { dir, result, problems: shown(problems, dir).map((line) => line.replaceAll(base, '<base>')) };
}

const out = (place: string, leadsTo: string) =>
  `${place} outside-pack: this leads out of the pack, to <base>/secret${leadsTo}`;

describe('a pack uses nothing outside of itself and the city', () => {
  it.each<[string, Files, Record<string, string>, string]>([
    [
      'an absolute prompt',
      pack('p', OWN('prompt_template = "<base>/secret/prompt.md"\n')),
      {},
      out('p/pack.toml:7:19', '/prompt.md'),
    ],
    [
      'a prompt up the path',
      pack('p', OWN('prompt_template = "../../secret/prompt.md"\n')),
      {},
      out('p/pack.toml:7:19', '/prompt.md'),
    ],
    ['an overlay', pack('p', OWN('overlay_dir = "../../secret"\n')), {}, out('p/pack.toml:7:15', '')],
    [
      'a script',
      pack('p', OWN('session_setup_script = "../../secret/run.sh"\n')),
      {},
      out('p/pack.toml:7:24', '/run.sh'),
    ],
    ['a name pool', pack('p', OWN('namepool = "../../secret/file"\n')), {}, out('p/pack.toml:7:12', '/file')],
    [
      'a prompt by a patch of the pack',
      pack('p', `${OWN('')}[[patches.agent]]\nname = "a"\nprompt_template = "../../secret/prompt.md"\n`),
      {},
      out('p/pack.toml:9:19', '/prompt.md'),
    ],
    [
      'a prompt that is a link',
      pack('p'),
      { 'p/agents/a/prompt.md': '<base>/secret/prompt.md' },
      out('p/agents/a/prompt.md:1:1', '/prompt.md'),
    ],
    [
      'an agent folder that is a link',
      pack('p'),
      { 'p/agents/a': '<base>/secret' },
      out('p/agents/a:1:1', ''),
    ],
    [
      'an agent manifest that is a link',
      pack('p'),
      { 'p/agents/a/agent.toml': '<base>/secret/file' },
      out('p/agents/a/agent.toml:1:1', '/file'),
    ],
    [
      'an overlay folder that is a link',
      pack('p', '', ['a']),
      { 'p/agents/a/overlay': '<base>/secret' },
      out('p/agents/a/overlay:1:1', ''),
    ],
    ['the overlay of the pack', pack('p'), { 'p/overlay': '<base>/secret' }, out('p/overlay:1:1', '')],
    ['formulas of the pack', pack('p'), { 'p/formulas': '<base>/secret' }, out('p/formulas:1:1', '')],
    ['formulas elsewhere', pack('p', '[formulas]\ndir = "../../secret"\n'), {}, out('p/pack.toml:5:7', '')],
    [
      'scripts of the pack',
      pack('p'),
      { 'p/assets/scripts': '<base>/secret' },
      out('p/assets/scripts:1:1', ''),
    ],
    [
      'a folder of fragments',
      pack('p'),
      { 'p/template-fragments': '<base>/secret' },
      out('p/template-fragments:1:1', ''),
    ],
    [
      'a fragment',
      pack('p'),
      { 'p/template-fragments/x.template.md': '<base>/secret/file' },
      out('p/template-fragments/x.template.md:1:1', '/file'),
    ],
    [
      'a command script that is a link',
      pack('p'),
      { 'p/commands/x/run.sh': '<base>/secret/run.sh' },
      out('p/commands/x/run.sh:1:1', '/run.sh'),
    ],
    [
      'a command folder that is a link',
      pack('p'),
      { 'p/commands/x': '<base>/secret' },
      out('p/commands/x:1:1', ''),
    ],
    [
      'help that is a link',
      { ...pack('p'), 'p/commands/x/run.sh': '' },
      { 'p/commands/x/help.md': '<base>/secret/file' },
      out('p/commands/x/help.md:1:1', '/file'),
    ],
    [
      'a check that is a link',
      pack('p'),
      { 'p/doctor/x/run.sh': '<base>/secret/run.sh' },
      out('p/doctor/x/run.sh:1:1', '/run.sh'),
    ],
    ['the manifest itself', {}, { 'p/pack.toml': '<base>/secret/file' }, out('p/pack.toml:1:1', '/file')],
    [
      'a command up the path',
      { ...pack('p'), 'p/commands/x/command.toml': 'run = "../../../../secret/run.sh"\n' },
      {},
      'p/commands/x/command.toml:1:7 outside-pack: run "../../../../secret/run.sh" is outside of the pack',
    ],
    [
      'an absolute check',
      { ...pack('p'), 'p/doctor/x/doctor.toml': 'run = "<base>/secret/run.sh"\n' },
      {},
      'p/doctor/x/doctor.toml:1:7 outside-pack: run "<base>/secret/run.sh" is outside of the pack',
    ],
    [
      'a command of the old table',
      pack('p', '[[commands]]\nname = "x"\nscript = "../../secret/run.sh"\n'),
      {},
      'p/pack.toml:6:10 outside-pack: script "../../secret/run.sh" is outside of the pack',
    ],
    [
      'help of the old table',
      {
        ...pack('p', '[[commands]]\nname = "x"\nscript = "x.sh"\nlong_description = "<base>/secret/file"\n'),
        'p/x.sh': '',
      },
      {},
      'p/pack.toml:7:20 outside-pack: long_description "<base>/secret/file" is outside of the pack',
    ],
    [
      'a check of the old table',
      pack('p', '[[doctor]]\nname = "x"\nscript = "s.sh"\n'),
      { 'p/s.sh': '<base>/secret/run.sh' },
      out('p/pack.toml:6:10', '/run.sh'),
    ],
  ])('%s', async (_what, files, links, expected) => {
    const { problems } = await load(files, links);
    expect(problems.filter((line) => line.includes('outside-pack'))).toEqual([expected]);
  });

  it('but the city may send its agents anywhere, and a patch of the city those of packs', async () => {
    const { result } = await load({
      'city.toml': `${imports('p', 'p')}[[agent]]\nname = "own"\nstart_command = "s"\nprompt_template = "../secret/prompt.md"\n[[patches.agent]]\nname = "a"\nprompt_template = "<base>/secret/prompt.md"\n`,
      ...pack('p', '', ['a']),
    });
    expect(
      result.kind === 'ok' &&
        result.city.agents.map(({ promptTemplate }) => promptTemplate.endsWith('/secret/prompt.md')),
    ).toEqual([true, true]);
  });

  it('and a pack may use the city, a sibling pack, and links inside of itself', async () => {
    const { dir, result } = await load(
      {
        ...pack(
          'p',
          `${imports('q', '../q')}${OWN('prompt_template = "//shared/p.md"\noverlay_dir = "../shared"\n')}`,
        ),
        ...pack('q', '', ['b']),
        'shared/p.md': '',
        'p/real/run.sh': '',
      },
      { 'p/commands/x': '../real', 'q/agents/b/prompt.md': '<base>/city/shared/p.md' },
    );
    if (result.kind !== 'ok') throw new Error(JSON.stringify(result.problems));
    expect(result.city.agents.map(({ promptTemplate }) => promptTemplate)).toEqual([
      join(dir, 'q/agents/b/prompt.md'),
      join(dir, 'shared/p.md'),
    ]);
    expect(result.city.commands).toHaveLength(1);
  });

  it('a local pack may be outside of the city, with its neighbours', async () => {
    const base = scratch({
      'city/city.toml': imports('p', '../packs/p'),
      ...pack('packs/p', imports('q', '../q')),
      ...pack('packs/q', OWN('prompt_template = "p.md"\n')),
      'packs/q/p.md': '',
    });
    const result = await loadCity(join(base, 'city'), { env: {} });
    expect(result.kind === 'ok' && result.city.agents[0]?.promptTemplate).toBe(join(base, 'packs/q/p.md'));
  });
});
