import { describe, expect, it } from 'vitest';
import type { City } from '../city.ts';
import { loadOk } from '../testing/scratch-city.ts';
import { BUILTIN_PRESET_NAMES } from './presets.ts';
import {
  commandLine,
  type LookPath,
  PresetError,
  type ResolvedPreset,
  resolvePreset,
} from './resolve-preset.ts';

const everything: LookPath = (program) => `/bin/${program}`;

async function presetOf(yaml: string, lookPath = everything): Promise<ResolvedPreset> {
  const city = await loadOk({ 'city.yaml': yaml });
  return resolvePreset(city, first(city), lookPath);
}

function first(city: City): City['agents'][number] {
  const [agent] = city.agents;
  if (!agent) throw new Error('the city has no agent');
  return agent;
}

describe('built-in presets', () => {
  it.each([
    ['claude', 'claude --dangerously-skip-permissions --effort max'],
    ['codex', 'codex --dangerously-bypass-approvals-and-sandbox -c model_reasoning_effort=xhigh'],
    ['gemini', 'gemini --approval-mode yolo'],
    ['cursor', 'cursor-agent -f'],
    ['copilot', 'copilot --yolo'],
    ['amp', 'amp --dangerously-allow-all --no-ide'],
    ['opencode', 'opencode'],
    ['auggie', 'auggie --allow-indexing'],
    ['pi', 'pi -e .pi/extensions/gc-hooks.js'],
    ['omp', 'omp --hook .omp/hooks/gc-hook.ts'],
  ])('%s runs %s', async (name, command) => {
    expect(commandLine(await presetOf(`agents: [{name: a, provider: ${name}}]`))).toBe(command);
  });

  it.each([
    ['claude', 'claude-code-acp'],
    ['codex', 'codex-acp'],
    ['gemini', 'gemini --experimental-acp --approval-mode yolo'],
    ['opencode', 'opencode acp'],
  ])('%s runs %s over ACP', async (name, command) => {
    const preset = await presetOf(`agents: [{name: a, provider: ${name}, session: acp}]`);
    expect([preset.supportsAcp, commandLine(preset, 'acp')]).toEqual([true, command]);
  });

  it('need the program that speaks ACP, not the one for terminals', async () => {
    const without = (missing: string) => (program: string) => (program === missing ? undefined : program);
    const yaml = 'agents: [{name: a, provider: claude, session: acp, args: [--debug]}]';
    expect(commandLine(await presetOf(yaml, without('claude')), 'acp')).toBe('claude-code-acp --debug');
    await expect(presetOf(yaml, without('claude-code-acp'))).rejects.toMatchObject({
      code: 'provider-not-found',
      next: expect.stringContaining('install claude-code-acp'),
    });
  });

  it('of a city say themselves how their program speaks ACP', async () => {
    const yaml = (lines: string) =>
      `providers: {mine: {command: mine, args: [-x], supports_acp: true${lines}}}\nagents: [{name: a, provider: mine, session: acp}]`;
    const line = async (lines: string) => commandLine(await presetOf(yaml(lines)), 'acp');
    expect(await line('')).toBe('mine -x');
    expect(await line(', acp_args: [serve]')).toBe('mine serve');
    expect(await line(', acp_command: bridge')).toBe('bridge');
    expect(await line(', acp_command: "bridge --to mine", acp_args: [-q]')).toBe('bridge --to mine -q');
  });

  it('are looked for in their order', async () => {
    expect(BUILTIN_PRESET_NAMES.join(' ')).toBe(
      'claude codex gemini cursor copilot amp opencode auggie pi omp',
    );
    const look = (program: string) => (['gemini', 'cursor-agent'].includes(program) ? program : undefined);
    expect((await presetOf('agents: [{name: a}]', look)).name).toBe('gemini');
    await expect(presetOf('agents: [{name: a}]', () => undefined)).rejects.toThrow(
      'no supported agent CLI found in PATH (looked for: claude, codex, gemini, cursor, copilot, amp, opencode, auggie, pi, omp)',
    );
  });

  it('carry what the runtime needs', async () => {
    expect(await presetOf('agents: [{name: a, provider: claude}]')).toMatchObject({
      kind: 'claude',
      promptMode: 'arg',
      readyDelayMs: 10_000,
      readyPromptPrefix: '\u276f ',
      processNames: ['node', 'claude'],
      emitsPermissionWarning: true,
      supportsAcp: true,
      resumeFlag: '--resume',
      resumeStyle: 'flag',
      sessionIdFlag: '--session-id',
      instructionsFile: 'CLAUDE.md',
      permissionModes: { plan: '--permission-mode plan', unrestricted: '--dangerously-skip-permissions' },
      effectiveDefaults: { permission_mode: 'unrestricted', effort: 'max' },
    });
    expect(await presetOf('agents: [{name: a, provider: opencode}]')).toMatchObject({
      promptMode: 'none',
      env: { OPENCODE_PERMISSION: '{"*":"allow"}' },
      sessionIdFlag: '',
      resumeFlag: '--session',
      resumeStyle: 'flag',
    });
    expect(await presetOf('agents: [{name: a, provider: codex}]')).toMatchObject({
      sessionIdFlag: '',
      resumeFlag: 'resume',
      resumeStyle: 'subcommand',
    });
  });
});

describe('layers', () => {
  it('a start command of the agent stands alone', async () => {
    expect(
      await presetOf(
        'workspace: {provider: claude}\nagents: [{name: a, start_command: "bash -i", process_names: [bash]}]',
      ),
    ).toMatchObject({
      name: '',
      kind: '',
      command: 'bash -i',
      promptMode: 'none',
      supportsHooks: false,
      processNames: ['bash'],
      env: {},
    });
  });

  it('a start command of the workspace: alone without a provider, else in place of its command', async () => {
    const alone = await presetOf('workspace: {start_command: "true"}\nagents: [{name: a}]');
    expect(alone).toMatchObject({ name: '', command: 'true', promptMode: 'none' });
    const over = await presetOf(
      'workspace: {start_command: wrap claude, provider: claude}\nagents: [{name: a}]',
    );
    expect(over).toMatchObject({
      kind: 'claude',
      promptMode: 'arg',
      processNames: ['node', 'claude'],
      supportsHooks: true,
    });
    expect(commandLine(over)).toBe('wrap claude');
  });

  it('a provider takes the built-in of its name, else of its command, else stands as it is', async () => {
    const city = `providers:
  claude: {args: [--verbose], emits_permission_warning: false, env: {A: b}}
  fast: {command: codex, option_defaults: {effort: low}, ready_delay_ms: 0}
  own: {command: mine, args: [-x], process_names: [mine]}
`;
    const claude = await presetOf(`${city}agents: [{name: a, provider: claude}]`);
    expect(claude).toMatchObject({
      kind: 'claude',
      emitsPermissionWarning: false,
      env: { A: 'b' },
      readyDelayMs: 10_000,
    });
    expect(commandLine(claude)).toBe('claude --verbose --dangerously-skip-permissions --effort max');
    const fast = await presetOf(`${city}agents: [{name: a, provider: fast}]`);
    expect(fast).toMatchObject({ name: 'fast', kind: 'codex', readyDelayMs: 0 });
    expect(commandLine(fast)).toBe(
      'codex --dangerously-bypass-approvals-and-sandbox -c model_reasoning_effort=low',
    );
    const own = await presetOf(`${city}agents: [{name: a, provider: own}]`);
    expect(own).toMatchObject({ name: 'own', kind: 'own', promptMode: 'arg', instructionsFile: 'AGENTS.md' });
    expect(commandLine(own)).toBe('mine -x');
  });

  it('flags in arguments are choices, never doubled and never overruled by the built-in defaults', async () => {
    const provider = 'providers: {p: {command: claude, args: [--permission-mode, plan, --verbose]}}\n';
    expect(commandLine(await presetOf(`${provider}agents: [{name: a, provider: p}]`))).toBe(
      'claude --verbose --permission-mode plan --effort max',
    );
    const explicit =
      'providers: {p: {command: claude, args: [--permission-mode, plan], option_defaults: {permission_mode: auto-edit}}}\n';
    expect(commandLine(await presetOf(`${explicit}agents: [{name: a, provider: p}]`))).toBe(
      'claude --permission-mode acceptEdits --effort max',
    );
    expect(
      commandLine(
        await presetOf('agents: [{name: a, provider: claude, args: [--dangerously-skip-permissions, -d]}]'),
      ),
    ).toBe('claude -d --dangerously-skip-permissions --effort max');
  });

  it('what the agent says wins', async () => {
    const preset = await presetOf(`agent_defaults: {model: haiku}
agents:
  - name: a
    provider: claude
    option_defaults: {effort: low, permission_mode: plan}
    prompt_mode: none
    ready_delay_ms: 1
    ready_prompt_prefix: ""
    process_names: [x]
    resume_command: r
`);
    expect(preset).toMatchObject({
      promptMode: 'none',
      readyDelayMs: 1,
      readyPromptPrefix: '',
      processNames: ['x'],
      resumeCommand: 'r',
    });
    expect(commandLine(preset)).toBe(
      'claude --permission-mode plan --effort low --model claude-haiku-4-5-20251001',
    );
    expect(
      commandLine(await presetOf('agent_defaults: {model: haiku}\nagents: [{name: a, provider: codex}]')),
    ).not.toContain('haiku');
  });

  it('a program that is not installed is an error with the way out', async () => {
    const look = () => undefined;
    await expect(presetOf('agents: [{name: a, provider: claude}]', look)).rejects.toMatchObject({
      code: 'provider-not-found',
      message: 'provider not found in PATH: "claude" (provider "claude")',
      next: 'install Claude Code, or choose another provider in the city file',
    });
    const checked = 'providers: {p: {command: sh -c x, path_check: sh}}\nagents: [{name: a, provider: p}]';
    expect((await presetOf(checked, (program) => (program === 'sh' ? '/bin/sh' : undefined))).command).toBe(
      'sh -c x',
    );
  });

  it('looks for the first word of a command, and not for relative paths', async () => {
    const looked: string[] = [];
    const look: LookPath = (program) => {
      looked.push(program);
      return program;
    };
    for (const command of ['A=1 B=x mine -x', './run.sh', '{{.CityRoot}}/run', '/opt/agent']) {
      await presetOf(`providers: {p: {command: "${command}"}}\nagents: [{name: a, provider: p}]`, look);
    }
    expect(looked).toEqual(['mine', '/opt/agent']);
  });

  it('an unknown provider is an error', async () => {
    const city = await loadOk({ 'city.yaml': 'agents: [{name: a, provider: claude}]' });
    const agent = { ...first(city), provider: 'clade' };
    expect(() => resolvePreset(city, agent, everything)).toThrow(PresetError);
    expect(() => resolvePreset(city, agent, everything)).toThrow(
      'unknown provider: "clade"; did you mean "claude"?',
    );
    expect(() => resolvePreset(city, { ...agent, provider: 'constructor' }, everything)).toThrow(
      'unknown provider',
    );
  });
});
