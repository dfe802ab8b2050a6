import { GcError, messageOf } from '../../platform/errors.ts';
import { RuntimeUnavailableError, SessionNotFoundError } from '../errors.ts';
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
  type NudgeOptions,
  type NudgeOutcome,
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
import { copyInto } from '../staging.ts';
import type { BackendSession, TerminalBackend } from './backend.ts';
import { deliver, outcomeOfError } from './delivery.ts';
import { readFacts, type SessionFacts, tokenOf } from './facts.ts';
import { waitUntilIdle } from './idle.ts';
import { pendingOn, respondTo } from './interaction.ts';
import { messageOfContent, type PutFile } from './nudge-message.ts';
import { answerOf, processAnswer, surveyOf } from './observation.ts';
import { DEFAULT_TIMINGS, type TerminalProviderOptions, type TerminalTimings } from './options.ts';
import { lastLines } from './peek.ts';
import { RunningStarts } from './running-starts.ts';
import { runAll } from './setup-commands.ts';
import { continueSession, startSession } from './start.ts';
import { runnerOf, type StartContext, withSessionEnv } from './start-steps.ts';

type WaitingNudge = NudgeOptions & Required<Pick<NudgeOptions, 'waitIdleMs' | 'signal'>>;

/**
 * The provider over any back end with terminals (tmux, the session host): start, readiness, dialogs, nudge, idle,
 * permission questions and live re-apply are one algorithm here.
 */
export class TerminalProvider
  implements
    ObservingProvider,
    WatchingProvider,
    IdleWaitProvider,
    InteractionProvider,
    ContinuingProvider,
    SleepCapableProvider,
    ClosableProvider
{
  readonly kind: string;
  readonly #backend: TerminalBackend;
  readonly #options: TerminalProviderOptions;
  readonly #timings: TerminalTimings;
  readonly #starts = new RunningStarts();

  constructor(options: TerminalProviderOptions) {
    this.kind = options.backend.kind;
    this.#backend = options.backend;
    this.#options = options;
    this.#timings = { ...DEFAULT_TIMINGS, ...options.timings };
  }

  async start(name: string, config: RuntimeConfig, options: StartOptions): Promise<StartResult> {
    assertSessionName(name);
    options.signal.throwIfAborted();
    const full = withSessionEnv(config, this.#options.ids);
    return await this.#starts.run(name, tokenIn(full), options, (own) =>
      startSession(this.#context(), name, full, own),
    );
  }

  async continueStart(name: string, config: RuntimeConfig, options: StartOptions): Promise<StartResult> {
    options.signal.throwIfAborted();
    const session = await this.#livingSession(name);
    const token = await tokenOf(this.#backend, session);
    const full = withSessionEnv(
      { ...config, env: { ...config.env, GC_INSTANCE_TOKEN: token } },
      this.#options.ids,
    );
    return await this.#starts.run(name, tokenIn(full), options, (own) =>
      continueSession(this.#context(), name, full, own),
    );
  }

  async stop(name: string, options: StopOptions = {}): Promise<void> {
    const { instanceToken } = options;
    await this.#starts.cancel(name, instanceToken);
    const inspection = await this.#backend.inspect(name);
    if (inspection.kind === 'absent') return;
    if (instanceToken !== undefined) {
      if (inspection.kind === 'unknown') throw new RuntimeUnavailableError(inspection.reason);
      const current = await tokenOf(this.#backend, inspection.session);
      if (current !== '' && current !== instanceToken) return;
    }
    await this.#backend.kill(name, options.graceMs ?? this.#timings.stopGraceMs);
  }

  async interrupt(name: string): Promise<void> {
    await unlessMissing(this.#backend.interrupt(name));
  }

  async isRunning(name: string): Promise<Answer> {
    return answerOf(await this.#backend.inspect(name), () => 'yes');
  }

  async isAttached(name: string): Promise<Answer> {
    return answerOf(await this.#backend.inspect(name), (session) => (session.attached > 0 ? 'yes' : 'no'));
  }

  async attach(name: string): Promise<AttachPlan> {
    return await this.#backend.attach(name);
  }

  async processAlive(name: string, names: readonly string[]): Promise<Answer> {
    if (names.length === 0) return 'yes';
    return answerOf(await this.#backend.inspect(name), (session) => processAnswer(session, names));
  }

  async nudge(
    name: string,
    content: readonly ContentBlock[],
    options: NudgeOptions = {},
  ): Promise<NudgeOutcome> {
    const signal = options.signal ?? new AbortController().signal;
    const waitIdleMs = options.waitIdleMs ?? 0;
    try {
      const found = await this.#backend.inspect(name);
      if (found.kind === 'unknown') return { kind: 'failed', detail: found.reason };
      if (found.kind === 'absent' || found.session.state.kind === 'dead') return { kind: 'no-session' };
      const facts = await readFacts(this.#backend, found.session);
      const text = await messageOfContent(content, this.#putInto(name, facts.workDir, signal));
      if (text === '') return { kind: 'empty' };
      const work = () => this.#deliverWhenIdle(name, facts, text, { ...options, waitIdleMs, signal });
      return await this.#options.lock(name, this.#timings.lockTimeoutMs + waitIdleMs, work, signal);
    } catch (error) {
      signal.throwIfAborted();
      return outcomeOfError(error);
    }
  }

  async setMeta(name: string, key: string, value: string): Promise<void> {
    await this.#backend.setMeta(name, key, value);
  }

  async getMeta(name: string, key: string): Promise<string> {
    return await this.#backend.getMeta(name, key);
  }

  async removeMeta(name: string, key: string): Promise<void> {
    await this.#backend.removeMeta(name, key);
  }

  async peek(name: string, lines: number): Promise<string> {
    return await lastLines(this.#backend, name, lines);
  }

  async listRunning(prefix: string): Promise<readonly string[]> {
    const inspection = await this.#backend.inspectAll();
    if (inspection.kind === 'unknown') throw new RuntimeUnavailableError(inspection.reason);
    if (inspection.kind === 'infrastructure-gone') return [];
    return [...inspection.sessions.keys()].filter((name) => name.startsWith(prefix)).sort();
  }

  async getLastActivity(name: string): Promise<number | undefined> {
    const inspection = await this.#backend.inspect(name);
    return inspection.kind === 'present' ? inspection.session.lastActivity : undefined;
  }

  async clearScrollback(name: string): Promise<void> {
    await unlessMissing(this.#backend.clearScrollback(name));
  }

  async copyTo(name: string, source: string, relativeTarget: string): Promise<void> {
    const { elsewhere } = this.#backend;
    if (elsewhere) return await elsewhere.copyTo(name, source, relativeTarget, new AbortController().signal);
    const workDir = await this.#backend.getMeta(name, 'GC_DIR');
    if (workDir === '') return;
    const failure = await copyInto(workDir, source, relativeTarget, new AbortController().signal);
    if (failure !== undefined)
      throw new GcError('copy-failed', `copying ${source} to session "${name}": ${failure}`);
  }

  async sendKeys(name: string, keys: readonly string[]): Promise<void> {
    await unlessMissing(this.#backend.sendKeys(name, keys));
  }

  async runLive(name: string, config: RuntimeConfig): Promise<readonly string[]> {
    const full = withSessionEnv(config, this.#options.ids);
    const runner = runnerOf(this.#options, name, new AbortController().signal);
    return await runAll(runner, name, full, 'session_live', config.sessionLive);
  }

  capabilities(): ProviderCapabilities {
    return { canReportAttachment: true, canReportActivity: true };
  }

  async observe(): Promise<Survey> {
    return surveyOf(await this.#backend.inspectAll());
  }

  watch(signal: AbortSignal): AsyncIterable<RuntimeEvent> {
    return this.#backend.watch(signal);
  }

  async waitForIdle(name: string, timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    const facts = await readFacts(this.#backend, await this.#livingSession(name));
    const stop = signal ?? new AbortController().signal;
    const { backend, clock } = this.#options;
    return (await waitUntilIdle(backend, clock, name, facts, timeoutMs, stop)).kind === 'idle';
  }

  async pending(name: string): Promise<PendingInteraction | undefined> {
    const facts = await this.#factsIfLiving(name);
    return facts && (await pendingOn(this.#backend, name, facts));
  }

  async respond(name: string, response: InteractionResponse): Promise<void> {
    const facts = await this.#factsIfLiving(name);
    if (facts) await respondTo(this.#backend, this.#options.clock, name, facts, response, this.#timings);
  }

  sleepCapability(_name: string): SleepCapability {
    return 'full';
  }

  async close(): Promise<void> {
    await this.#backend.close();
  }

  /** Brings a file into the session's work dir, wherever that is. */
  #putInto(name: string, workDir: string, signal: AbortSignal): PutFile {
    const { elsewhere } = this.#backend;
    if (elsewhere) {
      return (path, base) => elsewhere.copyTo(name, path, base, signal).then(() => undefined, messageOf);
    }
    if (workDir === '') return async () => 'the work dir of the session is unknown';
    return (path, base) => copyInto(workDir, path, base, signal);
  }

  async #deliverWhenIdle(
    name: string,
    facts: SessionFacts,
    text: string,
    { waitIdleMs, signal, beforeTyping }: WaitingNudge,
  ): Promise<NudgeOutcome> {
    const { backend, clock } = this.#options;
    if (waitIdleMs > 0) {
      const idle = await waitUntilIdle(backend, clock, name, facts, waitIdleMs, signal);
      if (idle.kind === 'timeout') return { kind: 'busy', detail: idle.why };
    }
    const context = { backend, clock, timings: this.#timings, name, ...facts, signal, beforeTyping };
    return await deliver(context, text);
  }

  async #livingSession(name: string): Promise<BackendSession> {
    const inspection = await this.#backend.inspect(name);
    if (inspection.kind === 'unknown') throw new RuntimeUnavailableError(inspection.reason);
    if (inspection.kind === 'absent' || inspection.session.state.kind === 'dead')
      throw new SessionNotFoundError(name);
    return inspection.session;
  }

  async #factsIfLiving(name: string): Promise<SessionFacts | undefined> {
    const inspection = await this.#backend.inspect(name);
    if (inspection.kind === 'unknown') throw new RuntimeUnavailableError(inspection.reason);
    if (inspection.kind === 'absent' || inspection.session.state.kind === 'dead') return undefined;
    return await readFacts(this.#backend, inspection.session);
  }

  #context(): StartContext {
    return { ...this.#options, timings: this.#timings };
  }
}

const tokenIn = (config: RuntimeConfig): string => config.env[META_INSTANCE_TOKEN] ?? '';

/** A missing session is fine. */
export async function unlessMissing(act: Promise<void>): Promise<void> {
  try {
    await act;
  } catch (error) {
    if (!(error instanceof SessionNotFoundError)) throw error;
  }
}
