import type { Clock } from '../../platform/clock.ts';
import { parseRfc3339 } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import type { Liveness, Observation, Survey } from '../provider.ts';
import { readMeta } from './meta-text.ts';
import type { NameBook } from './name-book.ts';
import type { ScriptCalls } from './script-calls.ts';

/** What identifies a session and what it asks for, read one by one. */
export const PROBED_META = [
  'GC_SESSION_ID',
  'GC_INSTANCE_TOKEN',
  'GC_DRAIN_ACK',
  'GC_DRAIN_GENERATION',
  'GC_RESTART_REQUESTED',
] as const;

/** Runs of the script in one look, however many sessions there are. */
export const PROBES_PER_LOOK = 48;
/** An answer that is older says nothing any more. */
export const STALE_MS = 120_000;
/** A look ends before its caller gives up on it; who is not reached is looked at the next time. */
const LOOK_MS = 5_000;
/** One question of a look may take no longer. */
const PROBE_MS = 4_000;

interface Seen {
  readonly observation: Observation;
  /** Monotonic. */
  readonly atMs: number;
}

/**
 * Looks at the sessions of a script that cannot tell them all in one answer: their names from `list-running`, or from
 * our book where it has no such operation, and the rest by single questions, a bounded number per look, those first
 * that were not asked for longest. The others keep their last answer until it is too old.
 */
export class ScriptSurvey {
  readonly #calls: ScriptCalls;
  readonly #book: NameBook;
  readonly #clock: Clock;
  #seen = new Map<string, Seen>();
  #looking: Promise<Survey> | undefined;
  #next: Promise<Survey> | undefined;

  constructor(calls: ScriptCalls, book: NameBook, clock: Clock) {
    this.#calls = calls;
    this.#book = book;
    this.#clock = clock;
  }

  /** Who asks while a look is under way shares the next one: the one under way may have seen what is over by now. */
  look(): Promise<Survey> {
    if (!this.#looking) return this.#begin();
    this.#next ??= this.#looking.then(() => {
      this.#next = undefined;
      return this.#looking ?? this.#begin();
    });
    return this.#next;
  }

  #begin(): Promise<Survey> {
    this.#looking = this.#lookNow().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async #lookNow(): Promise<Survey> {
    try {
      const listed = await this.#calls.call('list-running', [''], { timeoutMs: PROBE_MS });
      const isListed = listed.kind === 'ok';
      const names = isListed
        ? listed.text.split('\n').filter((line) => line !== '')
        : await this.#book.names();
      await this.#probe(names, isListed);
      const now = this.#clock.monotonic();
      this.#seen = new Map([...this.#seen].filter(([name]) => names.includes(name)));
      const sessions = names.flatMap((name) => {
        const observation = answerFor(name, this.#seen.get(name), now, isListed);
        return observation ? [[name, observation] as const] : [];
      });
      return { kind: 'seen', sessions: new Map(sessions) };
    } catch (error) {
      return { kind: 'unknown', reason: messageOf(error) };
    }
  }

  async #probe(names: readonly string[], isListed: boolean): Promise<void> {
    const startedAt = this.#clock.monotonic();
    const oldestFirst = [...names].sort(
      (a, b) => (this.#seen.get(a)?.atMs ?? -1) - (this.#seen.get(b)?.atMs ?? -1),
    );
    const costs = () =>
      (isListed ? 0 : 1) + (this.#lacks('get-last-activity') ? 0 : 1) + this.#metaKeys().length;
    let left = PROBES_PER_LOOK;
    for (let next = 0; next < oldestFirst.length; ) {
      const cost = costs();
      const batch =
        cost === 0 ? oldestFirst.slice(next) : oldestFirst.slice(next, next + Math.floor(left / cost));
      // The first answer of all may tell which operations there are: then the others cost less.
      const some = next === 0 ? batch.slice(0, 1) : batch;
      if (some.length === 0 || this.#clock.monotonic() - startedAt > LOOK_MS) break;
      await Promise.all(some.map((name) => this.#probeOne(name, isListed)));
      left -= some.length * cost;
      next += some.length;
    }
  }

  async #probeOne(name: string, isListed: boolean): Promise<void> {
    const [liveness, lastActivity, ...values] = await Promise.all([
      isListed ? RUNNING : this.#liveness(name),
      this.#answer('get-last-activity', [name]),
      ...PROBED_META.map((key) => this.#answer('get-meta', [name, key])),
    ]);
    const before = this.#seen.get(name)?.observation.meta ?? {};
    const meta = Object.fromEntries(
      PROBED_META.flatMap((key, i) => {
        const value = values[i];
        const text = value === undefined ? before[key] : readMeta(value);
        return text === undefined ? [] : [[key, text] as const];
      }),
    );
    const observation: Observation = {
      name,
      liveness,
      attached: undefined,
      lastActivity: parseRfc3339(lastActivity),
      processNames: undefined,
      meta,
    };
    this.#seen.set(name, { observation, atMs: this.#clock.monotonic() });
  }

  /** `undefined`: it could not be told. */
  async #answer(operation: string, args: readonly string[]): Promise<string | undefined> {
    try {
      const reply = await this.#calls.call(operation, args, { timeoutMs: PROBE_MS });
      return reply.kind === 'ok' ? reply.text : undefined;
    } catch {
      return undefined; // one question of many; whether the session lives is asked apart
    }
  }

  async #liveness(name: string): Promise<Liveness> {
    try {
      const reply = await this.#calls.call('is-running', [name], { timeoutMs: PROBE_MS });
      if (reply.kind === 'unsupported')
        return { kind: 'unknown', reason: 'the script does not answer is-running' };
      return reply.text.trim() === 'true' ? RUNNING : { kind: 'exited', exit: {}, lastLines: '' };
    } catch (error) {
      return { kind: 'unknown', reason: messageOf(error) };
    }
  }

  #metaKeys(): readonly string[] {
    return this.#lacks('get-meta') ? [] : PROBED_META;
  }

  #lacks(operation: string): boolean {
    return this.#calls.lacks(operation);
  }
}

const RUNNING: Liveness = { kind: 'running', pid: undefined };

/** `undefined`: there is no such session. Being listed is a fresh answer to whether it runs; the rest has an age. */
function answerFor(
  name: string,
  seen: Seen | undefined,
  nowMs: number,
  isListed: boolean,
): Observation | undefined {
  const blank: Observation = {
    name,
    liveness: { kind: 'unknown', reason: 'not looked at yet' },
    attached: undefined,
    lastActivity: undefined,
    processNames: undefined,
    meta: {},
  };
  const known = seen?.observation ?? blank;
  if (isListed) return { ...known, liveness: RUNNING };
  if (!seen) return blank;
  const ageMs = nowMs - seen.atMs;
  if (ageMs > STALE_MS) {
    const reason = `not looked at for ${Math.round(ageMs / 1_000)} s`;
    return { ...known, liveness: { kind: 'unknown', reason } };
  }
  return known.liveness.kind === 'exited' ? undefined : known;
}
