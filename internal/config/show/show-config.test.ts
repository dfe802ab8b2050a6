import { describe, expect, it } from 'vitest';
import { loadOk } from '../testing/scratch-city.ts';
import { explainConfig, explainText } from './explain-config.ts';
import { configData, showConfig } from './show-config.ts';
import { showConfigYaml } from './show-yaml.ts';

const CITY = `workspace: {name: bright, provider: claude}
session: {k8s: {prebaked: true}, setup_timeout: 90s}
daemon: {max_restarts: 0}
orders: {overrides: [{name: o, interval: 1h}]}
providers: {p: {command: claude, options_schema: [{key: k, choices: [{value: v, flag_args: [-v]}]}]}}
agents:
  - name: worker
    dir: proj
    min_active_sessions: 0
    max_active_sessions: 3
    scale_check: echo 2
    nudge: "a text that is much longer than the sixty characters that are shown of it"
    env: {A: "1"}
    pty: true
  - {name: mayor, suspended: true, idle_timeout: 1h30m, depends_on: [proj/worker]}
named_sessions: [{template: mayor, mode: always}, {name: boss, template: worker, dir: proj}]
rigs: [{name: proj, path: /, session_sleep: {noninteractive: off}}]
`;

describe('config show', () => {
  it('prints TOML tables as scripts look for them', async () => {
    const text = showConfig(await loadOk({ 'city.yaml': CITY }));
    expect(text.startsWith('[workspace]\nname = "bright"\nprovider = "claude"\n')).toBe(true);
    for (const line of [
      '[[agent]]',
      'min_active_sessions = 0',
      'max_active_sessions = 3',
      'scale_check = "echo 2"',
      'max_restarts = 0',
    ]) {
      expect(text).toContain(line);
    }
    expect(text).not.toContain('patrol_interval');
    expect(text).not.toContain('attach');
  });

  it('can be read again in both formats and means the same city', async () => {
    const city = await loadOk({ 'city.yaml': CITY });
    const again = [
      await loadOk({ 'city.toml': showConfig(city) }),
      await loadOk({ 'city.yaml': showConfigYaml(city) }),
    ];
    for (const copy of again) expect(configData(copy)).toEqual(configData(city));
  });

  it('shows what was found in an agent folder', async () => {
    const city = await loadOk({ 'city.yaml': 'workspace: {start_command: s}\n', 'agents/m/prompt.md': '' });
    expect(configData(city)).toMatchObject({
      agents: [{ name: 'm', prompt_template: 'agents/m/prompt.md' }],
    });
  });
});

describe('config explain', () => {
  it('says where each value comes from', async () => {
    const city = await loadOk({ 'city.yaml': CITY });
    expect(explainText(explainConfig(city, { agent: 'worker' }), city.root)).toBe(`Agent: proj/worker
  source: city.yaml:7
  dir = proj  # city.yaml:8
  nudge = "a text that is much longer than the sixty characters that..."  # city.yaml:12
  pty = true  # city.yaml:14
  env = {"A":"1"}  # city.yaml:13
  max_active_sessions = 3  # city.yaml:10
  min_active_sessions = 0  # city.yaml:9
  scale_check = "echo 2"  # city.yaml:11
  drain_timeout = 5m  # default
`);
  });

  it('filters by rig and by name, and says when nothing matches', async () => {
    const city = await loadOk({ 'city.yaml': CITY });
    expect(explainConfig(city, { rig: 'proj' }).map(({ agent }) => agent)).toEqual(['proj/worker']);
    expect(explainConfig(city, { agent: 'proj/worker' })).toHaveLength(1);
    expect(explainConfig(city)).toHaveLength(2);
    expect(() => explainConfig(city, { agent: 'nobody' })).toThrow('no agents match filters');
    expect(() => explainConfig(city, { rig: 'proj', agent: 'mayor' })).toThrow('no agents match filters');
  });
});
