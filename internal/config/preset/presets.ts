import type { ProviderOption, ProviderSpec } from './provider-spec.ts';

/** How a prompt box of Claude Code and Copilot begins. */
const CHEVRON_PROMPT = '❯ ';

function option(
  key: string,
  label: string,
  initial: string,
  choices: readonly (readonly [value: string, ...flagArgs: string[]])[],
): ProviderOption {
  return {
    key,
    label,
    type: 'select',
    default: initial,
    choices: choices.map(([value, ...flagArgs]) => ({ value, label: value, flagArgs })),
  };
}

const CLAUDE_OPTIONS: readonly ProviderOption[] = [
  option('permission_mode', 'Permission mode', 'auto-edit', [
    ['default', '--permission-mode', 'default'],
    ['auto-edit', '--permission-mode', 'acceptEdits'],
    ['full-auto', '--permission-mode', 'auto'],
    ['plan', '--permission-mode', 'plan'],
    ['unrestricted', '--dangerously-skip-permissions'],
  ]),
  option('effort', 'Effort', '', [
    ['low', '--effort', 'low'],
    ['medium', '--effort', 'medium'],
    ['high', '--effort', 'high'],
    ['max', '--effort', 'max'],
  ]),
  option('model', 'Model', '', [
    ['opus', '--model', 'claude-opus-4-6'],
    ['sonnet', '--model', 'claude-sonnet-4-6'],
    ['haiku', '--model', 'claude-haiku-4-5-20251001'],
  ]),
];

const CODEX_OPTIONS: readonly ProviderOption[] = [
  option('permission_mode', 'Permission mode', 'unrestricted', [
    ['suggest', '--ask-for-approval', 'on-request', '--sandbox', 'read-only'],
    // Spelled in the short form, so that beside a sandbox of its own it is not taken for the mode above.
    ['auto-edit', '-a', 'on-request', '--sandbox', 'workspace-write'],
    ['unrestricted', '--dangerously-bypass-approvals-and-sandbox'],
  ]),
  option('model', 'Model', '', [
    ['o3', '--model', 'o3'],
    ['o4-mini', '--model', 'o4-mini'],
  ]),
  option('sandbox', 'Sandbox', '', [
    ['read-only', '--sandbox', 'read-only'],
    [
      'network-off',
      '-c',
      'sandbox_mode=workspace-write',
      '-c',
      'sandbox_workspace_write.network_access=false',
    ],
  ]),
  option('effort', 'Effort', '', [
    ['low', '-c', 'model_reasoning_effort=low'],
    ['medium', '-c', 'model_reasoning_effort=medium'],
    ['high', '-c', 'model_reasoning_effort=high'],
    ['xhigh', '-c', 'model_reasoning_effort=xhigh'],
  ]),
];

const GEMINI_OPTIONS: readonly ProviderOption[] = [
  option('permission_mode', 'Permission mode', 'unrestricted', [
    ['default', '--approval-mode', 'default'],
    ['auto-edit', '--approval-mode', 'auto_edit'],
    ['plan', '--approval-mode', 'plan'],
    ['unrestricted', '--approval-mode', 'yolo'],
  ]),
  option('model', 'Model', '', [
    ['gemini-2.5-pro', '--model', 'gemini-2.5-pro'],
    ['gemini-2.5-flash', '--model', 'gemini-2.5-flash'],
  ]),
];

/** Value -> the flags it stands for, as one text. */
function permissionModes(options: readonly ProviderOption[]): Readonly<Record<string, string>> {
  const modes = options.find(({ key }) => key === 'permission_mode')?.choices ?? [];
  return Object.fromEntries(modes.map(({ value, flagArgs }) => [value, flagArgs.join(' ')]));
}

/**
 * The agent programs known without configuration, in the order in which they are looked for. Source: Gas City; what
 * options stand for, and how programs other than Claude Code are told to go on with a conversation, is what they themselves offer.
 */
export const BUILTIN_PRESETS: Readonly<Record<string, ProviderSpec>> = {
  claude: {
    displayName: 'Claude Code',
    command: 'claude',
    promptMode: 'arg',
    readyDelayMs: 10_000,
    readyPromptPrefix: CHEVRON_PROMPT,
    processNames: ['node', 'claude'],
    emitsPermissionWarning: true,
    supportsAcp: true,
    acpCommand: 'claude-code-acp',
    supportsHooks: true,
    instructionsFile: 'CLAUDE.md',
    resumeFlag: '--resume',
    resumeStyle: 'flag',
    sessionIdFlag: '--session-id',
    permissionModes: permissionModes(CLAUDE_OPTIONS),
    optionDefaults: { permission_mode: 'unrestricted', effort: 'max' },
    optionsSchema: CLAUDE_OPTIONS,
    printArgs: ['-p'],
    titleModel: 'haiku',
  },
  codex: {
    displayName: 'Codex CLI',
    command: 'codex',
    promptMode: 'arg',
    readyDelayMs: 3_000,
    processNames: ['codex'],
    supportsAcp: true,
    acpCommand: 'codex-acp',
    supportsHooks: true,
    instructionsFile: 'AGENTS.md',
    resumeFlag: 'resume',
    resumeStyle: 'subcommand',
    permissionModes: permissionModes(CODEX_OPTIONS),
    optionDefaults: { permission_mode: 'unrestricted', effort: 'xhigh' },
    optionsSchema: CODEX_OPTIONS,
    printArgs: ['exec'],
    titleModel: 'o4-mini',
  },
  gemini: {
    displayName: 'Gemini CLI',
    command: 'gemini',
    promptMode: 'arg',
    readyDelayMs: 5_000,
    readyPromptPrefix: '> ',
    processNames: ['gemini', 'node'],
    supportsAcp: true,
    acpArgs: ['--experimental-acp'],
    supportsHooks: true,
    instructionsFile: 'AGENTS.md',
    resumeFlag: '--resume',
    permissionModes: permissionModes(GEMINI_OPTIONS),
    optionDefaults: { permission_mode: 'unrestricted' },
    optionsSchema: GEMINI_OPTIONS,
    printArgs: ['-p'],
    titleModel: 'gemini-2.5-flash',
  },
  cursor: {
    displayName: 'Cursor Agent',
    command: 'cursor-agent',
    args: ['-f'],
    promptMode: 'arg',
    processNames: ['cursor-agent'],
    supportsHooks: true,
    instructionsFile: 'AGENTS.md',
  },
  copilot: {
    displayName: 'GitHub Copilot',
    command: 'copilot',
    args: ['--yolo'],
    promptMode: 'arg',
    readyDelayMs: 5_000,
    readyPromptPrefix: CHEVRON_PROMPT,
    processNames: ['copilot'],
    supportsHooks: true,
    instructionsFile: 'AGENTS.md',
  },
  amp: {
    displayName: 'Sourcegraph AMP',
    command: 'amp',
    args: ['--dangerously-allow-all', '--no-ide'],
    promptMode: 'arg',
    processNames: ['amp'],
    instructionsFile: 'AGENTS.md',
  },
  opencode: {
    displayName: 'OpenCode',
    command: 'opencode',
    env: { OPENCODE_PERMISSION: '{"*":"allow"}' },
    promptMode: 'none',
    readyDelayMs: 8_000,
    processNames: ['opencode', 'node', 'bun'],
    supportsAcp: true,
    acpArgs: ['acp'],
    supportsHooks: true,
    instructionsFile: 'AGENTS.md',
    resumeFlag: '--session',
  },
  auggie: {
    displayName: 'Auggie CLI',
    command: 'auggie',
    args: ['--allow-indexing'],
    promptMode: 'arg',
    processNames: ['auggie'],
    instructionsFile: 'AGENTS.md',
  },
  pi: {
    displayName: 'Pi Coding Agent',
    command: 'pi',
    args: ['-e', '.pi/extensions/gc-hooks.js'],
    promptMode: 'arg',
    readyDelayMs: 8_000,
    processNames: ['pi', 'node', 'bun'],
    supportsHooks: true,
    instructionsFile: 'AGENTS.md',
    resumeFlag: '--session',
  },
  omp: {
    displayName: 'Oh My Pi (OMP)',
    command: 'omp',
    args: ['--hook', '.omp/hooks/gc-hook.ts'],
    promptMode: 'arg',
    processNames: ['omp', 'node', 'bun'],
    supportsHooks: true,
    instructionsFile: 'AGENTS.md',
  },
};

export const BUILTIN_PRESET_NAMES: readonly string[] = Object.keys(BUILTIN_PRESETS);

export function builtinPreset(name: string): ProviderSpec | undefined {
  return Object.hasOwn(BUILTIN_PRESETS, name) ? BUILTIN_PRESETS[name] : undefined;
}
