import type { Clock } from '../platform/clock.ts';
import { limited } from '../platform/limited.ts';
import { profileKindOf, profileOf } from '../runtime/profiles.ts';
import { canInteract, canWaitForIdle, type Observation, type Provider } from '../runtime/provider.ts';
import { type Activity, activityOf } from '../runtime/readiness.ts';
import { type Look, lookAtText } from '../runtime/screen.ts';
import { askedLine } from './question-text.ts';

/** What one look at a screen told, for a status. */
export interface Glimpse {
  readonly activity: Activity;
  /** The last line that says something. */
  readonly lastLine: string;
  /** The agent's own word, over its protocol; otherwise it was read from the screen. */
  readonly isTold: boolean;
  /** Output that this look already shows, milliseconds since the epoch. */
  readonly asOf: number;
}

/** Lines looked at. */
const GLIMPSE_LINES = 60;
/** At most so many screens are captured for one status; the others show what was seen last. */
const GLIMPSES_PER_STATUS = 16;
const PARALLEL_GLIMPSES = 8;
/** A status waits no longer than this for screens; late ones are in the next. */
const GLIMPSE_BUDGET_MS = 150;
/** A screen that changes all the time is not captured more often. */
const GLIMPSE_MIN_AGE_MS = 1_000;

export interface GlimpseRequest {
  readonly observation: Observation;
  readonly providerKind: string;
  readonly readyPromptPrefix: string;
  /** Its agent says by itself whether it works and what it asks: that is asked, not read from its screen. */
  readonly tells: boolean;
}

/** Screens as they were last seen. A screen without output since then is not captured again. */
export class Screens {
  readonly #provider: Provider;
  readonly #clock: Clock;
  readonly #seen = new Map<string, Glimpse>();
  readonly #capturing = new Map<string, Promise<void>>();

  constructor(provider: Provider, clock: Clock) {
    this.#provider = provider;
    this.#clock = clock;
  }

  get(name: string): Glimpse | undefined {
    return this.#seen.get(name);
  }

  /** Captures what changed, within the budget of one status. */
  async refresh(requests: readonly GlimpseRequest[]): Promise<void> {
    const names = new Set(requests.map((request) => request.observation.name));
    for (const name of this.#seen.keys()) if (!names.has(name)) this.#seen.delete(name);
    const stale = requests
      .filter((request) => this.#isStale(request))
      .toSorted((a, b) => this.#asOf(a) - this.#asOf(b))
      .slice(0, GLIMPSES_PER_STATUS);
    if (stale.length === 0) return;
    const over = new AbortController();
    const budget = this.#clock.sleep(GLIMPSE_BUDGET_MS, over.signal).catch(() => undefined); // all were faster
    await Promise.race([limited(PARALLEL_GLIMPSES, stale, (request) => this.#capture(request)), budget]);
    over.abort();
  }

  #asOf({ observation }: GlimpseRequest): number {
    return this.#seen.get(observation.name)?.asOf ?? 0;
  }

  #isStale({ observation, tells }: GlimpseRequest): boolean {
    const seen = this.#seen.get(observation.name);
    if (!seen) return true;
    if (this.#clock.now() - seen.asOf < GLIMPSE_MIN_AGE_MS) return false;
    // A turn may end, or be answered, without a word.
    if (tells) return true;
    return (
      observation.lastActivity === undefined || observation.lastActivity >= seen.asOf - ACTIVITY_ROUNDING_MS
    );
  }

  #capture(request: GlimpseRequest): Promise<void> {
    const { name } = request.observation;
    const running = this.#capturing.get(name);
    if (running) return running;
    const capturing = this.#look(request)
      // It ended meanwhile, or the runtime is slow: the status goes without.
      .catch(() => undefined)
      .finally(() => this.#capturing.delete(name));
    this.#capturing.set(name, capturing);
    return capturing;
  }

  async #look(request: GlimpseRequest): Promise<void> {
    const { observation, providerKind, readyPromptPrefix } = request;
    const asOf = this.#clock.now();
    const look = lookAtText(await this.#provider.peek(observation.name, GLIMPSE_LINES));
    const profile = profileOf(profileKindOf(providerKind, observation.processNames));
    const told = request.tells ? await this.#told(observation.name) : undefined;
    const activity = told ?? activityOf(look, profile, readyPromptPrefix);
    const lastLine = lastTelling(look, activity);
    this.#seen.set(observation.name, { activity, lastLine, isTold: told !== undefined, asOf });
  }

  async #told(name: string): Promise<Activity | undefined> {
    const provider = this.#provider;
    if (!canInteract(provider) || !canWaitForIdle(provider)) return undefined;
    const pending = await provider.pending(name);
    if (pending) return { kind: 'asking', what: askedLine(pending) };
    const idle = await provider.waitForIdle(name, 0);
    return idle ? { kind: 'idle', composer: undefined } : { kind: 'busy', why: 'a turn is open' };
  }
}

/** Some providers round activity down to the second. */
const ACTIVITY_ROUNDING_MS = 1_000;

/** Frames, rules and the input box say nothing. */
function lastTelling(look: Look, activity: Activity): string {
  const edge = activity.kind === 'idle' && activity.composer ? activity.composer.index : look.lines.length;
  const line = look.lines.slice(0, edge).findLast((candidate) => /[\p{L}\p{N}]/u.test(candidate));
  return (line ?? '')
    .replace(/[│╭╮╰╯]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}
