import { mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { City } from './city.ts';
import { loadCity } from './load-city.ts';
import { loadOk, loadOkAt, scratch } from './testing/scratch-city.ts';

const YAML = `
workspace:
  name: bright
  provider: claude
  session_template: "{{.City}}-{{.Agent}}"
session: {provider: subprocess, setup_timeout: 20s, socket: own, k8s: {prebaked: true}, acp: {output_buffer_lines: 5}}
daemon: {patrol_interval: 10s, max_restarts: 0, wisp_ttl: 1h, max_wakes_per_tick: 0, probe_concurrency: 0}
agent_defaults: {default_sling_formula: mol, append_fragments: [tail], wake_mode: fresh}
session_sleep: {noninteractive: " OFF ", interactive_fresh: 1h}
orders: {skip: [a], overrides: [{name: x, rig: proj, enabled: false, interval: 90s}]}
providers:
  fast: {command: claude, args: [--verbose], ready_delay_ms: 0}
rigs:
  - {name: proj, path: rig, session_sleep: {noninteractive: 5m}}
  - {name: home, path: ~/x}
agents:
  - name: mayor
    prompt_template: prompts/mayor.template.md
    pty: false
  - name: worker
    dir: proj
    provider: fast
    depends_on: [mayor, helper]
    min_active_sessions: 0
    max_active_sessions: 3
    idle_timeout: 1h30m
    namepool: names.txt
    wake_mode: resume
    default_sling_formula: ""
    env: {A: "1"}
  - {name: helper, dir: proj}
named_sessions:
  - {template: mayor, mode: always}
  - {name: boss, template: worker, dir: proj}
`;

const TOML = `
[workspace]
name = "bright"
provider = "claude"
session_template = "{{.City}}-{{.Agent}}"
[session]
provider = "subprocess"
setup_timeout = "20s"
socket = "own"
[session.k8s]
prebaked = true
[session.acp]
output_buffer_lines = 5
[daemon]
patrol_interval = "10s"
max_restarts = 0
wisp_ttl = "1h"
max_wakes_per_tick = 0
probe_concurrency = 0
[agents]
default_sling_formula = "mol"
append_fragments = ["tail"]
wake_mode = "fresh"
[session_sleep]
noninteractive = " OFF "
interactive_fresh = "1h"
[orders]
skip = ["a"]
[[orders.overrides]]
name = "x"
rig = "proj"
enabled = false
interval = "90s"
[providers.fast]
command = "claude"
args = ["--verbose"]
ready_delay_ms = 0
[[rigs]]
name = "proj"
path = "rig"
[rigs.session_sleep]
noninteractive = "5m"
[[rigs]]
name = "home"
path = "~/x"
[[agent]]
name = "mayor"
prompt_template = "prompts/mayor.template.md"
pty = false
[[agent]]
name = "worker"
dir = "proj"
provider = "fast"
depends_on = ["mayor", "helper"]
min_active_sessions = 0
max_active_sessions = 3
idle_timeout = "1h30m"
namepool = "names.txt"
wake_mode = "resume"
default_sling_formula = ""
env = { A = "1" }
[[agent]]
name = "helper"
dir = "proj"
[[named_session]]
template = "mayor"
mode = "always"
[[named_session]]
name = "boss"
template = "worker"
dir = "proj"
`;

const FILES = {
  'prompts/mayor.template.md': 'You are {{.AgentName}}.',
  'template-fragments/t.template.md': '{{define "tail"}}bye{{end}}',
  'names.txt': '# themed\nada\n\n grace \n',
  'rig/.keep': '',
};

/** What must be equal in both spellings: everything but places. */
function comparable(city: Awaited<ReturnType<typeof loadOk>>): unknown {
  const { file, root, provenance, revision, sources, warnings, ...rest } = city;
  const text = JSON.stringify(rest, (key, value) => (key === 'source' ? undefined : value));
  return JSON.parse(text.replaceAll(root, '<root>'));
}

describe('loadCity', () => {
  it('reads YAML and TOML into the same city', async () => {
    const yaml = await loadOk({ ...FILES, 'city.yaml': YAML });
    const toml = await loadOk({ ...FILES, 'city.toml': TOML });
    expect(comparable(yaml)).toEqual(comparable(toml));
  });

  it('fills in defaults, makes paths absolute and durations milliseconds', async () => {
    const city = await loadOk({ ...FILES, 'city.yml': YAML });
    const [mayor, worker] = city.agents;
    expect(city.session).toMatchObject({
      setupTimeoutMs: 20_000,
      startupTimeoutMs: 60_000,
      displayMs: 5_000,
      socket: 'own',
    });
    expect(city.session.k8s).toMatchObject({ namespace: 'gc', cpuRequest: '500m', prebaked: true });
    expect(city.session.acp).toEqual({
      handshakeTimeoutMs: 30_000,
      nudgeBusyTimeoutMs: 60_000,
      outputBufferLines: 5,
    });
    expect(city.daemon).toMatchObject({
      patrolIntervalMs: 10_000,
      maxRestarts: 0,
      restartWindowMs: 3_600_000,
      driftDrainTimeoutMs: 120_000,
      answerTimeoutMs: 0,
      onAnswerTimeout: 'deny',
      probeConcurrency: 1,
      maxWakesPerTick: 5,
      wispTtlMs: 3_600_000,
      wispGcIntervalMs: undefined,
    });
    expect(city.workspace).toMatchObject({
      name: 'bright',
      prefix: 'br',
      suspended: false,
      maxActiveSessions: undefined,
    });
    expect(city.beads.provider).toBe('sqlite');
    expect(city.api).toEqual({ port: 0, bind: '127.0.0.1', allowMutations: false });
    expect(city.sessionSleep).toEqual({
      interactiveResume: '',
      interactiveFresh: '1h',
      noninteractive: 'off',
    });
    expect(city.orders.overrides).toEqual([{ name: 'x', rig: 'proj', enabled: false, intervalMs: 90_000 }]);
    expect(city.providers).toEqual({ fast: { command: 'claude', args: ['--verbose'], readyDelayMs: 0 } });
    expect(city.rigs.map((rig) => [rig.name, rig.path, rig.prefix])).toEqual([
      ['proj', join(city.root, 'rig'), 'pr'],
      ['home', '/home/me/x', 'ho'],
    ]);
    expect(mayor).toMatchObject({
      qualifiedName: 'mayor',
      promptTemplate: join(city.root, 'prompts/mayor.template.md'),
      defaultSlingFormula: 'mol',
      wakeMode: 'fresh',
      pty: false,
      attach: true,
      injectAssignedSkills: true,
      drainTimeoutMs: 300_000,
      sourceDir: city.root,
    });
    expect(worker).toMatchObject({
      qualifiedName: 'proj/worker',
      dependsOn: ['mayor', 'proj/helper'],
      defaultSlingFormula: '',
      idleTimeoutMs: 5_400_000,
      namepoolNames: ['ada', 'grace'],
      minActiveSessions: 0,
      maxActiveSessions: 3,
      wakeMode: 'resume',
      pty: true,
    });
    expect(city.namedSessions).toMatchObject([
      { identity: 'mayor', templateQualifiedName: 'mayor', mode: 'always' },
      { identity: 'proj/boss', templateQualifiedName: 'proj/worker', mode: 'on_demand' },
    ]);
    expect(city.warnings.map((warning) => warning.code)).toEqual(['rig-not-found']);
  });

  it('names a city after its folder and takes a file as well as a folder', async () => {
    const dir = scratch({ 'city.yaml': 'agents: [{name: a, start_command: sh}]' });
    const byFile = await loadCity(join(dir, 'city.yaml'), { env: {} });
    expect(byFile.kind === 'ok' && byFile.city.workspace.name).toBe(basename(dir));
    expect((await loadOkAt(dir)).file).toBe(join(dir, 'city.yaml'));
  });

  it('accepts the singular spelling in YAML, and `agents` as a table beside it', async () => {
    const city = await loadOk({
      'city.yaml':
        'agent: [{name: a, start_command: sh}]\nnamed_session: [{template: a}]\nagents: {model: opus}\n',
    });
    expect(city.agents[0]?.name).toBe('a');
    expect(city.namedSessions[0]?.identity).toBe('a');
    expect(city.agentDefaults.model).toBe('opus');
  });

  it('follows YAML anchors and merge keys', async () => {
    const city = await loadOk({
      'city.yaml': 'agents:\n  - &base {name: a, start_command: sh, nudge: hi}\n  - {<<: *base, name: b}\n',
    });
    expect(city.agents.map((agent) => [agent.name, agent.nudge])).toEqual([
      ['a', 'hi'],
      ['b', 'hi'],
    ]);
  });

  it('knows where each value was written', async () => {
    const city = await loadOk({ ...FILES, 'city.yaml': YAML, 'agents/rev/agent.toml': '# c\nnudge = "x"\n' });
    expect(city.provenance.positionOf('workspace.provider')).toMatchObject({ line: 4, column: 3 });
    expect(city.provenance.positionOf('daemon.shutdown_timeout')).toBeUndefined();
    expect(city.agents[0]?.name).toBe('rev');
    expect(city.provenance.positionOf('agents[0].nudge')).toEqual({
      file: join(city.root, 'agents/rev/agent.toml'),
      line: 2,
      column: 1,
    });
    expect(city.provenance.positionOf('agents[2].depends_on')).toMatchObject({ file: city.file, line: 23 });
    expect(city.agents[2]?.source).toMatchObject({ file: city.file, line: 20, column: 11 });
  });
});

/** The agents that somebody wrote. */
const written = (city: City) => city.agents.filter((agent) => !agent.implicit);

describe('agent folders', () => {
  const base = { 'city.yaml': 'workspace: {provider: claude}\n' };

  it('are agents, with and without a manifest', async () => {
    const dir = scratch({
      ...base,
      'agents/b/agent.yaml': 'nudge: hi\n',
      'agents/b/prompt.md.tmpl': 'x',
      'agents/b/prompt.md': 'y',
      'agents/a/prompt.template.md': 'p',
      'agents/a/namepool.txt': 'n1\n',
      'agents/a/overlay/f': '',
      'agents/c/agent.toml': '',
      'agents/_notes/readme': '',
      'agents/.hidden/agent.toml': 'broken =',
      'agents/file.txt': '',
    });
    mkdirSync(join(dir, 'agents/d'));
    const city = await loadOkAt(dir);
    expect(written(city).map((agent) => agent.name)).toEqual(['a', 'b', 'c', 'd']);
    expect(city.agents[0]).toMatchObject({
      promptTemplate: join(dir, 'agents/a/prompt.template.md'),
      overlayDir: join(dir, 'agents/a/overlay'),
      namepoolNames: ['n1'],
    });
    expect(city.agents[1]).toMatchObject({
      nudge: 'hi',
      promptTemplate: join(dir, 'agents/b/prompt.md.tmpl'),
    });
    expect(city.agents[2]?.promptTemplate).toBe('');
    expect(city.agents[3]?.source).toEqual({ file: join(dir, 'agents/d'), line: 1, column: 1 });
  });

  it('lend prompt, overlay and name pool to an agent of the city file', async () => {
    const city = await loadOk({
      'city.yaml':
        'agents: [{name: a, start_command: sh}, {name: b, start_command: sh, prompt_template: own.md}]',
      'own.md': '',
      'agents/a/prompt.md': 'p',
      'agents/b/prompt.md': 'p',
    });
    expect(city.agents.map((agent) => agent.promptTemplate)).toEqual([
      join(city.root, 'agents/a/prompt.md'),
      join(city.root, 'own.md'),
    ]);
  });

  it('resolve paths beside the manifest first, then in the city; // is the city', async () => {
    const city = await loadOk({
      ...base,
      'agents/a/agent.toml':
        'prompt_template = "p.md"\noverlay_dir = "over"\nsession_setup_script = "//s.sh"\n',
      'agents/a/p.md': '',
      'p.md': '',
      'over/x': '',
      's.sh': '',
      'agents/a/s.sh': '',
    });
    expect(city.agents[0]).toMatchObject({
      promptTemplate: join(city.root, 'agents/a/p.md'),
      overlayDir: join(city.root, 'over'),
      sessionSetupScript: join(city.root, 's.sh'),
    });
  });

  it('warn when a key is overruled', async () => {
    const city = await loadOk({
      ...base,
      'agents/a/agent.toml': 'name = "z"\nprompt_template = "p.md"\n',
      'agents/a/prompt.md': '',
    });
    expect(city.agents[0]?.name).toBe('a');
    expect(city.warnings.map((warning) => warning.message)).toEqual([
      'name "z" is ignored: the folder "a" gives the agent its name',
      "prompt_template is ignored: prompt.md in the agent's folder is used",
    ]);
  });

  it('read a pack file that only describes', async () => {
    const city = await loadOk({
      ...base,
      'agents/a/prompt.md': '',
      'pack.toml': '[pack]\nname = "x"\nschema = 2\n',
    });
    expect(written(city)).toHaveLength(1);
  });
});
