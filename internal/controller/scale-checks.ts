import type { Agent, City } from '../config/city.ts';
import { messageOf } from '../platform/errors.ts';
import type { LivedTime } from './lived-time.ts';
import type { ScaleCount } from './pools.ts';
import type { CommandResult } from './run-command.ts';

/** A check that takes longer is killed with everything it started. Source: Gas City. */
export const SCALE_CHECK_TIMEOUT_MS = 180_000;

/** Between two runs of a check, however often somebody says that something changed. */
const RECHECK_REST_MS = 2_000;

export interface ScaleCheck {
  readonly agent: Agent;
  readonly command: string;
}

export interface ScaleChecksOptions {
  readonly time: Pick<LivedTime, 'lived'>;
  readonly run: (city: City, agent: Agent, command: string, timeoutMs: number) => Promise<CommandResult>;
  /** An answer is there that changes something. */
  readonly changed: () => void;
  /** There is less to do for this template than before. */
  readonly progressed: (template: string) => void;
  /** What is wrong with a check, for people; `undefined`: nothing any more. */
  readonly complain: (template: string, what: string | undefined) => void;
}

interface Entry {
  check: ScaleCheck;
  city: City;
  /** Lived milliseconds; `undefined`: never. */
  begunAt: number | undefined;
  /** Somebody said that its answer may be another one now. */
  isStale: boolean;
  state: 'resting' | 'queued' | 'running';
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
  readonly #underWay = new Set<Promise<void>>();
  #version = 0;
  #over = false;

  constructor(options: ScaleChecksOptions) {
    this.#options = options;
  }

  /** Another number: another answer. */
  get version(): number {
    return this.#version;
  }

  count(template: string): ScaleCount {
    const entry = this.#entries.get(template);
    if (entry?.count.kind !== 'count') return entry?.count ?? { kind: 'unknown' };
    return { kind: 'count', count: Math.max(0, entry.count.count - entry.finished) };
  }

  /** Begins the checks whose answer is as old as the patrol interval; those of other agents are forgotten. */
  keepFresh(checks: readonly ScaleCheck[], city: City): void {
    const lived = this.#options.time.lived();
    const templates = new Set(checks.map(({ agent }) => agent.qualifiedName));
    for (const template of this.#entries.keys()) if (!templates.has(template)) this.#forget(template);
    for (const check of checks) {
      const entry = this.#entryOf(check, city);
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

  /** Nothing begins any more; resolves when what runs has ended. The caller ends that through its signal. */
  async end(): Promise<void> {
    this.#over = true;
    this.#queue.length = 0;
    await Promise.allSettled([...this.#underWay]);
  }

  #entryOf(check: ScaleCheck, city: City): Entry {
    const template = check.agent.qualifiedName;
    const known = this.#entries.get(template);
    if (known) {
      // Another command: its answer is wanted at once, the old one stands meanwhile.
      if (known.check.command !== check.command) known.begunAt = undefined;
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
      count: { kind: 'unknown' },
      finished: 0,
    };
    this.#entries.set(template, entry);
    return entry;
  }

  #forget(template: string): void {
    this.#entries.delete(template);
    this.#options.complain(template, undefined);
    this.#version += 1;
  }

  #beginQueued(): void {
    while (!this.#over) {
      const limit = Math.max(1, this.#queue[0]?.city.daemon.probeConcurrency ?? 1);
      if (this.#underWay.size >= limit) return;
      const entry = this.#queue.shift();
      if (!entry) return;
      const run = this.#run(entry).finally(() => {
        this.#underWay.delete(run);
        this.#beginQueued();
      });
      this.#underWay.add(run);
    }
  }

  async #run(entry: Entry): Promise<void> {
    const { run, time } = this.#options;
    const { check, city } = entry;
    entry.state = 'running';
    entry.begunAt = time.lived();
    entry.isStale = false;
    const finishedBefore = entry.finished;
    const answer = await run(city, check.agent, check.command, SCALE_CHECK_TIMEOUT_MS).then(
      readAnswer,
      (error: unknown) => ({ problem: messageOf(error) }),
    );
    entry.state = 'resting';
    // Stopped with the city, or of an agent that is gone: no answer.
    if (this.#over || this.#entries.get(check.agent.qualifiedName) !== entry) return;
    entry.finished -= finishedBefore;
    this.#take(entry, answer, finishedBefore > 0);
  }

  #take(entry: Entry, answer: Answer, isOtherBase: boolean): void {
    const { qualifiedName } = entry.check.agent;
    const next: ScaleCount =
      'problem' in answer ? { kind: 'invalid' } : { kind: 'count', count: answer.count };
    this.#options.complain(
      qualifiedName,
      'problem' in answer
        ? `scale_check of agent "${qualifiedName}" ${answer.problem}: its pool keeps min_active_sessions`
        : undefined,
    );
    if (isLess(next, entry.count)) this.#options.progressed(qualifiedName);
    if (isSame(entry.count, next) && !isOtherBase) return;
    entry.count = next;
    this.#version += 1;
    this.#options.changed();
  }
}

type Answer = { readonly count: number } | { readonly problem: string };

function readAnswer(result: CommandResult): Answer {
  if (result.kind === 'failed') return { problem: `failed (${result.how})` };
  const text = result.stdout.trim();
  if (/^[+-]?\d{1,9}$/.test(text)) return { count: Math.max(0, Number(text)) };
  return {
    problem: text === '' ? 'printed nothing' : `printed no number: ${JSON.stringify(text.slice(0, 80))}`,
  };
}

function isLess(next: ScaleCount, before: ScaleCount): boolean {
  return next.kind === 'count' && before.kind === 'count' && next.count < before.count;
}

function isSame(a: ScaleCount, b: ScaleCount): boolean {
  return a.kind === b.kind && (a.kind !== 'count' || (b.kind === 'count' && a.count === b.count));
}
