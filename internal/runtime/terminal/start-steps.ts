import type { Clock } from '../../platform/clock.ts';
import type { Ids } from '../../platform/ids.ts';
import {
  RuntimeUnavailableError,
  SessionExistsError,
  SessionInitializingError,
  StartFailedError,
} from '../errors.ts';
import {
  META_INSTANCE_TOKEN,
  META_START_PHASE,
  type StartOptions,
  type StartResult,
  type StartStep,
} from '../provider.ts';
import type { RunShell } from '../run-shell.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import { stageFiles } from '../staging.ts';
import type { BackendSession, TerminalBackend } from './backend.ts';
import { hasProcess, tokenOf } from './facts.ts';
import { type PreparedLaunch, prepareLaunch } from './launch.ts';
import type { TerminalTimings } from './options.ts';
import type { SessionLock } from './session-lock.ts';
import { runAll, runScript, runUntilFailure, type SetupRunner } from './setup-commands.ts';

const TOKEN_BYTES = 16;
/** Between a prompt that is too long for an argument and the configured nudge. */
const PROMPT_SEPARATOR = '\n\n---\n\n';

/** What a start works with. */
export interface StartContext {
  readonly backend: TerminalBackend;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly timings: TerminalTimings;
  readonly lock: SessionLock;
  readonly launcherDir: string;
  readonly hostEnv: Readonly<Record<string, string | undefined>>;
  readonly runShell: RunShell;
}

/**
 * Adds what a session must carry in its environment: an instance token, the prompt to wait for, the agent's kind and
 * its folder. The caller's config is not changed.
 */
export function withSessionEnv(config: RuntimeConfig, ids: Ids): RuntimeConfig {
  const env: Record<string, string> = { ...config.env };
  if ((env[META_INSTANCE_TOKEN] ?? '').trim() === '') env[META_INSTANCE_TOKEN] = ids.hex(TOKEN_BYTES);
  if (config.readyPromptPrefix.trim() === '') delete env['GC_READY_PROMPT_PREFIX'];
  else env['GC_READY_PROMPT_PREFIX'] = config.readyPromptPrefix;
  if (!env['GC_PROVIDER'] && config.providerName !== '') env['GC_PROVIDER'] = config.providerName;
  if (config.workDir !== '') env['GC_DIR'] = config.workDir;
  return { ...config, env };
}

/** Everything before the creation. Where agents run elsewhere, the creation itself brings files and runs commands there. */
export async function prepare(
  context: StartContext,
  name: string,
  config: RuntimeConfig,
  options: StartOptions,
): Promise<{ readonly prepared: PreparedLaunch; readonly warnings: readonly string[] }> {
  const { signal } = options;
  step(options, 'staging');
  const { elsewhere } = context.backend;
  if (elsewhere) {
    const prepared = await elsewhere.prepareLaunch(name, config);
    return { prepared: { ...prepared, discard: () => undefined }, warnings: [] };
  }
  const warnings = await stageFiles(config, signal);
  const runner = runnerOf(context, name, signal);
  if (config.preStart.length > 0) step(options, 'pre_start');
  const failure = await runUntilFailure(runner, name, config, 'pre_start', config.preStart);
  if (failure !== undefined) throw new StartFailedError('pre-start-failed', `running pre_start: ${failure}`);
  signal.throwIfAborted();
  return { prepared: await prepareLaunch(name, config, context.launcherDir, context.ids), warnings };
}

/** The part of a start in which the session comes to be. */
export interface Creation {
  readonly name: string;
  readonly config: RuntimeConfig;
  readonly prepared: PreparedLaunch;
  readonly options: StartOptions;
  /** `recycled`: what was left of an earlier session with the name was removed for this. */
  create(recycled: boolean): Promise<void>;
  finish(): Promise<StartResult>;
}

/** Makes room, creates, and finishes; a session whose start fails after that is removed again. */
export async function createAndFinish(
  context: Pick<StartContext, 'backend' | 'timings'>,
  { name, config, prepared, options, create, finish }: Creation,
): Promise<StartResult> {
  let created = false;
  try {
    step(options, 'creating');
    const recycled = await makeRoom(context, name, config);
    options.signal.throwIfAborted();
    await create(recycled);
    created = true;
    await context.backend.setMeta(name, META_START_PHASE, 'created');
    return await finish();
  } catch (error) {
    prepared.discard();
    if (created) await cleanUp(context, name, config);
    throw error;
  }
}

/** A living session keeps everything: nothing is staged over its files, nothing of it is cleaned up. */
export async function refuseLiving(
  backend: TerminalBackend,
  name: string,
  config: RuntimeConfig,
): Promise<void> {
  const inspection = await backend.inspect(name);
  if (inspection.kind === 'unknown') throw new RuntimeUnavailableError(inspection.reason);
  if (inspection.kind !== 'present' || isLeftOver(inspection.session, config)) return;
  throw inspection.session.initializing ? new SessionInitializingError(name) : new SessionExistsError(name);
}

/** A corpse, or a terminal whose agent is gone: its name may be used again. What could not be told is living. */
function isLeftOver(session: BackendSession, config: RuntimeConfig): boolean {
  if (session.state.kind === 'dead') return true;
  if (config.processNames.length === 0 || !session.processNames) return false;
  return !hasProcess(session.processNames, config.processNames);
}

/** Removes what is left of an earlier session with the name, `true` when there was something. */
async function makeRoom(
  context: Pick<StartContext, 'backend' | 'timings'>,
  name: string,
  config: RuntimeConfig,
): Promise<boolean> {
  const { backend, timings } = context;
  await refuseLiving(backend, name, config);
  if ((await backend.inspect(name)).kind === 'absent') return false;
  await backend.kill(name, timings.stopGraceMs);
  return true;
}

/** Removes the session of a failed start, if it still is the one that this start created. Best effort. */
async function cleanUp(
  context: Pick<StartContext, 'backend' | 'timings'>,
  name: string,
  config: RuntimeConfig,
): Promise<void> {
  try {
    const inspection = await context.backend.inspect(name);
    if (inspection.kind !== 'present') return;
    const token = await tokenOf(context.backend, inspection.session);
    if (token === config.env[META_INSTANCE_TOKEN])
      await context.backend.kill(name, context.timings.stopGraceMs);
  } catch {
    // The reason of the failed start matters more; the next observation finds what is left.
  }
}

/** The prompt that is not an argument comes before the configured nudge. */
export function withTypedPrompt(config: RuntimeConfig, typed: string): RuntimeConfig {
  if (typed === '') return config;
  return { ...config, nudge: config.nudge === '' ? typed : typed + PROMPT_SEPARATOR + config.nudge };
}

export function runnerOf(
  context: Pick<StartContext, 'backend' | 'hostEnv' | 'runShell'>,
  name: string,
  signal: AbortSignal,
): SetupRunner {
  const { backend, hostEnv } = context;
  const runShell = backend.elsewhere?.runShell(name) ?? context.runShell;
  return { runShell, hostEnv, backendEnv: backend.setupEnv(), signal };
}

/** The set-up commands of a session that is ready for them; answers their warnings. */
export async function setUp(
  runner: SetupRunner,
  name: string,
  config: RuntimeConfig,
  options: StartOptions,
): Promise<readonly string[]> {
  if (config.sessionSetup.length > 0 || config.sessionSetupScript !== '') step(options, 'session_setup');
  const warnings = await runAll(runner, name, config, 'session_setup', config.sessionSetup);
  return [...warnings, ...(await runScript(runner, name, config))];
}

/** The live commands, and with them the end of a start; answers their warnings. */
export async function goLive(
  backend: TerminalBackend,
  runner: SetupRunner,
  name: string,
  config: RuntimeConfig,
  options: StartOptions,
): Promise<readonly string[]> {
  if (config.sessionLive.length > 0) step(options, 'session_live');
  const warnings = await runAll(runner, name, config, 'session_live', config.sessionLive);
  options.signal.throwIfAborted();
  await backend.setMeta(name, META_START_PHASE, 'ready');
  return warnings;
}

export function step(options: StartOptions, name: StartStep): void {
  options.signal.throwIfAborted();
  options.onProgress?.({ kind: 'step', step: name });
}
