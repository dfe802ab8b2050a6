import { GcError, messageOf } from '../../../platform/errors.ts';
import { flattenContent } from '../../../runtime/content-blocks.ts';
import {
  DiedDuringStartupError,
  RuntimeUnavailableError,
  SessionExistsError,
  SessionNotFoundError,
} from '../../../runtime/errors.ts';
import type {
  Answer,
  AttachPlan,
  ClosableProvider,
  ContentBlock,
  ContinuingProvider,
  IdleWaitProvider,
  InteractionProvider,
  InteractionResponse,
  NudgeOptions,
  NudgeOutcome,
  ObservingProvider,
  PendingInteraction,
  ProviderCapabilities,
  RuntimeEvent,
  SleepCapability,
  SleepCapableProvider,
  StartOptions,
  StartResult,
  StopOptions,
  Survey,
  WatchingProvider,
} from '../../../runtime/provider.ts';
import type { RuntimeConfig } from '../../../runtime/runtime-config.ts';
import type { CallFate, Weather } from './faults.ts';
import { type Life, LifeClock, never } from './life.ts';
import type { SimClock } from './sim-clock.ts';
import type { AgentLife, SimRuntime } from './sim-runtime.ts';

/** What one process has been told of a session by one look. */
export type Told = 'running' | 'exited' | 'absent' | 'unknown';

export interface Look {
  /** How long slow calls of the process took before it, milliseconds. */
  readonly slowMs: number;
  /** Monotonic. */
  readonly began: number;
  readonly ended: number;
  of(name: string): Told;
}

/** Told of everything before it takes effect. */
export interface ProviderWitness {
  starts(view: SimProvider, name: string, config: RuntimeConfig): void;
  stops(view: SimProvider, name: string, life: AgentLife, options: StopOptions): void;
  responds(view: SimProvider, life: AgentLife, requestId: string): void;
}

export interface SimProviderOptions {
  readonly runtime: SimRuntime;
  readonly clock: SimClock;
  readonly life: Life;
  readonly weather: Weather;
  readonly witness: ProviderWitness;
  readonly note: (what: string) => void;
  readonly kill: () => void;
}

const POLL_MS = 500;
const READY: StartResult = { kind: 'ready', answered: [], warnings: [] };

/** How one process of ours sees and touches the runtime: its calls can go wrong in every way, and end with it. */
export class SimProvider
  implements
    ObservingProvider,
    WatchingProvider,
    IdleWaitProvider,
    InteractionProvider,
    ContinuingProvider,
    SleepCapableProvider,
    ClosableProvider
{
  readonly kind = 'fake';
  readonly #o: SimProviderOptions;
  readonly #clock: LifeClock;
  readonly looks: Look[] = [];
  /** Monotonic times of the last effect of this process, by session name. */
  readonly effects = new Map<string, number>();
  /** Tokens of the lives that this process began to start. */
  readonly ownStarts = new Set<string>();
  /** How long slow calls took so far, milliseconds: what is decided before one may be carried out after it. */
  slowMs = 0;
  /** Calls so far but looks, by method: what a quiet city does not make. */
  readonly calls = new Map<string, number>();

  constructor(options: SimProviderOptions) {
    this.#o = options;
    this.#clock = new LifeClock(options.clock, options.life);
  }

  get process(): Life {
    return this.#o.life;
  }

  async start(name: string, config: RuntimeConfig, options: StartOptions): Promise<StartResult> {
    return this.#call('start', name, async () => {
      const { runtime, witness, weather } = this.#o;
      options.signal.throwIfAborted();
      witness.starts(this, name, config);
      if (runtime.living(name)) throw new SessionExistsError(name);
      const life = runtime.create(name, config);
      this.ownStarts.add(life.token);
      this.effects.set(name, this.#o.clock.monotonic());
      options.onProgress?.({ kind: 'step', step: 'readiness' });
      const fate = weather.ofStart();
      try {
        await this.#clock.sleep(fate.delayMs, options.signal);
        if (fate.how === 'never') await this.#clock.sleep(1e9, options.signal);
        if (fate.how === 'dies') runtime.ends(life, { code: 1 }, 'cannot start');
        if (fate.how === 'limit')
          runtime.ends(life, { code: 1 }, "You've hit your usage limit. Try again in 5 minutes.");
        if (fate.how === 'asks') life.question = 'do you trust this folder?';
        return this.#comesUp(life, options);
      } catch (error) {
        // Mostly what is given up is cleared away; not always, and then it is found later.
        if (!life.ended && !weather.dice.chance(0.2)) runtime.remove(life);
        throw error;
      }
    });
  }

  async continueStart(name: string, _config: RuntimeConfig, options: StartOptions): Promise<StartResult> {
    return this.#call('continueStart', name, async () => {
      const life = this.#living(name);
      await this.#clock.sleep(this.#o.weather.dice.int(100, 1_000), options.signal);
      return this.#comesUp(life, options);
    });
  }

  #comesUp(life: AgentLife, options: StartOptions): StartResult {
    const { runtime } = this.#o;
    options.signal.throwIfAborted();
    const { ended, config, question } = life;
    if (ended || runtime.sessions.get(life.name) !== life) {
      throw new DiedDuringStartupError(life.name, config.command, ended?.exit ?? {}, ended?.lastLines ?? '');
    }
    if (question !== undefined) {
      return { kind: 'waits-for-person', question, screen: question, answered: [], warnings: [] };
    }
    if (config.nudge !== '' && !life.prompted) runtime.tell(life, config.nudge);
    life.prompted = true;
    life.ready = true;
    return READY;
  }

  stop(name: string, options: StopOptions = {}): Promise<void> {
    return this.#call('stop', name, async () => {
      const { runtime, witness } = this.#o;
      const life = runtime.sessions.get(name);
      const isOther = options.instanceToken !== undefined && life && life.token !== options.instanceToken;
      if (!life || isOther) return;
      if (!life.ended) witness.stops(this, name, life, options);
      runtime.remove(life);
      this.effects.set(name, this.#o.clock.monotonic());
    });
  }

  interrupt(name: string): Promise<void> {
    return this.#call('interrupt', name, async () => {
      const life = this.#o.runtime.living(name);
      if (!life) return;
      if (life.busyUntil !== Number.POSITIVE_INFINITY) life.busyUntil = 0;
      if (this.#o.weather.dice.chance(0.3)) this.#o.runtime.ends(life, { signal: 'SIGINT' });
    });
  }

  async isRunning(name: string): Promise<Answer> {
    await this.#o.life.goesOn();
    if (this.#o.weather.isBlind()) return 'unknown';
    return this.#o.runtime.living(name) ? 'yes' : 'no';
  }

  async isAttached(name: string): Promise<Answer> {
    await this.#o.life.goesOn();
    if (this.#o.weather.isBlind()) return 'unknown';
    return (this.#o.runtime.living(name)?.attached ?? 0) > 0 ? 'yes' : 'no';
  }

  async processAlive(name: string): Promise<Answer> {
    await this.#o.life.goesOn();
    if (this.#o.weather.isBlind()) return 'unknown';
    return this.#o.runtime.living(name)?.empty === false ? 'yes' : 'no';
  }

  attach(name: string): Promise<AttachPlan> {
    return this.#call('attach', name, async () => {
      this.#living(name);
      return { kind: 'spawn', argv: ['true'], env: {}, leave: 'nothing' };
    });
  }

  async nudge(
    name: string,
    content: readonly ContentBlock[],
    options: NudgeOptions = {},
  ): Promise<NudgeOutcome> {
    try {
      return await this.#call('nudge', name, () => this.#nudge(name, flattenContent(content), options));
    } catch (error) {
      return { kind: 'failed', detail: messageOf(error) };
    }
  }

  async #nudge(name: string, text: string, options: NudgeOptions): Promise<NudgeOutcome> {
    const { runtime, weather } = this.#o;
    const life = runtime.living(name);
    if (!life) return { kind: 'no-session' };
    if (text === '') return { kind: 'empty' };
    const limit = this.#clock.monotonic() + (options.waitIdleMs ?? 0);
    while (runtime.isBusy(life)) {
      if (this.#clock.monotonic() >= limit) return { kind: 'busy', detail: 'it is at work' };
      await this.#clock.sleep(Math.min(POLL_MS, limit - this.#clock.monotonic()), options.signal);
    }
    if (life.draft !== '' && life.draft !== text) {
      return { kind: 'busy', detail: 'somebody writes in its input box' };
    }
    try {
      await options.beforeTyping?.();
    } catch (error) {
      return { kind: 'failed', detail: messageOf(error) };
    }
    await this.#o.life.goesOn();
    if (runtime.living(name) !== life) return { kind: 'no-session' };
    const { climate, dice } = weather;
    if (dice.chance(climate.death * 4)) return this.#dies();
    if (dice.chance(climate.call)) {
      life.draft = text;
      return { kind: 'unsubmitted', detail: 'it was not taken' };
    }
    runtime.tell(life, text);
    if (dice.chance(climate.death * 4)) return this.#dies();
    return { kind: 'delivered', tookMs: 0, verified: !dice.chance(climate.call) };
  }

  setMeta(name: string, key: string, value: string): Promise<void> {
    return this.#call('setMeta', `${name} ${key}=${value}`, async () => {
      this.#o.runtime.living(name)?.meta.set(key, value);
    });
  }

  getMeta(name: string, key: string): Promise<string> {
    return this.#call(
      'getMeta',
      `${name} ${key}`,
      async () => this.#o.runtime.living(name)?.meta.get(key) ?? '',
    );
  }

  removeMeta(name: string, key: string): Promise<void> {
    return this.#call('removeMeta', `${name} ${key}`, async () => {
      this.#o.runtime.living(name)?.meta.delete(key);
    });
  }

  peek(name: string, lines: number): Promise<string> {
    return this.#call('peek', name, async () => {
      const life = this.#o.runtime.sessions.get(name);
      if (!life) throw new SessionNotFoundError(name);
      if (life.ended) return life.ended.lastLines;
      const screen = this.#o.runtime.screenOf(life).split('\n');
      return (lines > 0 ? screen.slice(-lines) : screen).join('\n');
    });
  }

  listRunning(prefix: string): Promise<readonly string[]> {
    return this.#call('listRunning', prefix, async () =>
      [...this.#o.runtime.sessions.keys()].filter((name) => name.startsWith(prefix)).sort(),
    );
  }

  getLastActivity(name: string): Promise<number | undefined> {
    return this.#call('getLastActivity', name, async () => this.#o.runtime.living(name)?.lastActivity);
  }

  clearScrollback(name: string): Promise<void> {
    return this.#call('clearScrollback', name, async () => {
      this.#o.runtime.living(name)?.screen.splice(0);
    });
  }

  copyTo(name: string): Promise<void> {
    return this.#call('copyTo', name, async () => undefined);
  }

  sendKeys(name: string, keys: readonly string[]): Promise<void> {
    return this.#call('sendKeys', `${name} ${keys.join(' ')}`, async () => undefined);
  }

  runLive(name: string): Promise<readonly string[]> {
    return this.#call('runLive', name, async () => []);
  }

  capabilities(): ProviderCapabilities {
    return { canReportAttachment: true, canReportActivity: true };
  }

  /** What is seen is as old as the call when it is slow. */
  async observe(): Promise<Survey> {
    const { weather, life, clock } = this.#o;
    await life.goesOn();
    const began = clock.monotonic();
    const fate = this.#fate('observe', '');
    if (fate === 'dies before') return this.#dies();
    const seen = this.#survey();
    if (fate === 'slow') await this.#clock.sleep(weather.slowMs());
    await life.goesOn();
    if (fate === 'dies after') return this.#dies();
    const isBlind = weather.isBlind() || fate === 'fails' || fate === 'fails after its effect';
    const survey: Survey = isBlind ? { kind: 'unknown', reason: 'a fault' } : seen;
    this.looks.push({
      slowMs: this.slowMs,
      began,
      ended: clock.monotonic(),
      of: (name) => toldOf(survey, name),
    });
    if (isBlind) this.#o.note(`  ${life.name} observe: unknown`);
    return survey;
  }

  #survey(): Survey {
    const { runtime } = this.#o;
    if (runtime.gone !== undefined) return { kind: 'infrastructure-gone', what: runtime.gone };
    return {
      kind: 'seen',
      sessions: new Map([...runtime.sessions].map(([name, life]) => [name, runtime.observation(life)])),
    };
  }

  watch(signal: AbortSignal): AsyncIterable<RuntimeEvent> {
    const queue: RuntimeEvent[] = [];
    let wake: () => void = () => undefined;
    this.#o.runtime.watch((event) => {
      queue.push(event);
      wake();
    }, signal);
    signal.addEventListener('abort', () => wake(), { once: true });
    return this.#events(queue, signal, (resolve) => {
      wake = resolve;
    });
  }

  async *#events(
    queue: RuntimeEvent[],
    signal: AbortSignal,
    onWake: (resolve: () => void) => void,
  ): AsyncGenerator<RuntimeEvent> {
    for (;;) {
      await this.#o.life.goesOn();
      const event = queue.shift();
      if (event) yield event;
      else if (signal.aborted) return;
      else await new Promise<void>(onWake);
    }
  }

  waitForIdle(name: string, timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    return this.#call('waitForIdle', name, async () => {
      const { runtime } = this.#o;
      const limit = this.#clock.monotonic() + timeoutMs;
      for (;;) {
        const life = this.#living(name);
        if (!runtime.isBusy(life)) return true;
        const left = limit - this.#clock.monotonic();
        if (left <= 0) return false;
        await this.#clock.sleep(Math.min(left, 2_000), signal);
      }
    });
  }

  pending(name: string): Promise<PendingInteraction | undefined> {
    return this.#call('pending', name, async () => {
      const pending = this.#living(name).pending;
      return pending && structuredClone(pending);
    });
  }

  respond(name: string, response: InteractionResponse): Promise<void> {
    return this.#call('respond', `${name} ${response.request_id} ${response.action}`, async () => {
      const { runtime, witness } = this.#o;
      const life = this.#living(name);
      const { pending } = life;
      const id = response.request_id || pending?.request_id || '';
      if (!pending || pending.request_id !== id) {
        throw new GcError('interaction-changed', `"${id}" is not what ${name} asks`);
      }
      witness.responds(this, life, id);
      runtime.answered(life, id);
    });
  }

  /** For a broken provider: the question is there again, as if nobody had answered it. */
  asksAgain(name: string, question: PendingInteraction | undefined): void {
    const life = this.#o.runtime.living(name);
    if (life) life.pending = question;
  }

  sleepCapability(_name: string): SleepCapability {
    return 'full';
  }

  async close(): Promise<void> {
    // Agents outlive whoever looks at them.
  }

  #living(name: string): AgentLife {
    const life = this.#o.runtime.living(name);
    if (!life) throw new SessionNotFoundError(name);
    return life;
  }

  #fate(method: string, what: string): CallFate {
    const fate = this.#o.weather.ofCall();
    if (fate !== 'fine') this.#o.note(`  ${this.#o.life.name} ${method} ${what}: ${fate}`);
    return fate;
  }

  async #call<T>(method: string, what: string, effect: () => Promise<T>): Promise<T> {
    const { life, weather, note } = this.#o;
    await life.goesOn();
    this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
    const fate = this.#fate(method, what);
    if (QUIET.has(method) === false) note(`  ${life.name} ${method} ${what}`);
    if (fate === 'dies before') return this.#dies();
    if (fate === 'fails') throw new RuntimeUnavailableError(`${method} failed`);
    if (weather.blind && method !== 'nudge') throw new RuntimeUnavailableError('the runtime does not answer');
    const isLateEffect = fate === 'slow' && weather.dice.chance(0.5);
    const slowMs = fate === 'slow' ? weather.slowMs() : 0;
    this.slowMs += slowMs;
    if (isLateEffect) await this.#clock.sleep(slowMs);
    // Of two calls at once the other one may have been the last.
    if (life.dead) return never();
    const result = await effect();
    if (fate === 'slow' && !isLateEffect) await this.#clock.sleep(slowMs);
    await life.goesOn();
    if (fate === 'dies after') return this.#dies();
    if (fate === 'fails after its effect') throw new RuntimeUnavailableError(`${method} gave no answer`);
    return result;
  }

  #dies(): Promise<never> {
    this.#o.kill();
    return never();
  }
}

/** Calls that only ask. */
const QUIET = new Set(['getMeta', 'peek', 'listRunning', 'getLastActivity', 'pending', 'waitForIdle']);

function toldOf(survey: Survey, name: string): Told {
  switch (survey.kind) {
    case 'unknown':
      return 'unknown';
    case 'infrastructure-gone':
      return 'absent';
    case 'seen': {
      const found = survey.sessions.get(name)?.liveness.kind;
      return found ?? 'absent';
    }
  }
}
