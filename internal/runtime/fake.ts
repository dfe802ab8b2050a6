import type { Clock } from '../platform/clock.ts';
import { GcError, messageOf } from '../platform/errors.ts';
import { flattenContent } from './content-blocks.ts';
import {
  DiedDuringStartupError,
  InteractionUnsupportedError,
  RuntimeUnavailableError,
  SessionExistsError,
  SessionNotFoundError,
} from './errors.ts';
import { EventStream } from './event-stream.ts';
import { FakeKnobs, type FakeSession } from './fake-knobs.ts';
import type { FakeLog, FakeMethod } from './fake-log.ts';
import { type FakeStartScript, untilOpen } from './fake-script.ts';
import { assertSessionName } from './name-rule.ts';
import {
  type Answer,
  type AttachPlan,
  type ClosableProvider,
  type ContentBlock,
  type ContinuingProvider,
  type ExitInfo,
  type IdleWaitProvider,
  type InteractionProvider,
  type InteractionResponse,
  META_INSTANCE_TOKEN,
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
} from './provider.ts';
import type { RuntimeConfig } from './runtime-config.ts';

/**
 * The public test double (`GC_SESSION=fake`): sessions in memory on a given clock, every call recorded, everything
 * scriptable. A test holds the object and turns its knobs; nothing here runs a process.
 */
export class FakeProvider
  extends FakeKnobs
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
  readonly #clock: Clock;
  readonly #events = new EventStream();
  #gone: string | undefined;

  constructor(clock: Clock, kind = 'fake') {
    super();
    this.#clock = clock;
    this.kind = kind;
  }

  // What a test does to the sessions.

  /** The agent ends by itself, now. */
  crash(name: string, exit: ExitInfo, lastLines = ''): void {
    const session = this.#living(name);
    if (!session) throw new SessionNotFoundError(name);
    session.ended = { exit, lastLines };
    this.#emit({ kind: 'exited', name, exit, lastLines });
  }

  /** The server or host goes, with all sessions; the next start brings up a new one. */
  loseInfrastructure(what: string): void {
    this.sessions.clear();
    this.meta.clear();
    this.#gone = what;
    this.#emit({ kind: 'infrastructure-gone', what });
  }

  /** A person has answered what a start waited for. */
  answerAsPerson(name: string): void {
    const session = this.#living(name);
    if (session) session.question = undefined;
  }

  setAttached(name: string, clients: number): void {
    this.attached.set(name, clients);
    this.#emit({ kind: clients > 0 ? 'attached' : 'detached', name });
  }

  // The contract.

  async start(name: string, config: RuntimeConfig, options: StartOptions): Promise<StartResult> {
    this.log.record('Start', name, { config });
    this.#assertWorks();
    assertSessionName(name);
    options.signal.throwIfAborted();
    const planned = this.startErrors.get(name);
    if (planned) throw planned;
    if (this.#living(name)) throw new SessionExistsError(name);
    const script = this.scripts.next(name);
    this.#gone = undefined;
    const session: FakeSession = {
      config,
      startedAt: this.#clock.now(),
      ended: undefined,
      question: undefined,
      messages: [],
    };
    this.sessions.set(name, session);
    this.meta.set(name, new Map(Object.entries(config.env).filter(([, value]) => value !== '')));
    this.activity.set(name, this.#clock.now());
    try {
      options.onProgress?.({ kind: 'step', step: 'readiness' });
      await this.#clock.sleep(script.delayMs ?? 0, options.signal);
      return this.#outcome(name, session, script);
    } catch (error) {
      if (this.sessions.get(name) === session) this.#remove(name);
      throw error;
    }
  }

  async continueStart(name: string, config: RuntimeConfig, options: StartOptions): Promise<StartResult> {
    this.log.record('ContinueStart', name, { config });
    this.#assertWorks();
    options.signal.throwIfAborted();
    const session = this.#living(name);
    if (!session) throw new SessionNotFoundError(name);
    if (session.question !== undefined) return waitsFor(session.question);
    if (config.nudge !== '' && !session.messages.includes(config.nudge)) session.messages.push(config.nudge);
    return READY;
  }

  async stop(name: string, options: StopOptions = {}): Promise<void> {
    this.log.record('Stop', name);
    this.#assertWorks();
    const planned = this.stopErrors.get(name);
    if (planned) throw planned;
    const token = this.meta.get(name)?.get(META_INSTANCE_TOKEN);
    if (options.instanceToken !== undefined && token && token !== options.instanceToken) return;
    this.#remove(name);
  }

  async interrupt(name: string): Promise<void> {
    this.#fallible('Interrupt', name);
  }

  async isRunning(name: string): Promise<Answer> {
    this.log.record('IsRunning', name);
    if (this.broken) return 'unknown';
    return this.#living(name) ? 'yes' : 'no';
  }

  async isAttached(name: string): Promise<Answer> {
    this.log.record('IsAttached', name);
    if (this.broken) return 'unknown';
    return this.#living(name) && (this.attached.get(name) ?? 0) > 0 ? 'yes' : 'no';
  }

  async attach(name: string): Promise<AttachPlan> {
    this.#fallible('Attach', name);
    if (!this.#living(name)) throw new SessionNotFoundError(name);
    return { kind: 'spawn', argv: ['true'], env: {}, leave: 'nothing: it returns at once' };
  }

  async processAlive(name: string, names: readonly string[]): Promise<Answer> {
    this.log.record('ProcessAlive', name);
    if (this.broken) return 'unknown';
    if (names.length === 0) return 'yes';
    return this.#living(name) && !this.zombies.has(name) ? 'yes' : 'no';
  }

  async nudge(
    name: string,
    content: readonly ContentBlock[],
    options: NudgeOptions = {},
  ): Promise<NudgeOutcome> {
    const message = flattenContent(content);
    this.log.record('Nudge', name, { message, content });
    if (this.broken) return { kind: 'failed', detail: UNAVAILABLE };
    const session = this.#living(name);
    if (!session) return { kind: 'no-session' };
    if (message === '') return { kind: 'empty' };
    const planned = this.nudgeOutcomes.get(name);
    if (planned?.kind === 'busy') return planned;
    try {
      await options.beforeTyping?.();
    } catch (error) {
      return { kind: 'failed', detail: messageOf(error) };
    }
    if (planned && planned.kind !== 'delivered') return planned;
    session.messages.push(message);
    this.touch(name);
    return planned ?? { kind: 'delivered', tookMs: 0, verified: true };
  }

  async setMeta(name: string, key: string, value: string): Promise<void> {
    this.#fallible('SetMeta', name, { key, value });
    const meta = this.meta.get(name) ?? new Map<string, string>();
    this.meta.set(name, meta.set(key, value));
  }

  async getMeta(name: string, key: string): Promise<string> {
    this.#fallible('GetMeta', name, { key });
    return this.meta.get(name)?.get(key) ?? '';
  }

  async removeMeta(name: string, key: string): Promise<void> {
    this.#fallible('RemoveMeta', name, { key });
    this.meta.get(name)?.delete(key);
  }

  async peek(name: string, lines: number): Promise<string> {
    this.#fallible('Peek', name);
    if (!this.sessions.has(name)) throw new SessionNotFoundError(name);
    const output = (this.peekOutput.get(name) ?? '').split('\n');
    return (lines > 0 ? output.slice(-lines) : output).join('\n');
  }

  async listRunning(prefix: string): Promise<readonly string[]> {
    this.log.record('ListRunning', prefix);
    this.#assertWorks();
    return [...this.sessions.keys()].filter((name) => name.startsWith(prefix)).sort();
  }

  async getLastActivity(name: string): Promise<number | undefined> {
    this.#fallible('GetLastActivity', name);
    return this.activity.get(name);
  }

  async clearScrollback(name: string): Promise<void> {
    this.#fallible('ClearScrollback', name);
  }

  async copyTo(name: string, source: string, relativeTarget: string): Promise<void> {
    this.#fallible('CopyTo', name, { src: source, dst: relativeTarget });
  }

  async sendKeys(name: string, keys: readonly string[]): Promise<void> {
    this.#fallible('SendKeys', name, { message: keys.join(' ') });
  }

  async runLive(name: string, config: RuntimeConfig): Promise<readonly string[]> {
    this.#fallible('RunLive', name, { config });
    return [];
  }

  capabilities(): ProviderCapabilities {
    return { canReportAttachment: true, canReportActivity: true };
  }

  async observe(): Promise<Survey> {
    this.log.record('Observe', '');
    if (this.broken) return { kind: 'unknown', reason: UNAVAILABLE };
    if (this.unknownSurveys > 0) {
      this.unknownSurveys -= 1;
      return { kind: 'unknown', reason: 'the survey failed' };
    }
    if (this.#gone !== undefined) return { kind: 'infrastructure-gone', what: this.#gone };
    const seen = [...this.sessions].map(
      ([name, session]) => [name, this.#observation(name, session)] as const,
    );
    return { kind: 'seen', sessions: new Map(seen) };
  }

  watch(signal: AbortSignal): AsyncIterable<RuntimeEvent> {
    return this.#events.watch(signal);
  }

  async waitForIdle(name: string, timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    this.#fallible('WaitForIdle', name);
    await untilOpen(this.waitForIdleGates.get(name), signal);
    const busyUntil = this.busyUntil.get(name);
    if (!this.waitForIdleErrors.has(name) && busyUntil === undefined) throw new InteractionUnsupportedError();
    const planned = this.waitForIdleErrors.get(name);
    if (planned) throw planned;
    const busyMs = Math.max(0, (busyUntil ?? 0) - this.#clock.monotonic());
    await this.#clock.sleep(Math.min(busyMs, timeoutMs), signal);
    return busyMs <= timeoutMs;
  }

  async pending(name: string): Promise<PendingInteraction | undefined> {
    this.#fallible('Pending', name);
    const pending = this.pendingInteractions.get(name);
    return pending && structuredClone(pending);
  }

  async respond(name: string, response: InteractionResponse): Promise<void> {
    this.#fallible('Respond', name, {
      requestId: response.request_id ?? '',
      action: response.action,
      message: response.text ?? '',
    });
    const pending = this.pendingInteractions.get(name);
    if (!pending) throw new GcError('no-pending-interaction', 'no pending interaction');
    const id = response.request_id || pending.request_id;
    if (id !== pending.request_id) {
      const message = `pending interaction "${pending.request_id}" does not match request "${id}"`;
      throw new GcError('interaction-changed', message);
    }
    this.responses.set(name, [...(this.responses.get(name) ?? []), { ...response, request_id: id }]);
    this.pendingInteractions.delete(name);
  }

  sleepCapability(_name: string): SleepCapability {
    return this.sleepCapabilityValue;
  }

  async close(): Promise<void> {
    // Sessions outlive a provider object; there is nothing else to let go.
  }

  /** The agent printed something, now. */
  touch(name: string): void {
    this.activity.set(name, this.#clock.now());
    this.#emit({ kind: 'activity', name });
  }

  #outcome(name: string, session: FakeSession, script: FakeStartScript): StartResult {
    const outcome = script.outcome ?? { kind: 'ready' };
    if (outcome.kind === 'fails') throw outcome.error;
    const died = outcome.kind === 'dies' ? outcome : session.ended;
    if (died || this.sessions.get(name) !== session) {
      throw new DiedDuringStartupError(name, session.config.command, died?.exit ?? {}, died?.lastLines ?? '');
    }
    if (outcome.kind === 'waits-for-person') {
      session.question = outcome.question;
      return waitsFor(outcome.question);
    }
    if (session.config.nudge !== '') session.messages.push(session.config.nudge);
    if (script.livesMs !== undefined) this.#endLater(name, session, script, script.livesMs);
    return READY;
  }

  #endLater(name: string, session: FakeSession, script: FakeStartScript, livesMs: number): void {
    void this.#clock.sleep(livesMs).then(() => {
      if (this.#living(name) === session) this.crash(name, script.exit ?? { code: 0 }, script.lastLines);
    });
  }

  #observation(name: string, session: FakeSession): Observation {
    const { ended } = session;
    return {
      name,
      liveness: ended ? { kind: 'exited', ...ended } : { kind: 'running', pid: undefined },
      attached: this.attached.get(name) ?? 0,
      lastActivity: this.activity.get(name),
      processNames: this.zombies.has(name) ? ['sh'] : ['sh', ...session.config.processNames],
      meta: Object.fromEntries(this.meta.get(name) ?? []),
    };
  }

  #living(name: string): FakeSession | undefined {
    const session = this.sessions.get(name);
    return session?.ended ? undefined : session;
  }

  #remove(name: string): void {
    this.sessions.delete(name);
    this.meta.delete(name);
    this.attached.delete(name);
    this.zombies.delete(name);
  }

  #emit(event: RuntimeEvent): void {
    for (const one of this.deliver(event)) this.#events.emit(one);
  }

  #fallible(method: FakeMethod, name: string, more: Parameters<FakeLog['record']>[2] = {}): void {
    this.log.record(method, name, more);
    this.#assertWorks();
  }

  #assertWorks(): void {
    if (this.broken) throw new RuntimeUnavailableError(UNAVAILABLE);
  }
}

const UNAVAILABLE = 'session unavailable';
const READY: StartResult = Object.freeze({ kind: 'ready', answered: [], warnings: [] });

function waitsFor(question: string): StartResult {
  return { kind: 'waits-for-person', question, screen: question, answered: [], warnings: [] };
}
