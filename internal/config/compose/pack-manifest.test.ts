import { describe, expect, it } from 'vitest';
import { cityJsonSchema } from '../schema/schema-city.ts';
import { loadBad, loadOk } from '../testing/scratch-city.ts';
import { cityOf, imports, pack, sessionNames } from '../testing/scratch-packs.ts';

describe('pack.yaml', () => {
  it('is a pack as well; unknown keys in it are errors', async () => {
    const yaml = `pack: {name: p, schema: 2}
agents:
  - {name: a, start_command: s}
named_sessions: [{template: a, mode: always}]
services: [{name: v, workflow: {contract: gc.healthz.v1}}]
patches: {agents: [{name: a, nudge: hi}]}
global: {session_live: [l]}
`;
    const city = await loadOk({ 'city.yaml': 'imports: {p: {source: p}}\n', 'p/pack.yaml': yaml });
    expect(city.agents[0]).toMatchObject({ qualifiedName: 'p.a', nudge: 'hi', sessionLive: ['l'] });
    expect([sessionNames(city), city.services.length]).toEqual([['p.a always'], 1]);
    const bad = await loadBad({
      'city.yaml': 'imports: {p: {source: p}}\n',
      'p/pack.yaml': `${yaml}agent_default: {}\n`,
    });
    expect(bad.map(({ message }) => message)).toEqual([
      'unknown key "agent_default" in pack "p"; did you mean "agent_defaults"?',
    ]);
  });

  it('unknown keys in pack.toml and agent.toml are notes', async () => {
    const city = await cityOf(imports('p', 'p'), {
      ...pack('p', 'descr = "x"\n[extra]\n'),
      'p/agents/a/agent.toml': 'install_hooks = ["claude"]\nstart_command = "s"\n',
    });
    expect(city.warnings).toEqual([]);
    expect(city.notes.map(({ message }) => message)).toEqual([
      'unknown key "descr" in pack',
      'unknown key "extra" in pack "p"',
      'unknown key "install_hooks" in agent "a"',
    ]);
  });
});

describe('the editor schema of a pack', () => {
  it('describes the manifest, under the tables of a pack', () => {
    const { $defs } = cityJsonSchema() as {
      readonly $defs: Readonly<Record<string, { readonly properties?: object }>>;
    };
    expect(Object.keys($defs['PackManifest']?.properties ?? {})).toContain('named_session');
    expect(Object.keys($defs['Pack']?.properties ?? {})).toContain('requires_gc');
  });
});
