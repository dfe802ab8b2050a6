import type { Clock } from '../../platform/clock.ts';
import {
  InteractionUnsupportedError,
  RuntimeUnavailableError,
  SessionExistsError,
  StartFailedError,
} from '../errors.ts';
import {
  type Answer,
  type AttachPlan,
  type CheckingProvider,
  type ClosableProvider,
  type ContentBlock,
  type ContinuingProvider,
  canCheckImage,
  canClose,
  canContinueStart,
  canInteract,
  canMeasure,
  canSleep,
  canWaitForIdle,
  type IdleWaitProvider,
  type InteractionProvider,
  type InteractionResponse,
  type MeasuringProvider,
  type NudgeOptions,
  type NudgeOutcome,
  type ObservingProvider,
  type PendingInteraction,
  type ProviderCapabilities,
  type RuntimeEvent,
  type SessionUsage,
  type SleepCapability,
  type SleepCapableProvider,
  type StartOptions,
  type StartResult,
  type StopOptions,
  type Survey,
  type WatchingProvider,
} from '../provider.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import { type BackEnd, type BackEnds, listBoth } from './back-ends.ts';
import { surveyBoth } from './merge-surveys.ts';
import { watchAll } from './merge-watches.ts';

export interface RoutedProviderOptions {
  readonly kind: string;
  readonly backEnds: BackEnds;
  readonly clock: Clock;
}

/**
 * Two providers as one. Each session belongs to one of them; where that is known wrongly, or not at all, what counts is
 * where it is seen. A session's metadata, its stop and everything else go to the same place, so that a token that was
 * read protects the session that it was read from.
 */
export abstract class RoutedProvider
  implements
    ObservingProvider,
    WatchingProvider,
    IdleWaitProvider,
    InteractionProvider,
    ContinuingProvider,
    SleepCapableProvider,
    MeasuringProvider,
    CheckingProvider,
    ClosableProvider
{
  readonly kind: string;
  protected readonly backEnds: BackEnds;
  readonly #clock: Clock;
  /** Where sessions were seen, or started, last. */
  readonly #seenAt = new Map<string, BackEnd>();

  constructor(options: RoutedProviderOptions) {
    this.kind = options.kind;
    this.backEnds = options.backEnds;
    this.#clock = options.clock;
  }

  /** Where the session belongs; `undefined`: nobody has said so. */
  protected abstract homeOf(name: string): BackEnd | undefined;

  /** A living session was seen there. */
  protected livesIn(_name: string, _backEnd: BackEnd): void {
    // Only a router that keeps routes learns from it.
  }

  async start(name: string, config: RuntimeConfig, options: StartOptions): Promise<StartResult> {
    const home = this.#home(name);
    await this.#refuseTwin(name, this.#other(home));
    const result = await home.provider.start(name, config, options);
    this.#seenAt.set(name, home);
    return result;
  }

  async continueStart(name: string, config: RuntimeConfig, options: StartOptions): Promise<StartResult> {
    const { provider } = await this.holder(name);
    if (canContinueStart(provider)) return provider.continueStart(name, config, options);
    throw new StartFailedError(
      'prompt-uncertain',
      `the start of session "${name}" was cut off, and a ${provider.kind} provider cannot take it up`,
    );
  }

  async stop(name: string, options: StopOptions = {}): Promise<void> {
    const holder = await this.holder(name);
    const other = this.#other(holder);
    try {
      await holder.provider.stop(name, options);
    } catch (error) {
      // Only a session that is proven to be in the other one makes up for this failure.
      if ((await askRunning(other, name)) !== 'yes') throw error;
    }
    if ((await askRunning(other, name)) === 'yes') await other.provider.stop(name, options);
    this.#seenAt.delete(name);
  }

  async interrupt(name: string): Promise<void> {
    await (await this.holder(name)).provider.interrupt(name);
  }

  async isRunning(name: string): Promise<Answer> {
    const known = this.#seenAt.get(name) ?? this.homeOf(name);
    const likely = known ?? this.backEnds[0];
    const there = await askRunning(likely, name);
    if (there === 'yes') return 'yes';
    const other = this.#other(likely);
    const elsewhere = await askRunning(other, name);
    if (elsewhere === 'yes') {
      this.#seenAt.set(name, other);
      return 'yes';
    }
    // That the other one cannot tell matters only for a session that may be in it.
    return there === 'unknown' || !known ? worse(there, elsewhere) : 'no';
  }

  async isAttached(name: string): Promise<Answer> {
    return (await this.holder(name)).provider.isAttached(name);
  }

  async attach(name: string): Promise<AttachPlan> {
    return (await this.holder(name)).provider.attach(name);
  }

  async processAlive(name: string, names: readonly string[]): Promise<Answer> {
    return (await this.holder(name)).provider.processAlive(name, names);
  }

  async nudge(name: string, content: readonly ContentBlock[], options?: NudgeOptions): Promise<NudgeOutcome> {
    return (await this.holder(name)).provider.nudge(name, content, options);
  }

  async setMeta(name: string, key: string, value: string): Promise<void> {
    await (await this.holder(name)).provider.setMeta(name, key, value);
  }

  async getMeta(name: string, key: string): Promise<string> {
    return (await this.holder(name)).provider.getMeta(name, key);
  }

  async removeMeta(name: string, key: string): Promise<void> {
    await (await this.holder(name)).provider.removeMeta(name, key);
  }

  async peek(name: string, lines: number): Promise<string> {
    return (await this.holder(name)).provider.peek(name, lines);
  }

  async listRunning(prefix: string): Promise<readonly string[]> {
    return listBoth(this.backEnds, prefix);
  }

  async getLastActivity(name: string): Promise<number | undefined> {
    return (await this.holder(name)).provider.getLastActivity(name);
  }

  async clearScrollback(name: string): Promise<void> {
    await (await this.holder(name)).provider.clearScrollback(name);
  }

  async copyTo(name: string, source: string, relativeTarget: string): Promise<void> {
    await (await this.holder(name)).provider.copyTo(name, source, relativeTarget);
  }

  async sendKeys(name: string, keys: readonly string[]): Promise<void> {
    await (await this.holder(name)).provider.sendKeys(name, keys);
  }

  async runLive(name: string, config: RuntimeConfig): Promise<readonly string[]> {
    return (await this.holder(name)).provider.runLive(name, config);
  }

  /** What both can. */
  capabilities(): ProviderCapabilities {
    const both = this.backEnds.map(({ provider }) => provider.capabilities());
    return {
      canReportAttachment: both.every((each) => each.canReportAttachment),
      canReportActivity: both.every((each) => each.canReportActivity),
    };
  }

  async observe(): Promise<Survey> {
    const { survey, places, complete } = await surveyBoth(
      this.backEnds,
      (name) => this.#home(name),
      (backEnd, name) => (this.#seenAt.get(name) ?? this.homeOf(name) ?? backEnd) === backEnd,
    );
    for (const [name, backEnd] of this.#seenAt)
      if (complete.includes(backEnd) && !places.has(name)) this.#seenAt.delete(name);
    for (const [name, backEnd] of places) {
      this.#seenAt.set(name, backEnd);
      if (survey.kind === 'seen' && survey.sessions.get(name)?.liveness.kind === 'running')
        this.livesIn(name, backEnd);
    }
    return survey;
  }

  watch(signal: AbortSignal): AsyncIterable<RuntimeEvent> {
    return watchAll(
      this.backEnds.map(({ provider }) => provider),
      this.#clock,
      signal,
    );
  }

  async waitForIdle(name: string, timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
    const { provider } = await this.holder(name);
    if (!canWaitForIdle(provider)) throw new InteractionUnsupportedError();
    return provider.waitForIdle(name, timeoutMs, signal);
  }

  async pending(name: string): Promise<PendingInteraction | undefined> {
    const { provider } = await this.holder(name);
    if (!canInteract(provider)) throw new InteractionUnsupportedError();
    return provider.pending(name);
  }

  async respond(name: string, response: InteractionResponse): Promise<void> {
    const { provider } = await this.holder(name);
    if (!canInteract(provider)) throw new InteractionUnsupportedError();
    await provider.respond(name, response);
  }

  sleepCapability(name: string): SleepCapability {
    const { provider } = this.#seenAt.get(name) ?? this.#home(name);
    return canSleep(provider) ? provider.sleepCapability(name) : 'disabled';
  }

  /** Sessions of a back end that could not be asked are left out. */
  async usage(): Promise<ReadonlyMap<string, SessionUsage>> {
    const able = this.backEnds.flatMap(({ provider }) => (canMeasure(provider) ? [provider] : []));
    const asked = await Promise.allSettled(able.map((provider) => provider.usage()));
    const [failed] = asked.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
    if (failed !== undefined && asked.every((each) => each.status === 'rejected')) throw failed;
    return new Map(asked.flatMap((each) => (each.status === 'fulfilled' ? [...each.value] : [])));
  }

  async checkImage(image: string): Promise<void> {
    for (const { provider } of this.backEnds) if (canCheckImage(provider)) await provider.checkImage(image);
  }

  async close(): Promise<void> {
    await Promise.all(
      this.backEnds.map(({ provider }) => (canClose(provider) ? provider.close() : undefined)),
    );
  }

  /** Which of them runs the session, asked of both; `undefined`: neither does, as far as they can tell. */
  protected async runs(name: string): Promise<BackEnd | undefined> {
    const home = this.#home(name);
    for (const backEnd of [home, this.#other(home)])
      if ((await askRunning(backEnd, name)) === 'yes') {
        this.#seenAt.set(name, backEnd);
        this.livesIn(name, backEnd);
        return backEnd;
      }
    return undefined;
  }

  /** Where everything about a session goes: where it was seen, else where it runs, else where it belongs. */
  protected async holder(name: string): Promise<BackEnd> {
    return this.#seenAt.get(name) ?? (await this.runs(name)) ?? this.#home(name);
  }

  #home(name: string): BackEnd {
    return this.homeOf(name) ?? this.backEnds[0];
  }

  #other(backEnd: BackEnd): BackEnd {
    const [first, second] = this.backEnds;
    return backEnd === first ? second : first;
  }

  /** One name, one session: not one in each. */
  async #refuseTwin(name: string, other: BackEnd): Promise<void> {
    const there = await askRunning(other, name);
    if (there === 'yes') throw new SessionExistsError(name, ` (in the ${other.label} backend)`);
    if (there === 'unknown' && this.#seenAt.get(name) === other)
      throw new RuntimeUnavailableError(
        `session "${name}" was last seen in the ${other.label} backend, which cannot be asked now`,
      );
  }
}

function worse(one: Answer, two: Answer): Answer {
  return one === 'unknown' || two === 'unknown' ? 'unknown' : 'no';
}

async function askRunning({ provider }: BackEnd, name: string): Promise<Answer> {
  try {
    return await provider.isRunning(name);
  } catch {
    // A probe that fails has told nothing.
    return 'unknown';
  }
}
