import { isAbsolute } from 'node:path';
import { GcError } from '../../platform/errors.ts';
import type { Agent, City } from '../city.ts';
import { didYouMean } from '../document/nearest.ts';
import { checkChoices, effectiveDefaults, resolveExplicitOptions, stripSchemaFlags } from './options.ts';
import { BUILTIN_PRESET_NAMES, BUILTIN_PRESETS, builtinPreset } from './presets.ts';
import type { PromptMode, ProviderOption, ProviderSpec } from './provider-spec.ts';
import { joinWords, splitWords } from './shell-words.ts';

/** Where a program is, `undefined` when it is not on the PATH. */
export type LookPath = (program: string) => string | undefined;

/** How one agent's program is started, talked to and known to be ready: everything merged. */
export interface ResolvedPreset {
  /** The provider's name; `''` for a bare start command. */
  readonly name: string;
  /** The built-in it amounts to, else its name: picks dialog rules, overlay slots, submit timing. */
  readonly kind: string;
  readonly displayName: string;
  /** Shell text: `start_command`s may hold more than one word. */
  readonly command: string;
  readonly args: readonly string[];
  readonly promptMode: PromptMode;
  readonly promptFlag: string;
  readonly readyDelayMs: number;
  readonly readyPromptPrefix: string;
  readonly processNames: readonly string[];
  readonly emitsPermissionWarning: boolean;
  readonly env: Readonly<Record<string, string>>;
  readonly supportsAcp: boolean;
  /** `''`: `command` speaks the protocol itself. */
  readonly acpCommand: string;
  readonly acpArgs: readonly string[];
  readonly supportsHooks: boolean;
  readonly instructionsFile: string;
  readonly resumeFlag: string;
  readonly resumeStyle: '' | 'flag' | 'subcommand';
  readonly resumeCommand: string;
  readonly sessionIdFlag: string;
  readonly permissionModes: Readonly<Record<string, string>>;
  readonly optionsSchema: readonly ProviderOption[];
  /** Option key -> choice in force unless a session chooses otherwise. */
  readonly effectiveDefaults: Readonly<Record<string, string>>;
  readonly printArgs: readonly string[];
  readonly titleModel: string;
}

/** `unknown-provider`, `provider-not-found` or `no-agent-program`. */
export class PresetError extends GcError {}

type PresetCity = Pick<City, 'workspace' | 'providers' | 'agentDefaults'>;

/** How an agent is spoken to: at its terminal, or in the Agent Client Protocol. */
export type Transport = '' | 'acp';

/**
 * The preset of an agent: start command, provider of the agent or the workspace, else the first program found.
 * @throws PresetError, OptionError
 */
export function resolvePreset(
  city: PresetCity,
  agent: Agent,
  lookPath: LookPath,
  transport: Transport = agent.session,
): ResolvedPreset {
  if (agent.startCommand !== '') {
    return withAgent(anonymous(agent.startCommand, agent.promptMode || 'none', agent.promptFlag), agent, {});
  }
  const { workspace } = city;
  const name = agent.provider || workspace.provider;
  if (name === '') {
    if (workspace.startCommand !== '')
      return withAgent(anonymous(workspace.startCommand, 'none', ''), agent, {});
    return fromSpec(city, agent, detectPreset(lookPath));
  }
  const spec = findSpec(city, name, lookPath, transport);
  const resolved = fromSpec(city, agent, spec);
  if (workspace.startCommand === '') return resolved;
  return {
    ...resolved,
    command: workspace.startCommand,
    args: [],
    acpCommand: '',
    acpArgs: [],
    optionsSchema: [],
    effectiveDefaults: {},
  };
}

/**
 * `command` and arguments, then the words of the default options: what a session runs when it chooses nothing. Over ACP
 * another program may take its place, to which the options of the first mean nothing.
 */
export function commandLine(preset: ResolvedPreset, transport: Transport = ''): string {
  const options = () => resolveExplicitOptions(preset.optionsSchema, preset.effectiveDefaults);
  if (transport === '') return withWords(preset.command, [...preset.args, ...options()]);
  if (preset.acpCommand !== '') return withWords(preset.acpCommand, preset.acpArgs);
  const args = preset.acpArgs.length > 0 ? preset.acpArgs : preset.args;
  return withWords(preset.command, [...args, ...options()]);
}

function withWords(command: string, words: readonly string[]): string {
  return words.length === 0 ? command : `${command} ${joinWords(words)}`;
}

/** A provider under its name, layered: what is written, what the built-in lends. */
export interface NamedSpec {
  readonly name: string;
  readonly kind: string;
  readonly spec: ProviderSpec;
  /** What the city file itself says, without the built-in. */
  readonly written: ProviderSpec;
}

/** A provider by name without looking at the PATH, `undefined` when there is none. */
export function layeredSpec(
  providers: Readonly<Record<string, ProviderSpec>>,
  name: string,
): NamedSpec | undefined {
  const written = Object.hasOwn(providers, name) ? providers[name] : undefined;
  if (!written) {
    const spec = builtinPreset(name);
    return spec && { name, kind: name, spec, written: {} };
  }
  const base = builtinPreset(name) ? name : written.command;
  const builtin = base === undefined ? undefined : builtinPreset(base);
  if (!builtin || base === undefined) return { name, kind: name, spec: written, written };
  return { name, kind: base, spec: layer(builtin, written), written };
}

/** Every provider name that can be used in a city. */
export function presetNames(providers: Readonly<Record<string, ProviderSpec>>): readonly string[] {
  return [...new Set([...BUILTIN_PRESET_NAMES, ...Object.keys(providers)])];
}

function findSpec(city: PresetCity, name: string, lookPath: LookPath, transport: Transport): NamedSpec {
  const found = layeredSpec(city.providers, name);
  if (!found) {
    const names = presetNames(city.providers);
    throw new PresetError('unknown-provider', `unknown provider: "${name}"${didYouMean(name, names)}`, {
      next: `known: ${names.join(', ')}`,
    });
  }
  const { command, pathCheck, acpCommand } = found.spec;
  const bridge = transport === 'acp' ? (acpCommand ?? '') : '';
  const program = bridge === '' ? pathCheck || programOf(command ?? '') : programOf(bridge);
  if (program !== '' && lookPath(program) === undefined) {
    throw new PresetError(
      'provider-not-found',
      `provider not found in PATH: "${program}" (provider "${name}")`,
      {
        next:
          bridge === ''
            ? `install ${found.spec.displayName ?? name}, or choose another provider in the city file`
            : `install ${program}, which speaks the Agent Client Protocol for ${found.spec.displayName ?? name}; or take session: acp away`,
      },
    );
  }
  return found;
}

/** What has to be there for a command; nothing where a template or a path relative to the work dir names the program. */
function programOf(command: string): string {
  const program = splitWords(command).find((word) => !/^[A-Za-z_][A-Za-z0-9_]*=/.test(word)) ?? '';
  const isUnknown = program.includes('{{') || (program.includes('/') && !isAbsolute(program));
  return isUnknown ? '' : program;
}

/** The first built-in whose program is on the PATH. @throws PresetError (`no-agent-program`) */
export function detectPreset(lookPath: LookPath): NamedSpec {
  for (const [name, spec] of Object.entries(BUILTIN_PRESETS)) {
    if (lookPath(spec.pathCheck ?? spec.command ?? name) !== undefined)
      return { name, kind: name, spec, written: {} };
  }
  throw new PresetError(
    'no-agent-program',
    `no supported agent CLI found in PATH (looked for: ${BUILTIN_PRESET_NAMES.join(', ')})`,
    { next: 'install one, or set workspace.start_command or workspace.provider in the city file' },
  );
}

/** What is written wins, also `false`, 0 and an empty text; maps merge, lists replace. */
function layer(base: ProviderSpec, over: ProviderSpec): ProviderSpec {
  const { command, env, permissionModes, optionDefaults } = over;
  return {
    ...base,
    ...over,
    ...(command ? { command } : { command: base.command ?? '' }),
    env: { ...base.env, ...env },
    permissionModes: { ...base.permissionModes, ...permissionModes },
    optionDefaults: { ...base.optionDefaults, ...optionDefaults },
  };
}

function anonymous(command: string, promptMode: PromptMode, promptFlag: string): ResolvedPreset {
  return {
    name: '',
    kind: '',
    displayName: '',
    command,
    args: [],
    promptMode,
    promptFlag,
    readyDelayMs: 0,
    readyPromptPrefix: '',
    processNames: [],
    emitsPermissionWarning: false,
    env: {},
    supportsAcp: false,
    acpCommand: '',
    acpArgs: [],
    supportsHooks: false,
    instructionsFile: 'AGENTS.md',
    resumeFlag: '',
    resumeStyle: '',
    resumeCommand: '',
    sessionIdFlag: '',
    permissionModes: {},
    optionsSchema: [],
    effectiveDefaults: {},
    printArgs: [],
    titleModel: '',
  };
}

function fromSpec(city: PresetCity, agent: Agent, { name, kind, spec, written }: NamedSpec): ResolvedPreset {
  const schema = spec.optionsSchema ?? [];
  const stripped = stripSchemaFlags(schema, spec.args ?? []);
  const builtin = builtinPreset(kind)?.optionDefaults ?? {};
  const { model } = city.agentDefaults;
  const hasModel = schema.some(
    ({ key, choices }) => key === 'model' && choices.some(({ value }) => value === model),
  );
  const defaults = effectiveDefaults(
    schema,
    builtin,
    stripped.inferred,
    written.optionDefaults ?? {},
    hasModel ? { model } : {},
  );
  const base: ResolvedPreset = {
    ...anonymous(spec.command ?? name, spec.promptMode ?? 'arg', spec.promptFlag ?? ''),
    name,
    kind,
    displayName: spec.displayName ?? name,
    args: stripped.rest,
    readyDelayMs: spec.readyDelayMs ?? 0,
    readyPromptPrefix: spec.readyPromptPrefix ?? '',
    processNames: spec.processNames ?? [],
    emitsPermissionWarning: spec.emitsPermissionWarning ?? false,
    env: spec.env ?? {},
    supportsAcp: spec.supportsAcp ?? false,
    acpCommand: spec.acpCommand ?? '',
    acpArgs: spec.acpArgs ?? [],
    supportsHooks: spec.supportsHooks ?? false,
    instructionsFile: spec.instructionsFile ?? 'AGENTS.md',
    resumeFlag: spec.resumeFlag ?? '',
    resumeStyle: spec.resumeStyle ?? (spec.resumeFlag ? 'flag' : ''),
    resumeCommand: spec.resumeCommand ?? '',
    sessionIdFlag: spec.sessionIdFlag ?? '',
    permissionModes: spec.permissionModes ?? {},
    optionsSchema: schema,
    printArgs: spec.printArgs ?? [],
    titleModel: spec.titleModel ?? '',
  };
  return withAgent(base, agent, defaults);
}

/** What the agent itself says goes over everything. Its arguments replace the preset's; known flags in them are choices. */
function withAgent(
  base: ResolvedPreset,
  agent: Agent,
  defaults: Readonly<Record<string, string>>,
): ResolvedPreset {
  const own = agent.args === undefined ? undefined : stripSchemaFlags(base.optionsSchema, agent.args);
  if (base.optionsSchema.length > 0) checkChoices(base.optionsSchema, agent.optionDefaults);
  return {
    ...base,
    args: own?.rest ?? base.args,
    acpArgs: [...base.acpArgs, ...(own?.rest ?? [])],
    promptMode: agent.promptMode || base.promptMode,
    promptFlag: agent.promptFlag || base.promptFlag,
    readyDelayMs: agent.readyDelayMs ?? base.readyDelayMs,
    readyPromptPrefix: agent.readyPromptPrefix ?? base.readyPromptPrefix,
    processNames: agent.processNames ?? base.processNames,
    emitsPermissionWarning: agent.emitsPermissionWarning ?? base.emitsPermissionWarning,
    resumeCommand: agent.resumeCommand || base.resumeCommand,
    effectiveDefaults: { ...defaults, ...own?.inferred, ...agent.optionDefaults },
  };
}
