import { describe, expect, it } from 'vitest';
import { cityOf } from '../testing/scratch-packs.ts';
import { adviceOf } from './advice.ts';
import { explainConfig, explainText } from './explain-config.ts';
import { provenanceReport, provenanceText } from './provenance-report.ts';
import { configData, showConfig } from './show-config.ts';

const CITY = `include = ["more.toml"]
[workspace]
name = "town"
includes = ["packs/base"]

[imports.gt]
source = "packs/town"

[agent_defaults]
default_sling_formula = "mol-x"

[[rigs]]
name = "api"
path = "."
includes = ["packs/rig"]
[[rigs.overrides]]
agent = "w"
nudge = "override"
session_live_append = ["tail"]

[[agent]]
name = "own"
start_command = "s"
max_active_sessions = 1
env = { X = "1" }

[[patches.agent]]
name = "own"
env = { Y = "2" }

[[patches.agent]]
name = "gt.dog"
idle_timeout = "2h"
`;
const FILES = {
  'more.toml': '[daemon]\ngraph_workflows = true\n[[agent]]\nname = "extra"\nstart_command = "s"\n',
  'packs/base/pack.toml':
    '[pack]\nname = "base"\nschema = 1\nversion = "1.2"\n[global]\nsession_live = ["theme"]\n',
  'packs/town/pack.toml': `[pack]
name = "town"
schema = 2
[imports.m]
source = "../maintenance"
[[patches.agent]]
name = "dog"
wake_mode = "fresh"
`,
  'packs/maintenance/pack.toml': '[pack]\nname = "maintenance"\nschema = 2\n',
  'packs/maintenance/agents/dog/agent.toml': '# the dog\nstart_command = "s"\nprompt_template = "other.md"\n',
  'packs/maintenance/agents/dog/prompt.md': 'work\n',
  'packs/rig/pack.toml':
    '[pack]\nname = "rig"\nschema = 2\n[[agent]]\nname = "w"\nstart_command = "s"\nsession_live = ["head"]\n',
};

describe('a city of fragment, packs, patch, override and global', async () => {
  const city = await cityOf(CITY, FILES);

  it('says which file, line and layer gave what', () => {
    expect(provenanceText(city)).toBe(`Sources (8 files):
  * city.toml
    more.toml
    packs/base/pack.toml
    packs/town/pack.toml
    packs/maintenance/pack.toml
    packs/maintenance/agents/dog/agent.toml
    packs/rig/pack.toml
    packs/maintenance/agents/dog/prompt.md
Packs:
  base 1.2 ← packs/base (include at city.toml:4)
  maintenance ← packs/maintenance (import m in pack town)
  town ← packs/town (import gt at city.toml:6)
  rig ← packs/rig (include at city.toml:15, for rig api)
Agents:
  gt.dog ← packs/maintenance/agents/dog/agent.toml:1
    idle_timeout ← city.toml:33 (patch in city.toml)
    session_live ← packs/base/pack.toml:6 (global of pack base)
    default_sling_formula ← city.toml:10 (agent_defaults)
    wake_mode ← packs/town/pack.toml:8 (patch in pack town)
  own ← city.toml:22
    env.Y ← city.toml:29 (patch in city.toml)
    session_live ← packs/base/pack.toml:6 (global of pack base)
    default_sling_formula ← city.toml:10 (agent_defaults)
  extra ← more.toml:4
    session_live ← packs/base/pack.toml:6 (global of pack base)
    default_sling_formula ← city.toml:10 (agent_defaults)
  api/w ← packs/rig/pack.toml:5
    nudge ← city.toml:18 (override of rig api)
    session_live[1] ← city.toml:19 (override of rig api)
    session_live[2] ← packs/base/pack.toml:6 (global of pack base)
    default_sling_formula ← city.toml:10 (agent_defaults)
  control-dispatcher ← more.toml:1 (implicit)
  api/control-dispatcher ← more.toml:1 (implicit)
Named sessions:
  control-dispatcher ← more.toml:1
  api/control-dispatcher ← more.toml:1
Rigs:
  api ← city.toml:13
Workspace:
  name ← city.toml:3
  includes ← city.toml:4
Warnings:
  packs/maintenance/agents/dog/agent.toml:3:1: warning: prompt_template is ignored: prompt.md in the agent's folder is used
  more.toml:2:1: warning: daemon.graph_workflows is the old name of daemon.formula_v2
`);
  });

  it('explains each value, lists of several layers item by item', () => {
    const chosen = ['gt.dog', 'own', 'api/w'].flatMap((agent) => explainConfig(city, { agent }));
    expect(explainText(chosen, city.root)).toBe(`Agent: gt.dog
  source: packs/maintenance/agents/dog/agent.toml:1
  binding = gt  # city.toml:6 import gt
  prompt_template = packs/maintenance/agents/dog/prompt.md  # found in the agent's folder
  start_command = s  # packs/maintenance/agents/dog/agent.toml:2
  min_active_sessions = 0  # default
  drain_timeout = 5m  # default
  idle_timeout = 2h  # city.toml:33 patch in city.toml
  session_live = ["theme"]  # packs/base/pack.toml:6 global of pack base
  default_sling_formula = mol-x  # city.toml:10 agent_defaults
  wake_mode = fresh  # packs/town/pack.toml:8 patch in pack town

Agent: own
  source: city.toml:22
  start_command = s  # city.toml:23
  env = {"X":"1","Y":"2"}  # from several layers
    env.X = 1  # city.toml:25
    env.Y = 2  # city.toml:29 patch in city.toml
  max_active_sessions = 1  # city.toml:24
  min_active_sessions = 0  # default
  drain_timeout = 5m  # default
  session_live = ["theme"]  # packs/base/pack.toml:6 global of pack base
  default_sling_formula = mol-x  # city.toml:10 agent_defaults

Agent: api/w
  source: packs/rig/pack.toml:5
  dir = api  # city.toml:13 rig api
  nudge = override  # city.toml:18 override of rig api
  start_command = s  # packs/rig/pack.toml:6
  min_active_sessions = 0  # default
  drain_timeout = 5m  # default
  session_live = ["head","tail","theme"]  # from several layers
    session_live[0] = head  # packs/rig/pack.toml:7
    session_live[1] = tail  # city.toml:19 override of rig api
    session_live[2] = theme  # packs/base/pack.toml:6 global of pack base
  default_sling_formula = mol-x  # city.toml:10 agent_defaults
`);
  });

  it('shows an implicit agent only when it is asked for, and whose it is', async () => {
    expect(explainConfig(city).map(({ agent }) => agent)).toEqual(['gt.dog', 'own', 'extra', 'api/w']);
    const preset = await cityOf(
      '[workspace]\nprovider = "p"\n[providers.p]\ncommand = "c"\nprompt_mode = "none"\nenv = { A = "1" }\n',
    );
    expect(explainConfig(preset, { agent: 'p' })[0]?.fields).toEqual([
      { key: 'provider', value: 'p', origin: 'implicit' },
      { key: 'min_active_sessions', value: 0, origin: 'default' },
      { key: 'drain_timeout', value: '5m', origin: 'default' },
      { key: 'default_sling_formula', value: 'mol-do-work', origin: 'implicit' },
    ]);
  });

  it('gives the place and the layer of every value as data', () => {
    const { values, packs, agents, workspace, warnings } = provenanceReport(city);
    const place = (path: string) => {
      const found = values[path];
      return (
        found && `${found.file.replace(`${city.root}/`, '')}:${found.line}:${found.column} ${found.layer}`
      );
    };
    expect({
      index: agents['api/w']?.path,
      item: place('agents[3].session_live[1]'),
      env: place('agents[1].env.Y'),
      given: place('agents[1].default_sling_formula'),
      outdone: place('agents[0].prompt_template'),
      oldName: place('daemon.formula_v2'),
      rig: place('rigs[0].includes[0]'),
      implicit: Object.keys(values).filter((path) => /^agents\[[45]\]/.test(path)),
    }).toEqual({
      index: 'agents[3]',
      item: 'city.toml:19:24 override of rig api',
      env: 'city.toml:29:9 patch in city.toml',
      given: 'city.toml:10:1 agent_defaults',
      outdone: undefined,
      oldName: 'more.toml:2:1 more.toml',
      rig: 'city.toml:15:13 city.toml',
      implicit: [],
    });
    expect(packs.map(({ name, line }) => [name, line])).toEqual([
      ['base', 4],
      ['maintenance', undefined],
      ['town', 6],
      ['rig', 15],
    ]);
    expect(workspace['name']).toMatchObject({ line: 3, layer: 'city.toml' });
    expect(warnings).toHaveLength(2);
  });

  it('prints agents of packs with the name first, where scripts look for it', () => {
    const lines = showConfig(city).split('\n');
    const names = lines.flatMap((line, at) => (line === '[[agent]]' ? [lines[at + 1]] : []));
    expect(names).toEqual(['name = "dog"', 'name = "own"', 'name = "extra"', 'name = "w"']);
    expect(configData(city)).toMatchObject({ daemon: { formula_v2: true } });
  });

  it('warns of an agent with one session that nothing brings up', async () => {
    const lonely = (more: string) =>
      cityOf(`[[agent]]\nname = "a"\nstart_command = "s"\n${more}`).then((one) => adviceOf(one));
    expect(adviceOf(city).map(({ message, position }) => [message, position?.line])).toEqual([
      ['agent "own" has max_active_sessions = 1 and no named session: it never comes up by itself', 24],
    ]);
    expect(await lonely('max_active_sessions = 1\n[[named_session]]\ntemplate = "a"\n')).toEqual([]);
    expect(await lonely('max_active_sessions = 1\nsuspended = true\n')).toEqual([]);
    expect(await lonely('max_active_sessions = 2\n')).toEqual([]);
  });
});

describe('rarer origins', () => {
  it('of a worktree, a service and the import of a rig', async () => {
    const city = await cityOf(
      `[imports.gt]
source = "p"
[[rigs]]
name = "api"
path = "."
[rigs.imports.x]
source = "p"
version = "^1"
[[agent]]
name = "a"
dir = "api"
start_command = "s"
[agent.worktree]
ports = 2
[[service]]
name = "hooks"
[service.workflow]
contract = "gc.healthz.v1"
`,
      {
        'p/pack.toml': '[pack]\nname = "p"\nschema = 2\n[[agent]]\nname = "b"\nstart_command = "s"\n',
      },
    );
    expect(explainText(explainConfig(city, { agent: 'api/x.b' }), city.root)).toContain(
      '  binding = x  # city.toml:6 import x\n  dir = api  # city.toml:4 rig api\n',
    );
    expect(explainText(explainConfig(city, { agent: 'a' }), city.root)).toContain(
      '  worktree = {"ports":2}  # city.toml:13\n',
    );
    const { values } = provenanceReport(city);
    expect(values['agents[1].worktree.ports']).toMatchObject({ line: 14 });
    expect(values['rigs[0].imports.x.version']).toMatchObject({ line: 8 });
    expect(values['services[0].workflow.contract']).toMatchObject({ line: 18 });
    expect(provenanceText(city)).toContain('p ← p (import x at city.toml:6, for rig api)');
    expect(configData(city)).toMatchObject({
      services: [{ name: 'hooks', workflow: { contract: 'gc.healthz.v1' } }],
      rigs: [{ imports: { x: { source: 'p', version: '^1' } } }],
    });
  });
});
