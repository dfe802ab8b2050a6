import { codeOf, GcError } from '../../platform/errors.ts';
import { AttachUnsupportedError, RuntimeUnavailableError, SessionNotFoundError } from '../errors.ts';
import { assertSessionName } from '../name-rule.ts';
import {
  type Answer,
  type AttachPlan,
  type ClosableProvider,
  type ContentBlock,
  type ContinuingProvider,
  type IdleWaitProvider,
  type InteractionProvider,
  type InteractionResponse,
  META_INSTANCE_TOKEN,
  META_START_PHASE,
  type NudgeOptions,
  type NudgeOutcome,
  type Observation,
  type ObservingProvider,
  type PendingInteraction,
  type ProviderCapabilities,
  type RuntimeEvent,
  type SleepCapability,
  type SleepCapableProvider,
  type StartOptions,
  type StartResult,
  type StopOptions,
  type Survey,
  type WatchingProvider,
} from '../provider.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import { outcomeOfError } from '../terminal/delivery.ts';
import { DEFAULT_TIMINGS } from '../terminal/options.ts';
import { RunningStarts } from '../terminal/running-starts.ts';
import { withSessionEnv } from '../terminal/start-steps.ts';
import { TerminalProvider, unlessMissing } from '../terminal/terminal-provider.ts';
import type { AcpBackend } from './acp-backend.ts';
import {
  type AcpContext,
  type AcpProviderOptions,
  DEFAULT_HANDSHAKE_TIMEOUT_MS,
  DEFAULT_NUDGE_BUSY_TIMEOUT_MS,
} from './acp-options.ts';
import { answerQuestion, cancelTurn, isIdle, readState, waitForState } from './acp-requests.ts';
import { deliverBlocks } from './delivery.ts';
import { promptBlocks } from './prompt-blocks.ts';
import { choiceFor, interactionOf, questionFor } from './questions.ts';
import { continueAcpSession, META_RESUMES, startAcpSession } from './start.ts';

/** Keys that mean "stop what you are doing"; a conversation knows no other key. */
const CANCEL_KEYS: ReadonlySet<string> = new Set(['C-c', 'Escape']);

/**
 * Agents that are spoken to in the Agent Client Protocol. The conversation lives in the session host, so that any
 * process can nudge, peek and answer, and none of them ending ends a turn. Life, text and metadata are the host's as for
 * every session in it; what differs is how an agent is started, prompted, cancelled and answered.
 */
export class AcpProvider
  implements
    ObservingProvider,
    WatchingProvider,
    IdleWaitProvider,
    InteractionProvider,
    ContinuingProvider,
    SleepCapableProvider,
    ClosableProvider
{
  readonly kind = 'acp';
  readonly #backend: AcpBackend;
  readonly #context: AcpContext;
  /** What needs no word of the protocol. */
  readonly #sessions: TerminalProvider;
  readonly #starts = new RunningStarts();
  readonly #resumable = new Set<string>();

  constructor(options: AcpProviderOptions) {
    this.#backend = options.backend;
    this.#sessions = new TerminalProvider(options);
    this.#context = {
      ...options,
      timings: DEFAULT_TIMINGS,
      handshakeTimeoutMs: positive(options.handshakeTimeoutMs, DEFAULT_HANDSHAKE_TIMEOUT_MS),
      nudgeBusyTimeoutMs: positive(options.nudgeBusyTimeoutMs, DEFAULT_NUDGE_BUSY_TIMEOUT_MS),
    };
  }

  async start(name: string, config: RuntimeConfig, options: StartOptions): Promise<StartResult> {
    assertSessionName(name);
    options.signal.throwIfAborted();
    const full = this.#withEnv(config);
    const result = await this.#starts.run(name, tokenIn(full), options, (own) =>
      startAcpSession(this.#context, name, full, own),
    );
    await this.#noteResumable(name);
    return result;
  }

  async continueStart(name: string, config: RuntimeConfig, options: StartOptions): Promise<StartResult> {
    options.signal.throwIfAborted();
    await this.#assertLiving(name);
    const token = await this.#backend.getMeta(name, META_INSTANCE_TOKEN);
    const full = this.#withEnv({ ...config, env: { ...config.env, [META_INSTANCE_TOKEN]: token } });
    const result = await this.#starts.run(name, token, options, (own) =>
      continueAcpSession(this.#context, name, full, own),
    );
    await this.#noteResumable(name);
    return result;
  }

  async stop(name: string, options: StopOptions = {}): Promise<void> {
    await this.#starts.cancel(name, options.instanceToken);
    await this.#sessions.stop(name, options);
  }

  /** Cancels the open turn. Agents of the protocol are told in it; what a signal does to them is anybody's guess. */
  async interrupt(name: string): Promise<void> {
    try {
      await unlessMissing(cancelTurn(this.#backend, name));
    } catch (error) {
      const code = codeOf(error);
      if (code !== 'agent-gone' && code !== 'agent-not-ready') throw error; // then no turn is open
    }
  }

  async isRunning(name: string): Promise<Answer> {
    return await this.#sessions.isRunning(name);
  }

  async isAttached(name: string): Promise<Answer> {
    return await this.#sessions.isAttached(name);
  }

  async attach(name: string): Promise<AttachPlan> {
    await this.#assertLiving(name);
    throw new AttachUnsupportedError(this.kind, `gc session peek ${name}, gc session logs ${name} -f`);
  }

  /** The conversation proves the agent: its program may have any name. */
  async processAlive(name: string, names: readonly string[]): Promise<Answer> {
    return names.length === 0 ? 'yes' : await this.#sessions.isRunning(name);
  }

  async nudge(
    name: string,
    content: readonly ContentBlock[],
    options: NudgeOptions = {},
  ): Promise<NudgeOutcome> {
    const signal = options.signal ?? new AbortController().signal;
    const { clock, lock, nudgeBusyTimeoutMs } = this.#context;
    const waitMs = Math.max(options.waitIdleMs ?? 0, nudgeBusyTimeoutMs);
    const askedAt = clock.monotonic();
    try {
      const found = await this.#backend.inspect(name);
      if (found.kind === 'unknown') return { kind: 'failed', detail: found.reason };
      if (found.kind === 'absent' || found.session.state.kind === 'dead') return { kind: 'no-session' };
      const blocks = await promptBlocks(content);
      if (blocks.length === 0) return { kind: 'empty' };
      const work = async (): Promise<NudgeOutcome> => {
        if ((await this.#backend.getMeta(name, META_START_PHASE)) === 'prompting') {
          return { kind: 'busy', detail: 'its start was cut off at its first prompt' };
        }
        const left = Math.max(0, waitMs - (clock.monotonic() - askedAt));
        const { beforeTyping } = options;
        return await deliverBlocks(this.#context, { name, blocks, waitMs: left, signal, beforeTyping });
      };
      return await lock(name, waitMs, work, signal);
    } catch (error) {
      signal.throwIfAborted();
      return outcomeOfError(error);
    }
  }

  async setMeta(name: string, key: string, value: string): Promise<void> {
    await this.#sessions.setMeta(name, key, value);
  }

  async getMeta(name: string, key: string): Promise<string> {
    return await this.#sessions.getMeta(name, key);
  }

  async removeMeta(name: string, key: string): Promise<void> {
    await this.#sessions.removeMeta(name, key);
  }

  async peek(name: string, lines: number): Promise<string> {
    return await this.#sessions.peek(name, lines);
  }

  async listRunning(prefix: string): Promise<readonly string[]> {
    return await this.#sessions.listRunning(prefix);
  }

  async getLastActivity(name: string): Promise<number | undefined> {
    return await this.#sessions.getLastActivity(name);
  }

  async clearScrollback(name: string): Promise<void> {
    await this.#sessions.clearScrollback(name);
  }

  async copyTo(name: string, source: string, relativeTarget: string): Promise<void> {
    await this.#sessions.copyTo(name, source, relativeTarget);
  }

  /** Ctrl-C and Escape cancel the open turn; other keys mean nothing to a conversation. */
  async sendKeys(name: string, keys: readonly string[]): Promise<void> {
    if (keys.some((key) => CANCEL_KEYS.has(key))) await this.interrupt(name);
  }

  async runLive(name: string, config: RuntimeConfig): Promise<readonly string[]> {
    return await this.#sessions.runLive(name, config);
  }

  capabilities(): ProviderCapabilities {
    return { canReportAttachment: false, canReportActivity: true };
  }

  async observe(): Promise<Survey> {
    const survey = await this.#sessions.observe();
    if (survey.kind !== 'seen') return survey;
    const sessions = new Map<string, Observation>();
    for (const [name, seen] of survey.sessions) {
      this.#remember(name, seen.meta[META_RESUMES] ?? '');
      sessions.set(name, { ...seen, processNames: undefined });
    }
    return { kind: 'seen', sessions };
  }

  watch(signal: AbortSignal): AsyncIterable<RuntimeEvent> {
    return this.#sessions.watch(signal);
  }

  async waitForIdle(name: string, timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    await this.#assertLiving(name);
    const stop = signal ?? new AbortController().signal;
    return isIdle(await waitForState(this.#backend, this.#context.clock, name, 'idle', timeoutMs, stop));
  }

  async pending(name: string): Promise<PendingInteraction | undefined> {
    if (!(await this.#lives(name))) return undefined;
    const { questions } = await readState(this.#backend, name);
    const [oldest] = questions;
    return oldest && interactionOf(oldest, questions.length - 1);
  }

  /** The first answer to a question wins. @throws GcError `already-answered`, `interaction-changed`, `unknown-action` */
  async respond(name: string, response: InteractionResponse): Promise<void> {
    if (!(await this.#lives(name))) return;
    const { questions } = await readState(this.#backend, name);
    const question = questionFor(questions, response);
    if (question) {
      const { option } = choiceFor(question, response.action);
      return await answerQuestion(this.#backend, name, question.id, option);
    }
    if (!response.request_id) return; // nothing is asked any more
    try {
      await answerQuestion(this.#backend, name, response.request_id, response.action);
    } catch (error) {
      if (codeOf(error) !== 'no-such-question') throw error;
      throw new GcError('interaction-changed', `the agent does not ask ${response.request_id} any more`, {
        next: 'gc pending',
      });
    }
  }

  sleepCapability(name: string): SleepCapability {
    return this.#resumable.has(name) ? 'full' : 'timed_only';
  }

  async close(): Promise<void> {
    await this.#sessions.close();
  }

  #withEnv(config: RuntimeConfig): RuntimeConfig {
    return withSessionEnv({ ...config, readyPromptPrefix: '' }, this.#context.ids);
  }

  async #noteResumable(name: string): Promise<void> {
    this.#remember(name, await this.#backend.getMeta(name, META_RESUMES));
  }

  #remember(name: string, resumes: string): void {
    if (resumes === 'yes') this.#resumable.add(name);
    else this.#resumable.delete(name);
  }

  async #lives(name: string): Promise<boolean> {
    const found = await this.#backend.inspect(name);
    if (found.kind === 'unknown') throw new RuntimeUnavailableError(found.reason);
    return found.kind === 'present' && found.session.state.kind === 'alive';
  }

  async #assertLiving(name: string): Promise<void> {
    if (!(await this.#lives(name))) throw new SessionNotFoundError(name);
  }
}

const tokenIn = (config: RuntimeConfig): string => config.env[META_INSTANCE_TOKEN] ?? '';

const positive = (ms: number | undefined, otherwise: number): number =>
  ms !== undefined && ms > 0 ? Math.ceil(ms) : otherwise;
