import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { brief, loadBad } from '../testing/scratch-city.ts';
import { agentNames, cityOf, problemsOf, sessionNames } from '../testing/scratch-packs.ts';

const AGENT = (name: string, more = '') => `[[agent]]\nname = "${name}"\nstart_command = "s"\n${more}`;
const WITH = 'include = ["f.toml"]\n';

describe('a fragment', () => {
  it('adds its agents, sessions, rigs, services and patches to those of the city', async () => {
    const city = await cityOf(
      `include = ["more/f.toml", "//g.yaml"]\n${AGENT('a')}[[rigs]]\nname = "r"\npath = "."\n`,
      {
        'more/f.toml': `${AGENT('b', 'prompt_template = "b.md"\n')}[[named_session]]\ntemplate = "a"\nmode = "always"
[[rigs]]\nname = "q"\npath = "."\n[[service]]\nname = "s"\n[service.workflow]\ncontract = "gc.healthz.v1"
[[patches.agent]]\nname = "a"\nnudge = "hi"\n`,
        'more/b.md': '',
        'g.yaml': 'agents: [{name: c, dir: q, start_command: s}]\n',
      },
    );
    expect(agentNames(city)).toEqual(['a', 'b', 'q/c']);
    expect(city.agents[0]?.nudge).toBe('hi');
    expect(city.agents[1]).toMatchObject({
      promptTemplate: join(city.root, 'more/b.md'),
      sourceDir: join(city.root, 'more'),
    });
    expect(sessionNames(city)).toEqual(['a always']);
    expect(city.rigs.map(({ name }) => name)).toEqual(['r', 'q']);
    expect(city.services.map(({ name }) => name)).toEqual(['s']);
    expect(city.sources).toContain(join(city.root, 'more/f.toml'));
  });

  it('replaces whole sections, sets some keys of the workspace, adds to its lists', async () => {
    const city = await cityOf(
      `${WITH}[workspace]
name = "one"
start_command = "s"
includes = []
global_fragments = ["x"]
install_agent_hooks = ["claude"]
[daemon]
max_restarts = 9
patrol_interval = "7s"
[session_sleep]
interactive_resume = "1h"
noninteractive = "1h"
[agent_defaults]
default_sling_formula = "f"
append_fragments = ["a", "b"]
`,
      {
        'f.toml': `[workspace]
name = "two"
global_fragments = ["y", "x"]
install_agent_hooks = ["codex"]
[daemon]
patrol_interval = "8s"
[session_sleep]
noninteractive = "2h"
[agent_defaults]
default_sling_formula = "g"
append_fragments = ["b", "c"]
`,
      },
    );
    expect(city.workspace).toMatchObject({
      name: 'two',
      startCommand: 's',
      globalFragments: ['x', 'y'],
      installAgentHooks: ['codex'],
    });
    expect(city.daemon).toMatchObject({ maxRestarts: 5, patrolIntervalMs: 8_000 });
    expect(city.sessionSleep).toMatchObject({ interactiveResume: '1h', noninteractive: '2h' });
    expect(city.agentDefaults).toMatchObject({ defaultSlingFormula: 'g', appendFragments: ['a', 'b', 'c'] });
    expect(
      city.warnings.map(({ message, position }) => `${position?.line}:${position?.column} ${message}`),
    ).toEqual([
      '2:1 workspace.name redefined by "f.toml"',
      '4:1 workspace.install_agent_hooks redefined by "f.toml"',
      '8:1 session_sleep.noninteractive redefined by "f.toml"',
    ]);
  });

  it('merges some keys of a provider; others, imports and chat_sessions are dropped, which is told', async () => {
    const fragment = `[workspace]
prefix = "zz"
suspended = true
max_active_sessions = 3
[providers.p]
command = "d"
path_check = "q"
env = { A = "2", B = "3" }
[providers.new]
command = "n"
path_check = "n"
[imports.x]
source = "nowhere"
[chat_sessions]
idle_timeout = "1h"
[packs.k]
source = "github.com/a/b"
`;
    const file = `${WITH}[packs.k]\nsource = "github.com/c/d"\n[providers.p]\ncommand = "c"\nargs = ["x"]\nenv = { A = "1" }\n`;
    const city = await cityOf(file, { 'f.toml': fragment });
    expect(city.providers).toEqual({
      p: { command: 'd', args: ['x'], env: { A: '2', B: '3' } },
      new: { command: 'n', pathCheck: 'n' },
    });
    expect(city.workspace.suspended).toBe(false);
    expect(await problemsOf(file, { 'f.toml': fragment })).toEqual([
      'f.toml:2:1 ignored-key: workspace.prefix in a fragment has no effect',
      'f.toml:3:1 ignored-key: workspace.suspended in a fragment has no effect',
      'f.toml:4:1 ignored-key: workspace.max_active_sessions in a fragment has no effect',
      'f.toml:6:1 redefined: provider "p".command redefined by "f.toml"',
      'f.toml:7:1 ignored-key: provider "p".path_check of a provider that is already there has no effect in a fragment',
      'f.toml:8:9 redefined: provider "p".env.A redefined by "f.toml"',
      'f.toml:12:2 ignored-key: imports.x in a fragment has no effect',
      'f.toml:14:2 ignored-key: chat_sessions in a fragment has no effect',
      'f.toml:16:2 redefined: pack "k" redefined by "f.toml"',
    ]);
  });

  it('cannot include, must be there, must be a file', async () => {
    expect(
      await problemsOf(
        `include = [\n  "f.toml",\n  "gone.toml",\n  "folder",\n  "github.com/a/b//f.toml",\n]\n${AGENT('a')}`,
        {
          'f.toml': 'include = ["g.toml"]\n',
          'folder/x': '',
        },
      ),
    ).toEqual([
      'f.toml:1:12 nested-include: fragment "f.toml": includes are not allowed in fragments (no recursive includes)',
      'city.toml:3:3 fragment-not-found: loading fragment "gone.toml": there is no file gone.toml',
      'city.toml:4:3 fragment-not-found: loading fragment "folder": this is a folder',
      'city.toml:5:3 fragment-not-found: loading fragment "github.com/a/b//f.toml": a fragment is a file of this machine',
    ]);
  });

  it('is read as strictly as a city file: unknown keys are warnings in TOML, errors in YAML', async () => {
    expect(
      await problemsOf(`${WITH}${AGENT('a')}`, { 'f.toml': '[workspace]\nprovidr = "x"\n[sesion]\n' }),
    ).toEqual([
      'f.toml:2:1 unknown-key: unknown key "providr" in workspace; did you mean "provider"?',
      'f.toml:3:2 unknown-key: unknown key "sesion" in the fragment "f.toml"; did you mean "session"?',
    ]);
    expect(
      brief(await loadBad({ 'city.yaml': 'include: [f.yaml]\n', 'f.yaml': 'sesion: {}\nagents: 3\n' })),
    ).toEqual([
      '1:1 unknown-key: unknown key "sesion" in the fragment "f.yaml"; did you mean "session"?',
      '2:9 wrong-type: agents must be a list',
    ]);
    expect(await problemsOf(WITH, { 'f.toml': 'a =\n' })).toEqual(['f.toml:1:4 toml-syntax: invalid value']);
  });

  it('CFG-11: an agent of both is told with both places', async () => {
    expect(await problemsOf(`${WITH}${AGENT('a')}`, { 'f.toml': AGENT('a') })).toEqual([
      'f.toml:2:8 duplicate-agent: agent "a": duplicate name (from "city.toml:3:8" and "f.toml:2:8")',
    ]);
  });
});
