import { RuntimeUnavailableError, StartFailedError } from '../errors.ts';
import { profileOf } from '../profiles.ts';
import { META_START_PHASE, type StartOptions, type StartResult } from '../provider.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import { tailOf } from '../screen.ts';
import { ASKS, CAME_UP, deliver } from './delivery.ts';
import { look } from './facts.ts';
import type { PreparedLaunch } from './launch.ts';
import { diedError } from './start-errors.ts';
import {
  createAndFinish,
  goLive,
  prepare,
  refuseLiving,
  runnerOf,
  type StartContext,
  setUp,
  step,
  withTypedPrompt,
} from './start-steps.ts';
import { startupMemory, type WatchedStart, watchUntilReady } from './startup-watch.ts';

const SERVER_RETRY_MS = 50;
const QUESTION_TAIL_LINES = 30;

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
    () =>
      createAndFinish(context, {
        name,
        config,
        prepared,
        options,
        create: (recycled) => create(context, name, prepared, recycled, signal),
        finish: () => finish(context, name, config, stagingWarnings, options),
      }),
    signal,
  );
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

  warnings.push(...(await setUp(runner, name, config, options)));
  if (config.nudge !== '') step(options, 'prompt');
  const asked = config.nudge === '' ? undefined : await deliverPrompt(watched);
  if (asked !== undefined) {
    const screen = tailOf(await look(context.backend, name), QUESTION_TAIL_LINES);
    return waitsFor(asked, screen);
  }
  // A question may come up after the first prompt was shown.
  const late = await watchUntilReady(watched, 'no-question');
  if (late.kind === 'question') return waitsFor(late.text, late.screen);

  warnings.push(...(await goLive(context.backend, runner, name, config, options)));
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
