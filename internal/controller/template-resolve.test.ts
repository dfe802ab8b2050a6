import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { City } from '../config/city.ts';
import { loadCity } from '../config/load-city.ts';
import { seededIds } from '../platform/ids.ts';
import { DesiredBook, desiredRequests } from './desired-state.ts';
import type { Desired, ResolvedDesired } from './model.ts';
import { nextConversation, startConfig } from './start-config.ts';
import { templateResolver } from './template-resolve.ts';
import { aRecord } from './testing/plan.fixtures.ts';

let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-resolve-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const programs = new Set(['claude', 'codex', 'opencode']);
const BEACON_AT = new Date(2026, 0, 2, 3, 4, 5).getTime();

async function load(yaml: string): Promise<City> {
  writeFileSync(join(dir, 'city.yaml'), yaml);
  const loaded = await loadCity(dir, { env: {} });
  if (loaded.kind !== 'ok') throw new Error(JSON.stringify(loaded.problems, null, 1));
  return loaded.city;
}

async function desired(
  yaml: string,
  env: Record<string, string> = {},
): Promise<ReadonlyMap<string, Desired>> {
  const city = await load(yaml);
  const resolver = templateResolver({
    city,
    env: { PATH: '/bin', HOME: '/home/me', ...env },
    lookPath: (program) => (programs.has(program) ? `/bin/${program}` : undefined),
    beaconAt: BEACON_AT,
    program: '/opt/gc',
  });
  return new DesiredBook(city, resolver).desired([]);
}

async function one(yaml: string, name: string): Promise<ResolvedDesired> {
  const found = (await desired(yaml)).get(name);
  if (found?.resolution !== 'resolved') throw new Error(JSON.stringify(found));
  return found;
}

const always = (...agents: string[]) =>
  `workspace: { name: town }\nagents:\n${agents.map((a) => `  - ${a}\n`).join('')}named_sessions:\n${agents
    .map((a) => `  - { template: ${/name: ([a-z]+)/.exec(a)?.[1]}, mode: always }\n`)
    .join('')}`;

describe('template resolution', () => {
  it('gives Claude Code its options, and the prompt as an argument with the beacon', async () => {
    mkdirSync(join(dir, 'prompts'));
    writeFileSync(join(dir, 'prompts', 'mayor.template.md'), "You're {{ .AgentName }} of {{ .CityRoot }}.");
    const found = await one(
      always('{ name: mayor, provider: claude, prompt_template: prompts/mayor.template.md }'),
      'mayor',
    );
    expect(found.config.command).toBe('claude --dangerously-skip-permissions --effort max');
    expect(found.config.promptFlag).toBe('');
    expect(found.config.promptSuffix).toBe(
      `'[town] mayor • 2026-01-02T03:04:05\n\nYou'\\''re mayor of ${dir}.'`,
    );
    expect(found.config.nudge).toBe('');
    expect(found.resume).toMatchObject({ resumeFlag: '--resume', sessionIdFlag: '--session-id' });
    expect(found.config).toMatchObject({ providerName: 'claude', workDir: dir });
  });

  it('types the prompt where the program takes no argument, before the nudge', async () => {
    const found = await one(always('{ name: mayor, provider: opencode, nudge: begin }'), 'mayor');
    expect(found.config.promptSuffix).toBe('');
    expect(found.config.nudge).toBe(
      '[town] mayor • 2026-01-02T03:04:05\n\nRun `gc prime` to initialize your context.\n\n---\n\nbegin',
    );
  });

  it('tells a bare command nothing that nobody wrote', async () => {
    const found = await one(always('{ name: mayor, start_command: "sh agent.sh" }'), 'mayor');
    expect(found.config).toMatchObject({ command: 'sh agent.sh', nudge: '', promptSuffix: '' });
  });

  it('unsets what a city agent must not inherit, and gives a rig agent its rig', async () => {
    const yaml =
      `${always('{ name: mayor, start_command: x }')}  - { template: worker, dir: rig, mode: always }\nrigs: [{ name: rig, path: rig }]\n`.replace(
        'named_sessions:',
        '  - { name: worker, dir: rig, start_command: x }\nnamed_sessions:',
      );
    mkdirSync(join(dir, 'rig'));
    const all = await desired(yaml, { GC_RIG: 'elsewhere', CLAUDECODE: '1', SECRET: 's' });
    const env = (name: string) => {
      const found = all.get(name);
      return found?.resolution === 'resolved' ? found.config.env : {};
    };
    expect(env('mayor')).toMatchObject({
      GC_RIG: '',
      GC_RIG_ROOT: '',
      BEADS_DIR: '',
      CLAUDECODE: '',
      GC_BIN: '/opt/gc',
    });
    expect(env('mayor')).not.toHaveProperty('SECRET');
    expect(env('rig--worker')).toMatchObject({
      GC_RIG: 'rig',
      GC_RIG_ROOT: join(dir, 'rig'),
      BEADS_DIR: join(dir, 'rig', '.beads'),
      GC_ALIAS: 'rig/worker',
      GC_DIR: join(dir, 'rig'),
    });
  });

  it('refuses only the agent whose program is not there, and says which', async () => {
    const all = await desired(always('{ name: mayor, provider: claude }', '{ name: gem, provider: gemini }'));
    expect(all.get('mayor')?.resolution).toBe('resolved');
    expect(all.get('gem')).toMatchObject({
      resolution: 'unresolvable',
      problem: { code: 'provider-not-found', message: expect.stringContaining('gemini') },
      source: { file: join(dir, 'city.yaml') },
    });
  });

  it('CFG-08 refuses only the agent whose prompt went away after loading', async () => {
    mkdirSync(join(dir, 'prompts'));
    const file = join(dir, 'prompts', 'mayor.md');
    writeFileSync(file, 'x');
    const city = await load(always('{ name: mayor, start_command: x, prompt_template: prompts/mayor.md }'));
    rmSync(file);
    const resolver = templateResolver({
      city,
      env: {},
      lookPath: () => undefined,
      beaconAt: 0,
      program: 'gc',
    });
    const all = await new DesiredBook(city, resolver).desired([]);
    expect(all.get('mayor')).toMatchObject({ resolution: 'unresolvable' });
    expect(JSON.stringify(all.get('mayor'))).toContain('mayor.md');
  });

  it('CFG-02 CFG-03 has one fingerprint whatever the time, the life and the environment', async () => {
    const yaml = always(
      '{ name: mayor, provider: claude, depends_on: [worker] }',
      '{ name: worker, start_command: x }',
    );
    const city = await load(yaml);
    const at = async (beaconAt: number, env: Record<string, string>) => {
      const resolver = templateResolver({ city, env, lookPath: () => '/bin/x', beaconAt, program: 'gc' });
      const found = (await new DesiredBook(city, resolver).desired([])).get('mayor');
      return found?.resolution === 'resolved' ? found : undefined;
    };
    const first = await at(1, { PATH: '/bin' });
    const second = await at(999_999_999, { PATH: '/usr/bin', GC_SESSION: 'tmux', ANTHROPIC_API_KEY: 'k' });
    expect(first?.coreHash).toMatch(/^[0-9a-f]{64}$/);
    expect(second?.coreHash).toBe(first?.coreHash);
    expect(second?.liveHash).toBe(first?.liveHash);
  });
});

describe('desired state', () => {
  it('has no session for an agent that nobody named or needs', async () => {
    const city = await load(
      `${always('{ name: mayor, start_command: x }')}`.replace(
        'named_sessions:',
        '  - { name: idle, start_command: x }\nnamed_sessions:',
      ),
    );
    expect(desiredRequests(city, []).map((r) => r.sessionName)).toEqual(['mayor']);
  });

  it('has one session of an agent that another depends on', async () => {
    const city = await load(
      always('{ name: mayor, start_command: x, depends_on: [helper] }').replace(
        'named_sessions:',
        '  - { name: helper, start_command: x }\nnamed_sessions:',
      ),
    );
    expect(desiredRequests(city, [])).toMatchObject([
      { sessionName: 'mayor', kind: 'named' },
      { sessionName: 'helper', kind: 'dependency' },
    ]);
  });

  it('has the sessions that people made, and says what is suspended', async () => {
    const city = await load(always('{ name: mayor, start_command: x, suspended: true }'));
    const mine = aRecord('s-gc-7', { template: 'mayor', session_origin: 'manual', alias: 'mine' });
    const stray = aRecord('s-gc-8', { template: 'gone', session_origin: 'manual' });
    expect(desiredRequests(city, [mine, stray])).toMatchObject([
      { sessionName: 'mayor', kind: 'named', suspended: true },
      { sessionName: 's-gc-7', identity: 'mine', kind: 'manual', suspended: true },
    ]);
  });
});

describe('one life of a session', () => {
  const claude = () => one(always('{ name: mayor, provider: claude }'), 'mayor');
  const life = {
    recordId: 'gc-1',
    generation: 2,
    continuationEpoch: 1,
    instanceToken: 't',
    alias: '',
    origin: 'named',
  };

  it('begins a conversation under a new key, and goes on with it after a completed start', async () => {
    const agent = await claude();
    const first = nextConversation(agent, aRecord('mayor'), seededIds(1));
    expect(first.first).toBe(true);
    expect(startConfig(agent, { ...life, conversation: first }).command).toBe(
      `claude --dangerously-skip-permissions --effort max --session-id ${first.key}`,
    );
    const started = aRecord('mayor', { session_key: first.key, started_config_hash: 'h' });
    const next = nextConversation(agent, started, seededIds(2));
    expect(next).toEqual({ key: first.key, first: false });
    expect(startConfig(agent, { ...life, conversation: next }).command).toBe(
      `claude --dangerously-skip-permissions --effort max --resume ${first.key}`,
    );
  });

  it('CFG-06 never resumes a conversation that no start completed, nor makes up a key', async () => {
    const agent = await claude();
    const failed = aRecord('mayor', { session_key: 'never-begun' });
    expect(nextConversation(agent, failed, seededIds(1))).toMatchObject({ first: true });
    const codex = await one(always('{ name: mayor, provider: codex }'), 'mayor');
    expect(nextConversation(codex, failed, seededIds(1))).toEqual({ key: '', first: true });
  });

  it('begins anew when that was asked for', async () => {
    const agent = await claude();
    const reset = aRecord('mayor', {
      session_key: 'k',
      started_config_hash: 'h',
      continuation_reset_pending: 'true',
    });
    expect(nextConversation(agent, reset, seededIds(1)).first).toBe(true);
    expect(
      nextConversation(
        { ...agent, wakeMode: 'fresh' },
        aRecord('mayor', { session_key: 'k', started_config_hash: 'h' }),
        seededIds(1),
      ).first,
    ).toBe(true);
  });

  it('marks the process as this life of this record', async () => {
    const { env } = startConfig(await claude(), {
      ...life,
      alias: 'boss',
      conversation: { key: '', first: true },
    });
    expect(env).toMatchObject({
      GC_SESSION_ID: 'gc-1',
      GC_INSTANCE_TOKEN: 't',
      GC_RUNTIME_EPOCH: '2',
      GC_CONTINUATION_EPOCH: '1',
      GC_ALIAS: 'boss',
      GC_AGENT: 'boss',
      GC_PROVIDER: 'claude',
      GC_SESSION_ORIGIN: 'named',
    });
  });
});

describe('how an agent is spoken to', () => {
  async function resolvedIn(
    yaml: string,
    name: string,
    over: Partial<Parameters<typeof templateResolver>[0]>,
  ): Promise<Desired | undefined> {
    const city = await load(yaml);
    const options = { city, env: { PATH: '/bin' }, lookPath: () => '/bin/x', beaconAt: BEACON_AT };
    const resolver = templateResolver({ ...options, program: '/opt/gc', ...over });
    return (await new DesiredBook(city, resolver).desired([])).get(name);
  }

  it('in the Agent Client Protocol: nothing is read from a screen, and no conversation is named in the command', async () => {
    const desired = await resolvedIn(always('{ name: coder, provider: claude, session: acp }'), 'coder', {});
    expect(desired).toMatchObject({
      resolution: 'resolved',
      transport: 'acp',
      config: { command: 'claude-code-acp', readyPromptPrefix: '', readyDelayMs: 0, processNames: [] },
      resume: { sessionIdFlag: '', resumeFlag: '', resumeCommand: '' },
    });
    if (desired?.resolution !== 'resolved') return;
    const record = aRecord('coder', { session_key: 'its-own', started_config_hash: 'x' });
    const conversation = nextConversation(desired, record, seededIds(1));
    expect(conversation).toEqual({ key: 'its-own', first: false });
    const life = {
      recordId: 'gc-1',
      generation: 2,
      continuationEpoch: 1,
      instanceToken: 't',
      alias: '',
      origin: 'named',
      conversation,
    };
    expect(startConfig(desired, life)).toMatchObject({ command: 'claude-code-acp', conversation: 'its-own' });
    expect(startConfig(desired, { ...life, conversation: { key: '', first: true } }).conversation).toBe('');
  });

  it('over ACP is everybody in a city of that provider, and a bare command is taken at its word', async () => {
    const provider = 'acp';
    const bare = await resolvedIn(always('{ name: coder, start_command: my-agent }'), 'coder', { provider });
    expect(bare).toMatchObject({ transport: 'acp', config: { command: 'my-agent' } });
    const own = `providers: { mine: { command: opencode acp } }\n${always('{ name: coder, provider: mine }')}`;
    expect(await resolvedIn(own, 'coder', { provider })).toMatchObject({
      config: { command: 'opencode acp' },
    });
    const deaf = await resolvedIn(always('{ name: coder, provider: amp }'), 'coder', { provider });
    expect(deaf).toMatchObject({ resolution: 'unresolvable', problem: { code: 'acp-unsupported' } });
  });

  it('over ACP only where there is a provider for it: one that comes into the config later waits for a restart', async () => {
    const yaml = always(
      '{ name: coder, provider: claude, session: acp }',
      '{ name: mayor, provider: claude }',
    );
    const late = await resolvedIn(yaml, 'coder', { provider: 'tmux', isRouted: false });
    expect(late).toMatchObject({ problem: { code: 'acp-not-ready', next: 'gc restart' } });
    const other = await resolvedIn(yaml, 'mayor', { provider: 'tmux', isRouted: false });
    expect(other?.resolution).toBe('resolved');
  });

  it('on another machine is told its whole prompt: no hook of ours is there to do it', async () => {
    mkdirSync(join(dir, '.gc'));
    writeFileSync(join(dir, '.gc', 'settings.json'), '{}');
    writeFileSync(join(dir, 'p.md'), 'do it');
    const yaml = always('{ name: coder, provider: claude, prompt_template: p.md }');
    const told = async (provider: string, env: Record<string, string> = {}) => {
      const found = await resolvedIn(yaml, 'coder', { provider, env: { PATH: '/bin', ...env } });
      return found?.resolution === 'resolved' && found.config.promptSuffix.includes('do it');
    };
    expect(await told('tmux')).toBe(false);
    expect(await told('k8s')).toBe(true);
    expect(await told('hybrid')).toBe(false);
    expect(await told('hybrid', { GC_HYBRID_REMOTE_MATCH: 'cod' })).toBe(true);
  });
});

describe('what a city gives its agents besides', () => {
  const put = (path: string, text = '') => {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), text);
  };

  async function resolved(yaml: string, name: string, kind?: 'pool'): Promise<ResolvedDesired> {
    const loaded = await load(yaml);
    const packs = [{ name: 'core', dir: join(dir, 'core'), rig: '' }] as unknown as City['packs'];
    const overlays = { city: [join(dir, 'core/overlay')], rigs: { rig: [join(dir, 'rigpack')] } };
    const city: City = { ...loaded, packs, layers: { ...loaded.layers, overlays } };
    const resolver = templateResolver({
      city,
      env: { PATH: '/bin' },
      lookPath: () => '/bin/x',
      beaconAt: BEACON_AT,
      program: '/opt/gc',
      provider: 'tmux',
    });
    const [request] = desiredRequests(city, []).filter((each) => each.sessionName === name);
    if (!request) throw new Error(`no ${name}`);
    const found = await resolver.resolve(kind ? { ...request, kind, identity: `${name}-1` } : request);
    if (found.resolution !== 'resolved') throw new Error(JSON.stringify(found));
    return found;
  }

  it("lays the city's pack overlays, then the rig's, then the agent's; programs and listed hooks pick the slots", async () => {
    mkdirSync(join(dir, 'rig'));
    const yaml = `workspace: { name: town, install_agent_hooks: [gemini] }
agents: [{ name: w, dir: rig, provider: codex, overlay_dir: mine, prompt_template: p.md }]
named_sessions: [{ template: w, dir: rig, mode: always }]
rigs: [{ name: rig, path: rig }]
`;
    put('p.md', 'do it');
    put('mine/x');
    const { config } = await resolved(yaml, 'rig--w');
    expect(config).toMatchObject({
      packOverlayDirs: [join(dir, 'core/overlay'), join(dir, 'rigpack')],
      overlayDir: join(dir, 'mine'),
      providerName: 'codex',
      installAgentHooks: ['gemini'],
    });
    expect(config.promptSuffix).toContain('do it');
    expect(config.env['GC_PROMPT_BY']).toBe('start');
  });

  it('leaves the prompt to the hooks of a program only where an overlay brings them', async () => {
    const yaml = always(
      '{ name: mayor, provider: codex, install_agent_hooks: [codex], prompt_template: p.md }',
    );
    put('p.md', 'do it');
    expect((await resolved(yaml, 'mayor')).config.promptSuffix).toContain('do it');
    put('core/overlay/per-provider/codex/.codex/hooks.json', '{}');
    const hooked = await resolved(yaml, 'mayor');
    expect(hooked.config.promptSuffix).toBe("'[town] mayor • 2026-01-02T03:04:05'");
    expect(hooked.config.env['GC_PROMPT_BY']).toBe('hook');
    expect(hooked.bare).toMatchObject({ coreHash: hooked.coreHash });
  });

  it('gives Claude Code its settings and its skills, and their contents count', async () => {
    put('core/skills/gc-work/SKILL.md', '---\ndescription: how to work\n---\n');
    put('.gc/settings.json', '{}');
    const yaml = always('{ name: mayor, provider: claude, work_dir: elsewhere }');
    const first = await resolved(yaml, 'mayor');
    expect(first.config.command).toMatch(/ --settings "[^"]*\/\.gc\/settings\.json"$/);
    expect(first.config.copyFiles.map(({ relDst }) => relDst)).toEqual(['.gc/settings.json']);
    expect(first.config.preStart).toEqual([expect.stringContaining('internal materialize-skills --agent')]);
    expect(Object.keys(first.config.fingerprintExtra)).toEqual(['skills:gc-work']);
    put('core/skills/gc-work/more.md', 'x');
    const second = await resolved(yaml, 'mayor');
    expect(second.coreHash).not.toBe(first.coreHash);
    expect(second.bare?.coreHash).toBe(first.bare?.coreHash);
    const plain = await resolved(always('{ name: mayor, provider: codex }'), 'mayor');
    expect(plain.config.promptSuffix).toContain('- gc-work: how to work');
    const quiet = await resolved(
      always('{ name: mayor, provider: codex, inject_assigned_skills: false }'),
      'mayor',
    );
    expect(quiet.config.promptSuffix).not.toContain('gc-work');
  });

  it("gives workers without a prompt the core pack's, and nobody else", async () => {
    put('core/assets/prompts/pool-worker.md', 'find work');
    put('core/assets/prompts/graph-worker.md', 'follow the graph');
    const yaml = always('{ name: dog, provider: codex }');
    expect((await resolved(yaml, 'dog', 'pool')).config.promptSuffix).toContain('find work');
    expect((await resolved(yaml, 'dog')).config.promptSuffix).not.toContain('find work');
    const graph = `daemon: { formula_v2: true }\n${yaml}`;
    expect((await resolved(graph, 'dog', 'pool')).config.promptSuffix).toContain('follow the graph');
  });

  it('puts its gc last on the PATH, and says nothing of it in the fingerprint', async () => {
    const yaml = always('{ name: mayor, provider: codex }');
    const before = await resolved(yaml, 'mayor');
    put('.gc/runtime/bin/gc', '#!/bin/sh\n');
    const after = await resolved(yaml, 'mayor');
    expect([before.config.env['PATH'], after.config.env['PATH']]).toEqual([
      '/bin',
      `/bin:${dir}/.gc/runtime/bin`,
    ]);
    expect(after.coreHash).toBe(before.coreHash);
  });
});
