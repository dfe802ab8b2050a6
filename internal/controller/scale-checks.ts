import { workAnswer } from '../agent/hooks/work-answer.ts';
import type { Agent, City } from '../config/city.ts';
import { messageOf } from '../platform/errors.ts';
import type { LivedTime } from './lived-time.ts';
import type { ScaleCount } from './pools.ts';
import type { CommandResult } from './run-command.ts';

/** A check that takes longer is killed with everything it started. Source: Gas City. */
export const SCALE_CHECK_TIMEOUT_MS = 180_000;

/** Between two runs of a check, however often somebody says that something changed. */
const RECHECK_REST_MS = 2_000;

/** A check that runs for longer is told of, and the next ones wait no longer for its place. */
const SLOW_CHECK_MS = 15_000;

/** More sessions than this of one agent are no demand, but a mistake in the command. */
const MAX_SCALE_COUNT = 10_000;

export interface ScaleCheck {
  /** One check of each key. */
  readonly key: string;
  readonly agent: Agent;
  /** `count`: prints how many sessions are wanted; `work`: prints the work that it finds. */
  readonly answers: 'count' | 'work';
  readonly command: string;
}

export interface ScaleChecksOptions {
  readonly time: Pick<LivedTime, 'lived'>;
  readonly run: (
    city: City,
    agent: Agent,
    command: { readonly text: string; readonly timeoutMs: number; readonly signal: AbortSignal },
  ) => Promise<CommandResult>;
  /** An answer is there that changes something. */
  readonly changed: () => void;
  /** There is less to do for this template than before. */
  readonly progressed: (template: string) => void;
  /** What is wrong with a check, for people; `undefined`: nothing any more. */
  readonly complain: (key: string, what: string | undefined) => void;
}

interface Entry {
  check: ScaleCheck;
  city: City;
  /** Lived milliseconds; `undefined`: never. */
  begunAt: number | undefined;
  /** Somebody said that its answer may be another one now. */
  isStale: boolean;
  state: 'resting' | 'queued' | 'running';
  /** Ends the run that is under way: its answer is wanted no more. */
  running: AbortController | undefined;
  count: ScaleCount;
  /** Sessions that finished since the answer was asked for: each has done what one of its count stood for. */
  finished: number;
}

/**
 * The scale checks of pools. They run beside the passes, each at most once per patrol interval or after a hint, a
 * limited number at once, first come first served; the last answer stands until the next one.
 */
export class ScaleChecks {
  readonly #options: ScaleChecksOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #queue: Entry[] = [];
  readonly #underWay = new Map<Promise<void>, Entry>();
  #version = 0;
  #over = false;

  constructor(options: ScaleChecksOptions) {
    this.#options = options;
  }

  /** Another number: another answer. */
  get version(): number {
    return this.#version;
  }

  count(key: string): ScaleCount {
    const entry = this.#entries.get(key);
    if (entry?.count.kind !== 'count') return entry?.count ?? { kind: 'unknown' };
    return { kind: 'count', count: Math.max(0, entry.count.count - entry.finished) };
  }

  /** Begins the checks whose answer is as old as the patrol interval; those of other agents are forgotten. */
  keepFresh(checks: readonly ScaleCheck[], city: City): void {
    const lived = this.#options.time.lived();
    const keys = new Set(checks.map(({ key }) => key));
    for (const key of this.#entries.keys()) if (!keys.has(key)) this.#forget(key);
    for (const check of checks) {
      const entry = this.#entryOf(check, city);
      if (this.#isSlow(entry)) this.#options.complain(check.key, slowText(entry));
      const { patrolIntervalMs } = city.daemon;
      const restMs = entry.isStale ? Math.min(RECHECK_REST_MS, patrolIntervalMs) : patrolIntervalMs;
      const isDue = entry.begunAt === undefined || lived - entry.begunAt >= restMs;
      if (!isDue || entry.state !== 'resting') continue;
      entry.state = 'queued';
      this.#queue.push(entry);
    }
    this.#beginQueued();
  }

  /** A session of the template ended: its answer may be another one now. */
  ended(template: string, hasFinished: boolean): void {
    const entry = this.#entries.get(template);
    if (!entry) return;
    entry.isStale = true;
    if (!hasFinished) return;
    entry.finished += 1;
    this.#version += 1;
  }

  /** Every answer may be another one now: it is asked for sooner than the patrol would. */
  recheck(): void {
    for (const entry of this.#entries.values()) entry.isStale = true;
  }

  /** When the next stale answer may be asked for again, lived milliseconds. */
  nextAt(): number | undefined {
    const times = [...this.#entries.values()].flatMap(({ isStale, state, begunAt }) =>
      isStale && state === 'resting' && begunAt !== undefined ? [begunAt + RECHECK_REST_MS] : [],
    );
    return times.length > 0 ? Math.min(...times) : undefined;
  }

  /** Nothing begins any more, what runs is ended; resolves when it has. */
  async end(): Promise<void> {
    this.#over = true;
    this.#queue.length = 0;
    for (const entry of this.#underWay.values()) entry.running?.abort();
    await Promise.allSettled([...this.#underWay.keys()]);
  }

  #entryOf(check: ScaleCheck, city: City): Entry {
    const { key } = check;
    const known = this.#entries.get(key);
    if (known) {
      // Another command: its answer is wanted at once, the old one stands meanwhile.
      if (known.check.command !== check.command) {
        known.begunAt = undefined;
        known.running?.abort();
      }
      known.check = check;
      known.city = city;
      return known;
    }
    const entry: Entry = {
      check,
      city,
      begunAt: undefined,
      isStale: false,
      state: 'resting',
      running: undefined,
      count: { kind: 'unknown' },
      finished: 0,
    };
    this.#entries.set(key, entry);
    return entry;
  }

  #forget(key: string): void {
    this.#entries.get(key)?.running?.abort();
    this.#entries.delete(key);
    this.#options.complain(key, undefined);
    this.#version += 1;
  }

  #beginQueued(): void {
    while (!this.#over) {
      const limit = Math.max(1, this.#queue[0]?.city.daemon.probeConcurrency ?? 1);
      const quick = [...this.#underWay.values()].filter((entry) => !this.#isSlow(entry));
      if (quick.length >= limit) return;
      const entry = this.#queue.shift();
      if (!entry) return;
      const run = this.#run(entry).finally(() => {
        this.#underWay.delete(run);
        this.#beginQueued();
      });
      this.#underWay.set(run, entry);
    }
  }

  #isSlow({ state, begunAt }: Entry): boolean {
    return (
      state === 'running' && begunAt !== undefined && this.#options.time.lived() - begunAt >= SLOW_CHECK_MS
    );
  }

  async #run(entry: Entry): Promise<void> {
    const { run, time } = this.#options;
    const { check, city } = entry;
    entry.state = 'running';
    entry.begunAt = time.lived();
    entry.isStale = false;
    const finishedBefore = entry.finished;
    const running = new AbortController();
    entry.running = running;
    const how = { text: check.command, timeoutMs: SCALE_CHECK_TIMEOUT_MS, signal: running.signal };
    const answer = await run(city, check.agent, how).then(
      (result) => (check.answers === 'count' ? readCount(result) : readWork(result)),
      (error: unknown) => ({ problem: messageOf(error) }),
    );
    entry.state = 'resting';
    entry.running = undefined;
    // Stopped with the city, or of an agent that is gone: no answer.
    if (this.#over || this.#entries.get(check.key) !== entry) return;
    if (running.signal.aborted) return this.#options.changed();
    entry.finished -= finishedBefore;
    this.#take(entry, answer, finishedBefore > 0);
  }

  #take(entry: Entry, answer: Answer, isOtherBase: boolean): void {
    const { check } = entry;
    const next: ScaleCount =
      'problem' in answer ? { kind: 'invalid' } : { kind: 'count', count: answer.count };
    this.#options.complain(check.key, 'problem' in answer ? troubleOf(check, answer.problem) : undefined);
    if (check.answers === 'count' && isLess(next, entry.count))
      this.#options.progressed(check.agent.qualifiedName);
    if (isSame(entry.count, next) && !isOtherBase) return;
    entry.count = next;
    this.#version += 1;
    this.#options.changed();
  }
}

type Answer = { readonly count: number } | { readonly problem: string };

function troubleOf({ agent, answers }: ScaleCheck, problem: string): string {
  return answers === 'count'
    ? `scale_check of agent "${agent.qualifiedName}" ${problem}: its pool keeps min_active_sessions`
    : `work_query of agent "${agent.qualifiedName}" ${problem}: taken for no work`;
}

function slowText({ check: { agent, answers }, count }: Entry): string {
  const stands = count.kind === 'unknown' ? 'its pool stays as it is' : 'its last answer stands';
  const what = answers === 'count' ? 'scale_check' : 'work_query';
  return `${what} of agent "${agent.qualifiedName}" has not answered for ${SLOW_CHECK_MS / 1_000} s: ${answers === 'count' ? stands : 'taken for no work'}`;
}

function readCount(result: CommandResult): Answer {
  if (result.kind === 'failed') return { problem: `failed (${result.how})` };
  const text = result.stdout.trim();
  if (text === '') return { problem: 'printed nothing' };
  if (!/^[+-]?\d+$/.test(text)) return { problem: `printed no number: ${shown(text)}` };
  const count = Number(text);
  if (count < 0) return { problem: `printed ${shown(text)}, less than none` };
  if (count > MAX_SCALE_COUNT) return { problem: `printed ${shown(text)}, more than ${MAX_SCALE_COUNT}` };
  return { count };
}

function readWork(result: CommandResult): Answer {
  if (result.kind === 'failed') return { problem: `failed (${result.how})` };
  return { count: workAnswer(result.stdout).hasWork ? 1 : 0 };
}

const SHOWN_CHARS = 80;

function shown(text: string): string {
  return JSON.stringify(text.slice(0, SHOWN_CHARS));
}

function isLess(next: ScaleCount, before: ScaleCount): boolean {
  return next.kind === 'count' && before.kind === 'count' && next.count < before.count;
}

function isSame(a: ScaleCount, b: ScaleCount): boolean {
  return a.kind === b.kind && (a.kind !== 'count' || (b.kind === 'count' && a.count === b.count));
}
