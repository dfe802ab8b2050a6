import { describe, expect, it } from 'vitest';
import { shownPosition } from '../document/source-document.ts';
import { cityOf, imports, pack } from '../testing/scratch-packs.ts';

const CITY = `include = ["f.toml"]
[workspace]
name = "town"
includes = ["inc"]
${imports('b', 'imp')}[daemon]
max_restarts = 1
[providers.p]
command = "c"
env = { A = "1" }
[[rigs]]
name = "r"
path = "."
includes = ["rig"]
[[rigs.overrides]]
agent = "w"
nudge = "override"
session_live_append = ["o"]
[[agent]]
name = "own"
start_command = "s"
env = { X = "1" }
[[patches.agent]]
name = "i"
wake_mode = "fresh"
pre_start_append = ["two"]
env = { Y = "2" }
[patches.agent.pool]
max = 4
[[service]]
name = "v"
[service.workflow]
contract = "gc.healthz.v1"
[[named_session]]
template = "own"
mode = "always"
`;
const FILES = {
  'f.toml':
    '[workspace]\nname = "other"\nglobal_fragments = []\n[daemon]\npatrol_interval = "9s"\n[providers.p]\nenv = { B = "2" }\n[providers.q]\ncommand = "q"\n',
  ...pack('inc', '[global]\nsession_live = ["g {{.ConfigDir}}"]\n[providers.z]\ncommand = "z"\n', ['a']),
  ...pack(
    'imp',
    `${imports('n', '../deep')}[[agent]]\nname = "i"\nstart_command = "s"\npre_start = ["one"]\n[[patches.agent]]\nname = "d"\nnudge = "deep"\n`,
  ),
  ...pack('deep', '[[named_session]]\ntemplate = "d"\n', ['d']),
  ...pack('rig', '', ['w']),
  'agents/folder/agent.toml': '# c\nnudge = "f"\n',
  'agents/bare/prompt.md': '',
};

describe('where a value was written, and by whom', async () => {
  const city = await cityOf(CITY, FILES);
  const index = (name: string) => city.agents.findIndex(({ qualifiedName }) => qualifiedName === name);
  const sessions = city.namedSessions.map(({ identity }) => identity);

  it.each([
    ['city file', 'daemon.patrol_interval', 'f.toml:5:1', 'f.toml'],
    ['a section that a fragment replaced', 'daemon.max_restarts', undefined, undefined],
    ['fragment over city', 'workspace.name', 'f.toml:2:1', 'f.toml'],
    ['city', 'workspace.includes', 'city.toml:4:1', 'city.toml'],
    ['provider of the city', 'providers.p.command', 'city.toml:10:1', 'city.toml'],
    ['one of its values', 'providers.p.env.A', 'city.toml:11:9', 'city.toml'],
    ['one by the fragment', 'providers.p.env.B', 'f.toml:7:9', 'f.toml'],
    ['provider of the fragment', 'providers.q.command', 'f.toml:9:1', 'f.toml'],
    ['provider of a pack', 'providers.z.command', 'inc/pack.toml:7:1', 'pack inc'],
    ['rig', 'rigs[0].path', 'city.toml:14:1', 'city.toml'],
    ['service', 'services[0].workflow.contract', 'city.toml:34:1', 'city.toml'],
    ['import', 'imports.b.source', 'city.toml:6:1', 'city.toml'],
    ['nothing there', 'agents[99].name', undefined, undefined],
    ['no such table', 'nothing.here', undefined, undefined],
  ])('%s: %s', (_what, path, place, layer) => {
    const position = city.provenance.positionOf(path);
    expect([position && shownPosition(city.root, position), city.provenance.layerOf(path)]).toEqual([
      place,
      layer,
    ]);
  });

  it.each([
    ['own', 'start_command', 'city.toml:22:1', 'city.toml'],
    ['own', 'env.X', 'city.toml:23:9', 'city.toml'],
    ['own', 'session_live[0]', 'inc/pack.toml:5:17', 'global of pack inc'],
    ['folder', 'nudge', 'agents/folder/agent.toml:2:1', 'agent.toml'],
    ['bare', 'nudge', undefined, undefined],
    ['a', 'start_command', 'inc/agents/a/agent.toml:1:1', 'pack inc'],
    ['a', 'session_live[0]', 'inc/pack.toml:5:17', 'global of pack inc'],
    ['b.i', 'pre_start[0]', 'imp/pack.toml:9:14', 'pack imp'],
    ['b.i', 'pre_start[1]', 'city.toml:27:21', 'patch in city.toml'],
    ['b.i', 'wake_mode', 'city.toml:26:1', 'patch in city.toml'],
    ['b.i', 'env.Y', 'city.toml:28:9', 'patch in city.toml'],
    ['b.i', 'max_active_sessions', 'city.toml:30:1', 'patch in city.toml'],
    ['b.i', 'start_command', 'imp/pack.toml:8:1', 'pack imp'],
    ['b.d', 'nudge', 'imp/pack.toml:12:1', 'patch in pack imp'],
    ['b.d', 'start_command', 'deep/agents/d/agent.toml:1:1', 'pack deep'],
    ['r/w', 'nudge', 'city.toml:18:1', 'override of rig r'],
    ['r/w', 'session_live[0]', 'city.toml:19:24', 'override of rig r'],
    ['r/w', 'session_live[1]', 'inc/pack.toml:5:17', 'global of pack inc'],
    ['r/w', 'start_command', 'rig/agents/w/agent.toml:1:1', 'pack rig'],
  ])('agent %s: %s', (name, key, place, layer) => {
    const path = `agents[${index(name)}].${key}`;
    const position = city.provenance.positionOf(path);
    expect([position && shownPosition(city.root, position), city.provenance.layerOf(path)]).toEqual([
      place,
      layer,
    ]);
  });

  it('named sessions of packs and of the city', () => {
    expect(sessions).toEqual(['b.d', 'own']);
    expect(city.provenance.layerOf('named_sessions[0].template')).toBe('pack deep');
    expect(city.provenance.positionOf('named_sessions[1].mode')).toMatchObject({ file: city.file, line: 37 });
  });

  it('a list that is replaced after it was added to forgets who added', async () => {
    const again = await cityOf(
      `[[agent]]\nname = "a"\nstart_command = "s"\nsession_live = ["1"]\n[[patches.agent]]\nname = "a"\nsession_live_append = ["2"]\n[[patches.agent]]\nname = "a"\nsession_live = ["3", "4"]\n`,
    );
    expect(again.provenance.positionOf('agents[0].session_live[1]')).toMatchObject({ line: 10, column: 22 });
  });

  it('in YAML as in TOML', async () => {
    const files = {
      'p/pack.yaml': 'pack: {name: p, schema: 2}\nagents:\n  - name: a\n    start_command: s\n',
    };
    const yaml = await cityOf('[imports.b]\nsource = "p"\n', files);
    expect(yaml.provenance.positionOf('agents[0].start_command')).toMatchObject({ line: 4, column: 5 });
    expect(yaml.agents[0]?.source).toMatchObject({ line: 3, column: 11 });
  });
});
