import type { Clock } from '../../platform/clock.ts';
import type { Ids } from '../../platform/ids.ts';
import {
  RuntimeUnavailableError,
  SessionExistsError,
  SessionInitializingError,
  StartFailedError,
} from '../errors.ts';
import { profileOf } from '../profiles.ts';
import {
  META_INSTANCE_TOKEN,
  META_START_PHASE,
  type StartOptions,
  type StartResult,
  type StartStep,
} from '../provider.ts';
import type { RunShell } from '../run-shell.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import { tailOf } from '../screen.ts';
import { stageFiles } from '../staging.ts';
import type { BackendSession, TerminalBackend } from './backend.ts';
import { ASKS, CAME_UP, deliver } from './delivery.ts';
import { hasProcess, look, tokenOf } from './facts.ts';
import { type PreparedLaunch, prepareLaunch } from './launch.ts';
import type { TerminalTimings } from './options.ts';
import type { SessionLock } from './session-lock.ts';
import { runAll, runScript, runUntilFailure, type SetupRunner } from './setup-commands.ts';
import { diedError } from './start-errors.ts';
import { startupMemory, type WatchedStart, watchUntilReady } from './startup-watch.ts';

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

const TOKEN_BYTES = 16;
const SERVER_RETRY_MS = 50;
const QUESTION_TAIL_LINES = 30;
/** Between a prompt that is too long for an argument and the configured nudge. */
const PROMPT_SEPARATOR = '\n\n---\n\n';

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

/** The whole start, see `Provider.start`. `given` went through `withSessionEnv`. */
export async function startSession(
  context: StartContext,
  name: string,
  given: RuntimeConfig,
  options: StartOptions,
): Promise<StartResult> {
  const { signal } = options;
  await refuseLiving(context.backend, name, given);
  const { prepared, warnings: stagingWarnings } = await prepare(context, name, given, options);
  const config = withTypedPrompt(given, prepared.typedPrompt);
  return await context.lock(
    name,
    context.timings.lockTimeoutMs,
    () => createAndFinish(context, name, config, prepared, stagingWarnings, options),
    signal,
  );
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

/** Goes on with a session that exists already, see `ContinuingProvider.continueStart`. */
export async function continueSession(
  context: StartContext,
  name: string,
  config: RuntimeConfig,
  options: StartOptions,
): Promise<StartResult> {
  const phase = await context.backend.getMeta(name, META_START_PHASE);
  if (phase === 'ready') return { kind: 'ready', answered: [], warnings: [] };
  if (phase === 'prompting') {
    throw new StartFailedError(
      'prompt-uncertain',
      `the start of session "${name}" was cut off while its prompt was typed; it has to be started anew`,
    );
  }
  const rest = phase === 'prompted' ? { ...config, nudge: '' } : config;
  return await context.lock(
    name,
    context.timings.lockTimeoutMs,
    () => finish(context, name, rest, [], options),
    options.signal,
  );
}

async function createAndFinish(
  context: StartContext,
  name: string,
  config: RuntimeConfig,
  prepared: PreparedLaunch,
  warnings: readonly string[],
  options: StartOptions,
): Promise<StartResult> {
  const { backend } = context;
  let created = false;
  try {
    step(options, 'creating');
    const recycled = await makeRoom(context, name, config);
    options.signal.throwIfAborted();
    await create(context, name, prepared, recycled, options.signal);
    created = true;
    await backend.setMeta(name, META_START_PHASE, 'created');
    return await finish(context, name, config, warnings, options);
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
export async function makeRoom(
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

async function create(
  context: StartContext,
  name: string,
  prepared: PreparedLaunch,
  recycled: boolean,
  signal: AbortSignal,
): Promise<void> {
  try {
    await context.backend.create(name, prepared.launch, signal);
  } catch (error) {
    // Ending the last session may have ended the server a moment ago.
    if (!recycled || !(error instanceof RuntimeUnavailableError)) throw error;
    await context.clock.sleep(SERVER_RETRY_MS, signal);
    await context.backend.create(name, prepared.launch, signal);
  }
}

/** Everything after creation. A late question sends it back to waiting, not to what was done already. */
async function finish(
  context: StartContext,
  name: string,
  config: RuntimeConfig,
  firstWarnings: readonly string[],
  options: StartOptions,
): Promise<StartResult> {
  const runner = runnerOf(context, name, options.signal);
  const beganAtMs = context.clock.monotonic();
  const watched: WatchedStart = { ...context, name, config, options, beganAtMs, memory: startupMemory() };
  const { answered } = watched.memory;
  const warnings = [...firstWarnings];
  const waitsFor = (question: string, screen: string): StartResult => ({
    kind: 'waits-for-person',
    question,
    screen,
    answered,
    warnings,
  });
  step(options, 'readiness');
  const ready = await watchUntilReady(watched, 'ready');
  if (ready.kind === 'question') return waitsFor(ready.text, ready.screen);

  if (config.sessionSetup.length > 0 || config.sessionSetupScript !== '') step(options, 'session_setup');
  warnings.push(...(await runAll(runner, name, config, 'session_setup', config.sessionSetup)));
  warnings.push(...(await runScript(runner, name, config)));
  if (config.nudge !== '') step(options, 'prompt');
  const asked = config.nudge === '' ? undefined : await deliverPrompt(watched);
  if (asked !== undefined) {
    const screen = tailOf(await look(context.backend, name), QUESTION_TAIL_LINES);
    return waitsFor(asked, screen);
  }
  // A question may come up after the first prompt was shown.
  const late = await watchUntilReady(watched, 'no-question');
  if (late.kind === 'question') return waitsFor(late.text, late.screen);

  if (config.sessionLive.length > 0) step(options, 'session_live');
  warnings.push(...(await runAll(runner, name, config, 'session_live', config.sessionLive)));
  options.signal.throwIfAborted();
  await context.backend.setMeta(name, META_START_PHASE, 'ready');
  return { kind: 'ready', answered, warnings };
}

/**
 * Types the prompt; while something is in its way, known questions are answered and it is tried again.
 * Answers the question that only a person can answer, `undefined` when the prompt was delivered.
 * @throws StartFailedError when it cannot be delivered.
 */
async function deliverPrompt(watched: WatchedStart): Promise<string | undefined> {
  const { backend, clock, name, config, options, timings } = watched;
  const startedAt = clock.monotonic();
  const target = { profile: profileOf(config.providerName), prefix: config.readyPromptPrefix };
  for (;;) {
    await backend.setMeta(name, META_START_PHASE, 'prompting');
    const outcome = await deliver({ ...watched, ...target, signal: options.signal }, config.nudge);
    if (outcome.kind === 'delivered') {
      await backend.setMeta(name, META_START_PHASE, 'prompted');
      return undefined;
    }
    await throwIfDead(watched);
    const detail = 'detail' in outcome ? outcome.detail : outcome.kind;
    const again = outcome.kind === 'busy' || detail.startsWith(CAME_UP);
    const waitedMs = clock.monotonic() - startedAt;
    if (!again || waitedMs >= timings.readyTimeoutMs) {
      const message = `the prompt of session "${name}" was not delivered: ${detail}`;
      throw new StartFailedError('prompt-undelivered', message);
    }
    await backend.setMeta(name, META_START_PHASE, 'created');
    const late = await watchUntilReady(watched, 'no-question');
    if (late.kind === 'question') return late.text;
    if (detail.startsWith(ASKS) && waitedMs >= timings.questionSettleMs) return detail.slice(ASKS.length);
    await clock.sleep(backend.pollMs, options.signal);
  }
}

async function throwIfDead(watched: WatchedStart): Promise<void> {
  const inspection = await watched.backend.inspect(watched.name);
  const dead =
    inspection.kind === 'absent' ||
    (inspection.kind === 'present' && inspection.session.state.kind === 'dead');
  if (!dead) return;
  const state = inspection.kind === 'present' ? inspection.session.state : undefined;
  throw diedError(watched.name, watched.config, state?.kind === 'dead' ? state : undefined, undefined);
}

/** Removes the session of a failed start, if it still is the one that this start created. Best effort. */
export async function cleanUp(
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

export function step(options: StartOptions, name: StartStep): void {
  options.signal.throwIfAborted();
  options.onProgress?.({ kind: 'step', step: name });
}
