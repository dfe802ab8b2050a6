import { messageOf } from '../../platform/errors.ts';
import { StartFailedError } from '../errors.ts';
import type { WireAcpState } from '../host/protocol.ts';
import { META_CONVERSATION, META_START_PHASE, type StartOptions, type StartResult } from '../provider.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import { type PreparedLaunch, unquoteShell } from '../terminal/launch.ts';
import { diedError } from '../terminal/start-errors.ts';
import {
  createAndFinish,
  goLive,
  prepare,
  refuseLiving,
  runnerOf,
  setUp,
  step,
  withTypedPrompt,
} from '../terminal/start-steps.ts';
import type { AcpContext } from './acp-options.ts';
import { readState, waitForState } from './acp-requests.ts';
import { deliverBlocks } from './delivery.ts';
import { promptBlocks } from './prompt-blocks.ts';
import { deathSoon, handshakeError } from './start-failure.ts';

/** Metadata key: `yes` when the agent can go on with an earlier conversation. */
export const META_RESUMES = 'GC_ACP_RESUMES';

/** The host itself ends a handshake in time; this is for the way to it and back. */
const HANDSHAKE_EXTRA_MS = 2_000;
/** A prompt of a controller that was killed may still be on its way to the host. */
const IN_FLIGHT_MS = 500;

/** The whole start, see `Provider.start`. `given` went through `withSessionEnv`. */
export async function startAcpSession(
  context: AcpContext,
  name: string,
  given: RuntimeConfig,
  options: StartOptions,
): Promise<StartResult> {
  if (given.command.trim() === '') {
    throw new StartFailedError('command-missing', 'acp provider requires a command', {
      next: 'name a program that speaks the Agent Client Protocol: opencode acp, gemini --experimental-acp ...',
    });
  }
  const config = forProtocol(given);
  await refuseLiving(context.backend, name, config);
  const launched = { ...config, promptSuffix: '', promptFlag: '' };
  const { prepared, warnings } = await prepare(context, name, launched, options);
  return await context.lock(
    name,
    context.timings.lockTimeoutMs,
    () =>
      createAndFinish(context, {
        name,
        config,
        prepared,
        options,
        create: () => open(context, name, config, prepared, options.signal),
        finish: () => finish(context, name, config, false, warnings, options),
      }),
    options.signal,
  );
}

/** Goes on with a session that exists already, see `ContinuingProvider.continueStart`. */
export async function continueAcpSession(
  context: AcpContext,
  name: string,
  given: RuntimeConfig,
  options: StartOptions,
): Promise<StartResult> {
  const { backend, lock, timings } = context;
  const config = forProtocol(given);
  const goOn = async (): Promise<StartResult> => {
    const phase = await backend.getMeta(name, META_START_PHASE);
    if (phase === 'ready') return { kind: 'ready', answered: [], warnings: [] };
    const prompted = phase === 'prompted' || (phase === 'prompting' && (await wasPrompted(context, name)));
    return await finish(context, name, config, prompted, [], options);
  };
  return await lock(name, timings.lockTimeoutMs, goOn, options.signal);
}

/** The protocol tells when the agent is ready, and proves what it is: neither its prompt nor its name is looked for. */
const forProtocol = (config: RuntimeConfig): RuntimeConfig => ({ ...config, pty: false, processNames: [] });

/** The host counts prompts: whether the one of a start that was cut off went out is known. */
async function wasPrompted(context: AcpContext, name: string): Promise<boolean> {
  const { backend, clock } = context;
  if ((await readState(backend, name)).turn > 0) return true;
  await clock.sleep(IN_FLIGHT_MS);
  return (await readState(backend, name)).turn > 0;
}

async function open(
  { backend, clientVersion, handshakeTimeoutMs: handshakeMs }: AcpContext,
  name: string,
  { conversation }: RuntimeConfig,
  { launch }: PreparedLaunch,
  signal: AbortSignal,
): Promise<void> {
  const { argv, cwd, env, columns, rows } = launch;
  const acp = { conversation, handshakeMs, clientVersion };
  await backend.open(name, { argv, cwd, env, pty: false, columns, rows, acp }, signal);
}

/** Everything after creation: the open conversation is what readiness means here. */
async function finish(
  context: AcpContext,
  name: string,
  config: RuntimeConfig,
  prompted: boolean,
  firstWarnings: readonly string[],
  options: StartOptions,
): Promise<StartResult> {
  const { backend } = context;
  const runner = runnerOf(context, name, options.signal);
  const warnings = [...firstWarnings];
  step(options, 'readiness');
  const state = await openConversation(context, name, config, options);
  await backend.setMeta(name, META_CONVERSATION, state.conversation);
  if (state.resumes) await backend.setMeta(name, META_RESUMES, 'yes');

  warnings.push(...(await setUp(runner, name, config, options)));
  const prompt = withTypedPrompt(config, unquoteShell(config.promptSuffix)).nudge;
  if (!prompted && prompt !== '') {
    step(options, 'prompt');
    await givePrompt(context, name, config, prompt, options.signal);
  }

  warnings.push(...(await goLive(backend, runner, name, config, options)));
  return { kind: 'ready', answered: [], warnings };
}

async function openConversation(
  context: AcpContext,
  name: string,
  config: RuntimeConfig,
  options: StartOptions,
): Promise<WireAcpState> {
  const { backend, clock, handshakeTimeoutMs } = context;
  options.onProgress?.({ kind: 'waiting', what: 'its conversation to open' });
  const limitMs = handshakeTimeoutMs + HANDSHAKE_EXTRA_MS;
  const state = await waitForState(backend, clock, name, 'ready', limitMs, options.signal);
  if (state.phase === 'ready') return state;
  throw await handshakeError(backend, clock, name, config, state);
}

async function givePrompt(
  context: AcpContext,
  name: string,
  config: RuntimeConfig,
  prompt: string,
  signal: AbortSignal,
): Promise<void> {
  const { backend, clock, nudgeBusyTimeoutMs } = context;
  const blocks = await promptBlocks([{ type: 'text', text: prompt }]);
  const announce = () => backend.setMeta(name, META_START_PHASE, 'prompting');
  const waitMs = nudgeBusyTimeoutMs;
  const outcome = await deliverBlocks(context, {
    name,
    blocks,
    waitMs,
    signal,
    beforeTyping: announce,
  }).catch((error: unknown) => {
    signal.throwIfAborted();
    return { kind: 'failed', detail: messageOf(error) } as const;
  });
  if (outcome.kind === 'delivered') {
    await backend.setMeta(name, META_START_PHASE, 'prompted');
    return;
  }
  if (outcome.kind === 'no-session')
    throw diedError(name, config, await deathSoon(backend, clock, name), undefined);
  const detail = 'detail' in outcome ? outcome.detail : outcome.kind;
  throw new StartFailedError(
    'prompt-undelivered',
    `the prompt of session "${name}" was not delivered: ${detail}`,
  );
}
