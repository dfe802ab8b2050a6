import { existsSync, realpathSync } from 'node:fs';
import { readlink } from 'node:fs/promises';
import { delimiter, join, resolve, sep } from 'node:path';
import { promptFileOf, renderAgentPrompt } from '../agent/agent-prompt.ts';
import { defaultBranchOf } from '../agent/default-branch.ts';
import { expandCommand, startupHints } from '../agent/hints.ts';
import { skillsAppendix, withAppendix } from '../agent/skills/catalog.ts';
import type { Agent, City, Rig, SourcePosition } from '../config/city.ts';
import { sessionEnvironment } from '../config/environment.ts';
import {
  commandLine,
  type LookPath,
  type ResolvedPreset,
  type Transport,
} from '../config/preset/resolve-preset.ts';
import { quoteWord } from '../config/preset/shell-words.ts';
import { commandFields, type Instance, resolveWorkDir, rigOf } from '../config/work-dir.ts';
import { codeOf, GcError, messageOf } from '../platform/errors.ts';
import type { Environment } from '../platform/paths.ts';
import { beaconPrompt, formatBeacon } from '../runtime/beacon.ts';
import { coreFingerprint, fingerprintBreakdown, liveFingerprint } from '../runtime/fingerprint.ts';
import { hashPathContent } from '../runtime/path-hash.ts';
import type { CopyEntry, RuntimeConfig } from '../runtime/runtime-config.ts';
import { type Equipment, equipmentOf } from './agent-equipment.ts';
import { agentPreset, runsElsewhere } from './agent-transport.ts';
import type { FormedConfig } from './config-form.ts';
import { isGenerated } from './generated-files.ts';
import type { AgentProblem, Desired, DesiredKind, ResolvedDesired } from './model.ts';
import { sessionWorktree, worktreeInstance } from './session-worktree.ts';
import { sleepRequest } from './sleep-policy.ts';
import { cityRuntimeDir } from './turn-flags.ts';

/** One session that is to be resolved. */
export interface ResolveRequest {
  readonly agent: Agent;
  readonly sessionName: string;
  /** The named identity, the alias, else the agent's own name. */
  readonly identity: string;
  readonly kind: DesiredKind;
  readonly mode: '' | 'always' | 'on_demand';
  /** Of a pool's session, the first being 1. */
  readonly slot?: number;
  readonly suspended: boolean;
  readonly source: SourcePosition;
}

export interface TemplateResolver {
  /** Never throws for what the config or the machine lacks: that is an unresolvable session, with the reason. */
  resolve(request: ResolveRequest): Promise<Desired>;
}

export interface ResolverOptions {
  readonly city: City;
  /** The environment that the city was started with. */
  readonly env: Environment;
  readonly lookPath: LookPath;
  /** When the controller came up, milliseconds since the epoch: one time for every beacon. */
  readonly beaconAt: number;
  /** The program that agents call as `gc`, absolute. */
  readonly program: string;
  /** Where sessions live, by the runtime provider's name. */
  readonly provider?: string;
  /** `false`: agents that speak the Agent Client Protocol have no provider here until the city is started anew. */
  readonly isRouted?: boolean;
}

/**
 * Agent + city + preset -> everything a provider needs, and its fingerprints. Values of one session's life come later and
 * are in no fingerprint. Source: Gas City's template resolution; hooks and skills count where they really are.
 */
export function templateResolver(options: ResolverOptions): TemplateResolver {
  return {
    async resolve(request) {
      const base = identityOf(options.city, request);
      try {
        return { ...base, ...(await resolveTemplate(options, request)) };
      } catch (error) {
        if (!(error instanceof GcError) && codeOf(error) === undefined) throw error;
        return { ...base, resolution: 'unresolvable', problem: problemOf(error) };
      }
    },
  };
}

function identityOf(city: City, request: ResolveRequest) {
  const { agent, sessionName, identity, kind, mode, suspended, source } = request;
  return {
    sessionName,
    identity,
    template: agent.qualifiedName,
    kind,
    mode,
    dependsOn: agent.dependsOn,
    suspended,
    drainTimeoutMs: agent.drainTimeoutMs,
    sleep: sleepRequest(city, request),
    // Source: Gas City: a session that is always to be up may be silent for as long as it likes.
    idleTimeoutMs: mode === 'always' ? undefined : agent.idleTimeoutMs,
    slot: request.slot,
    source,
  };
}

/** Sessions that have an identity of their own beside their agent's name. */
function hasOwnIdentity({ kind }: ResolveRequest): boolean {
  return kind === 'named' || kind === 'pool';
}

function instanceOf(request: ResolveRequest): Instance {
  return { qualifiedName: hasOwnIdentity(request) ? request.identity : request.agent.qualifiedName };
}

function problemOf(error: unknown): AgentProblem {
  return {
    code: codeOf(error) ?? 'unresolvable',
    message: messageOf(error),
    next: error instanceof GcError ? error.next : undefined,
  };
}

type Resolution = Omit<ResolvedDesired, keyof ReturnType<typeof identityOf>>;

async function resolveTemplate(options: ResolverOptions, request: ResolveRequest): Promise<Resolution> {
  const { city } = options;
  const { agent } = request;
  const { preset, transport } = agentPreset(options, agent, options.lookPath);
  const { equipped, bare } = await runtimeConfigs(options, request, preset, transport);
  const formed = formedConfig(equipped);
  const before = formedConfig(bare);
  return {
    resolution: 'resolved',
    ...formed,
    ...(isSame(before, formed) ? {} : { bare: before }),
    liveHash: liveFingerprint(equipped),
    ...sessionWorktree(city, request, { instance: instanceOf(request), workDir: equipped.workDir }, realPath),
    resume: {
      sessionIdFlag: preset.sessionIdFlag,
      resumeFlag: preset.resumeFlag,
      resumeStyle: preset.resumeStyle,
      resumeCommand: preset.resumeCommand,
    },
    wakeMode: agent.wakeMode,
    startupTimeoutMs: city.session.startupTimeoutMs,
    provider: preset.name,
    providerKind: preset.kind,
    transport,
  };
}

function formedConfig(config: RuntimeConfig): FormedConfig {
  return { config, coreHash: coreFingerprint(config), breakdown: fingerprintBreakdown(config) };
}

/** Also a start that was interrupted goes on in the same way. */
function isSame(a: FormedConfig, b: FormedConfig): boolean {
  const told = ({ config }: FormedConfig) =>
    [config.nudge, config.promptFlag, config.promptSuffix].join('\0');
  return a.coreHash === b.coreHash && told(a) === told(b);
}

/** The configuration that is started, and the one that programs without hooks and skills would have started. */
async function runtimeConfigs(
  options: ResolverOptions,
  request: ResolveRequest,
  preset: ResolvedPreset,
  transport: Transport,
): Promise<{ readonly equipped: RuntimeConfig; readonly bare: RuntimeConfig }> {
  const { city, provider = '' } = options;
  const { agent, sessionName } = request;
  const instance = instanceOf(request);
  const workDir = resolveWorkDir(city, agent, worktreeInstance(request, instance), realPath);
  const fields = commandFields(city, agent, instance, { name: sessionName, workDir }, realPath);
  const copied = await copiedFiles(city, 'all');
  const hints = startupHints(city, agent, preset, fields, copied);
  const overlays = [...hints.packOverlayDirs, ...(hints.overlayDir === '' ? [] : [hints.overlayDir])];
  const equipment = await equipmentOf({
    city,
    agent,
    preset,
    transport,
    elsewhere: runsElsewhere(options, sessionName),
    workDir,
    overlays,
    provider,
    realPath,
  });
  const prompts = await promptsOf(options, request, { instance, workDir, preset, equipment });
  const command = expandCommand(commandLine(preset, transport), agent, fields);
  const bare: RuntimeConfig = {
    ...hints,
    ...promptDelivery(prompts.whole, preset, hints.nudge),
    workDir,
    command,
    env: environmentOf(options, request, preset, workDir, false),
    conversation: '',
    sessionSetupScript: hints.sessionSetupScript === '' ? '' : resolve(city.root, hints.sessionSetupScript),
    fingerprintExtra: fingerprintExtra(agent),
    // Without packs that have scripts there is nothing to leave out.
    copyFiles: city.layers.scripts.city.length === 0 ? copied : await copiedFiles(city, 'own'),
  };
  const { primedByHook } = equipment;
  const equipped: RuntimeConfig = {
    ...bare,
    ...promptDelivery(primedByHook ? prompts.beacon : prompts.whole, preset, hints.nudge),
    command: command + equipment.commandWords,
    env: environmentOf(options, request, preset, workDir, primedByHook),
    copyFiles: [...equipment.copyFiles, ...hints.copyFiles],
    preStart: [...bare.preStart, ...equipment.preStart],
    fingerprintExtra: { ...bare.fingerprintExtra, ...equipment.fingerprintExtra },
  };
  return { equipped, bare };
}

interface PromptPlace {
  readonly instance: Instance;
  readonly workDir: string;
  readonly preset: ResolvedPreset;
  readonly equipment: Equipment;
}

/**
 * `whole`: all that an agent is told, for one that no hook tells. `beacon`: the line by which its conversation is found
 * again; it begins the first turn of an agent that a hook has told the rest. The prompt is rendered for both: a wrong one
 * is to keep its agent from starting. A bare command without a prompt is told nothing.
 */
async function promptsOf(
  options: ResolverOptions,
  request: ResolveRequest,
  place: PromptPlace,
): Promise<{ readonly whole: string; readonly beacon: string }> {
  const { city, beaconAt, program } = options;
  const { instance, workDir, preset, equipment } = place;
  const { identity } = request;
  const isWorker = request.kind === 'pool' && preset.name !== '';
  const promptTemplate = await promptFileOf(city, request.agent, isWorker);
  if (promptTemplate === '' && preset.name === '') return { whole: '', beacon: '' };
  const agent = { ...request.agent, promptTemplate };
  const defaultBranch = await defaultBranchOf(rigOf(city, agent, realPath)?.path ?? city.root);
  const rendered =
    promptTemplate === ''
      ? ''
      : await renderAgentPrompt(
          city,
          agent,
          { instance, workDir, branch: '', defaultBranch, program },
          realPath,
        );
  const appendix = agent.injectAssignedSkills ? skillsAppendix(equipment.skills) : '';
  const told = withAppendix(rendered, appendix);
  // Who is told nothing else is told where to ask; who is told everything need not read it twice.
  const beacon = (prime: boolean) => formatBeacon(city.workspace.name, identity, beaconAt, prime);
  return { whole: beaconPrompt(beacon(told === '' && preset.name !== ''), told), beacon: beacon(false) };
}

type Delivery = Pick<RuntimeConfig, 'promptSuffix' | 'promptFlag' | 'nudge'>;

function promptDelivery(prompt: string, preset: ResolvedPreset, nudge: string): Delivery {
  if (prompt === '') return { promptSuffix: '', promptFlag: '', nudge };
  switch (preset.promptMode) {
    case 'none':
      return {
        promptSuffix: '',
        promptFlag: '',
        nudge: nudge === '' ? prompt : `${prompt}\n\n---\n\n${nudge}`,
      };
    case 'flag':
      return { promptSuffix: quoteWord(prompt), promptFlag: preset.promptFlag, nudge };
    case 'arg':
      return { promptSuffix: quoteWord(prompt), promptFlag: '', nudge };
  }
}

function environmentOf(
  options: ResolverOptions,
  request: ResolveRequest,
  preset: ResolvedPreset,
  workDir: string,
  primedByHook: boolean,
): Readonly<Record<string, string>> {
  const { city, env, program } = options;
  const { agent, sessionName } = request;
  const rig = rigOf(city, agent, realPath);
  // It counts in the fingerprint, where sessions of one agent are alike; its own alias comes with the start of a life.
  const alias = request.kind === 'named' ? request.identity : agent.qualifiedName;
  const computed = {
    GC_SESSION_NAME: sessionName,
    GC_TEMPLATE: agent.qualifiedName,
    GC_ALIAS: alias,
    GC_AGENT: hasOwnIdentity(request) ? request.identity : sessionName,
    GC_SESSION_ORIGIN: request.kind === 'named' ? 'named' : 'ephemeral',
    BEADS_ACTOR: sessionName,
    GC_DIR: workDir,
    ...rigEnvironment(rig),
    GT_ROOT: city.root,
    GC_CITY: city.root,
    GC_CITY_PATH: city.root,
    GC_CITY_RUNTIME_DIR: cityRuntimeDir(city.root),
    GC_BEADS: city.beads.provider,
    GC_BIN: program,
    GC_PROMPT_BY: primedByHook ? 'hook' : 'start',
    BEADS_DOLT_AUTO_START: '0',
  };
  return withTools(city, sessionEnvironment({ env, provider: preset.env, agent: agent.env, computed }));
}

/** Last on the PATH: a `gc` or `bd` that is there already is the one that an agent uses. */
function withTools(city: City, env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const tools = join(cityRuntimeDir(city.root), 'bin');
  if (!existsSync(join(tools, 'gc'))) return env;
  const path = env['PATH'];
  return { ...env, PATH: path ? `${path}${delimiter}${tools}` : tools };
}

/** Empty means unset: an agent of the city must not inherit a rig from whoever started the city. */
function rigEnvironment(rig: Rig | undefined): Readonly<Record<string, string>> {
  if (!rig) return { GC_RIG: '', GC_RIG_ROOT: '', BEADS_DIR: '' };
  return { GC_RIG: rig.name, GC_RIG_ROOT: rig.path, BEADS_DIR: join(rig.path, '.beads') };
}

/**
 * The city's scripts are staged beside the agent. `own`: without the links to scripts of packs, which earlier programs did
 * not make.
 */
async function copiedFiles(city: City, which: 'all' | 'own'): Promise<readonly CopyEntry[]> {
  const src = join(city.root, 'scripts');
  const folders = city.layers.scripts.city;
  const isOfPack = async (path: string) => {
    const target = await readlink(path).catch(() => ''); // no link
    return target !== '' && folders.some((folder) => target.startsWith(folder + sep));
  };
  const isLeft =
    which === 'all' ? isGenerated : async (path: string) => (await isGenerated(path)) || isOfPack(path);
  const contentHash = await hashPathContent(src, isLeft);
  return contentHash === '' ? [] : [{ src, relDst: join('.gc', 'scripts'), probed: true, contentHash }];
}

function fingerprintExtra(agent: Agent): Readonly<Record<string, string>> {
  const extra: Record<string, string> = {};
  const scales =
    agent.maxActiveSessions !== undefined || agent.minActiveSessions > 0 || agent.scaleCheck !== '';
  if (scales) {
    extra['pool.min'] = String(agent.minActiveSessions);
    extra['pool.max'] = String(agent.maxActiveSessions ?? -1);
  }
  if (agent.dependsOn.length > 0) extra['depends_on'] = agent.dependsOn.join(',');
  if (agent.wakeMode !== 'resume') extra['wake_mode'] = agent.wakeMode;
  return extra;
}

function realPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // It does not exist yet: nothing to resolve.
    return path;
  }
}
