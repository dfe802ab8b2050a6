import { realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expandCommand, startupHints } from '../agent/hints.ts';
import { sessionNameIn } from '../agent/session-name.ts';
import type { Agent, City, Rig, SourcePosition } from '../config/city.ts';
import { sessionEnvironment } from '../config/environment.ts';
import {
  commandLine,
  type LookPath,
  type ResolvedPreset,
  resolvePreset,
} from '../config/preset/resolve-preset.ts';
import { quoteWord } from '../config/preset/shell-words.ts';
import { appendedFragments, readPrompt, renderPrompt } from '../config/template/prompt.ts';
import { commandFields, type Instance, promptFields, resolveWorkDir, rigOf } from '../config/work-dir.ts';
import { codeOf, GcError, messageOf } from '../platform/errors.ts';
import type { Environment } from '../platform/paths.ts';
import { beaconPrompt, formatBeacon } from '../runtime/beacon.ts';
import { coreFingerprint, fingerprintBreakdown, liveFingerprint } from '../runtime/fingerprint.ts';
import { hashPathContent } from '../runtime/path-hash.ts';
import type { CopyEntry, RuntimeConfig } from '../runtime/runtime-config.ts';
import type { AgentProblem, Desired, DesiredKind, ResolvedDesired } from './model.ts';

/** One session that is to be resolved. */
export interface ResolveRequest {
  readonly agent: Agent;
  readonly sessionName: string;
  /** The named identity, the alias, else the agent's own name. */
  readonly identity: string;
  readonly kind: DesiredKind;
  readonly mode: '' | 'always' | 'on_demand';
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
}

/**
 * Agent + city + preset -> everything a provider needs, and its fingerprints. Values of one session's life come later and
 * are in no fingerprint. Source: Gas City's template resolution; its hooks and `--settings` are not assumed.
 */
export function templateResolver(options: ResolverOptions): TemplateResolver {
  return {
    async resolve(request) {
      const base = identityOf(request);
      try {
        return { ...base, ...(await resolveTemplate(options, request)) };
      } catch (error) {
        if (!(error instanceof GcError) && codeOf(error) === undefined) throw error;
        return { ...base, resolution: 'unresolvable', problem: problemOf(error) };
      }
    },
  };
}

function identityOf(request: ResolveRequest) {
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
    source,
  };
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
  const preset = resolvePreset(city, agent, options.lookPath);
  refuseAcp(agent, preset);
  const config = await runtimeConfig(options, request, preset);
  return {
    resolution: 'resolved',
    config,
    coreHash: coreFingerprint(config),
    liveHash: liveFingerprint(config),
    breakdown: fingerprintBreakdown(config),
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
  };
}

function refuseAcp(agent: Agent, preset: ResolvedPreset): void {
  if (agent.session !== 'acp') return;
  const name = preset.name || 'start_command';
  if (!preset.supportsAcp) {
    throw new GcError(
      'acp-unsupported',
      `agent "${agent.qualifiedName}": session = "acp" but provider "${name}" does not support ACP`,
    );
  }
}

async function runtimeConfig(
  options: ResolverOptions,
  request: ResolveRequest,
  preset: ResolvedPreset,
): Promise<RuntimeConfig> {
  const { city } = options;
  const { agent, sessionName } = request;
  const instance: Instance = {
    qualifiedName: request.kind === 'named' ? request.identity : agent.qualifiedName,
  };
  const workDir = resolveWorkDir(city, agent, instance, realPath);
  const fields = commandFields(city, agent, instance, { name: sessionName, workDir }, realPath);
  const hints = startupHints(city, agent, preset, fields, await copiedFiles(city));
  const prompt = await promptOf(options, request, instance, workDir, preset);
  return {
    ...hints,
    ...promptDelivery(prompt, preset, hints.nudge),
    workDir,
    command: expandCommand(commandLine(preset), agent, fields),
    env: environmentOf(options, request, preset, workDir),
    sessionSetupScript: hints.sessionSetupScript === '' ? '' : resolve(city.root, hints.sessionSetupScript),
    fingerprintExtra: fingerprintExtra(agent),
  };
}

/** An agent without a prompt is found again by the beacon alone; a bare command without a prompt is told nothing. */
async function promptOf(
  options: ResolverOptions,
  request: ResolveRequest,
  instance: Instance,
  workDir: string,
  preset: ResolvedPreset,
): Promise<string> {
  const { city, beaconAt, program } = options;
  const { agent, identity } = request;
  if (agent.promptTemplate === '' && preset.name === '') return '';
  const rendered = agent.promptTemplate === '' ? '' : await renderedPrompt();
  return beaconPrompt(formatBeacon(city.workspace.name, identity, beaconAt), rendered);

  async function renderedPrompt(): Promise<string> {
    const files = await readPrompt(city.root, agent.promptTemplate);
    const fields = promptFields(
      city,
      agent,
      instance,
      { workDir, branch: '', defaultBranch: DEFAULT_BRANCH },
      realPath,
    );
    const session = (name: string) => sessionNameIn(city, name);
    return renderPrompt(files, appendedFragments(city, agent), agent.env, fields, { cmd: program, session });
  }
}

const DEFAULT_BRANCH = 'main';

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
): Readonly<Record<string, string>> {
  const { city, env, program } = options;
  const { agent, sessionName } = request;
  const rig = rigOf(city, agent, realPath);
  const alias = request.kind === 'manual' ? agent.qualifiedName : request.identity;
  const computed = {
    GC_SESSION_NAME: sessionName,
    GC_TEMPLATE: agent.qualifiedName,
    GC_ALIAS: alias,
    GC_AGENT: request.kind === 'named' ? request.identity : sessionName,
    GC_SESSION_ORIGIN: request.kind === 'named' ? 'named' : 'ephemeral',
    BEADS_ACTOR: sessionName,
    GC_DIR: workDir,
    ...rigEnvironment(rig),
    GT_ROOT: city.root,
    GC_CITY: city.root,
    GC_CITY_PATH: city.root,
    GC_CITY_RUNTIME_DIR: join(city.root, '.gc', 'runtime'),
    GC_BEADS: city.beads.provider,
    GC_BIN: program,
    BEADS_DOLT_AUTO_START: '0',
  };
  return sessionEnvironment({ env, provider: preset.env, agent: agent.env, computed });
}

/** Empty means unset: an agent of the city must not inherit a rig from whoever started the city. */
function rigEnvironment(rig: Rig | undefined): Readonly<Record<string, string>> {
  if (!rig) return { GC_RIG: '', GC_RIG_ROOT: '', BEADS_DIR: '' };
  return { GC_RIG: rig.name, GC_RIG_ROOT: rig.path, BEADS_DIR: join(rig.path, '.beads') };
}

/** The city's scripts are staged beside the agent. */
async function copiedFiles(city: City): Promise<readonly CopyEntry[]> {
  const src = join(city.root, 'scripts');
  const contentHash = await hashPathContent(src);
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
