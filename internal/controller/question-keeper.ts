import type { InteractionRow } from '../beads/sqlite/interaction-table.ts';
import { limited } from '../platform/limited.ts';
import { questionLine } from '../session/interaction-events.ts';
import { interactionId } from '../session/interactions.ts';
import type { SessionRecord } from '../session/record.ts';
import type { CityEngine } from './city-engine.ts';
import type { Sighting } from './passes.ts';
import { QuestionBook } from './question-book.ts';

/** A screen that was moving is looked at once nothing came for so long: a question stands still. */
const QUIET_MS = 500;
/** An agent with an open question may go on working: it is looked at while it moves, too. */
const OPEN_PAUSE_MS = 1_000;
/** An agent that could not be reached with its answer. */
const RETRY_MS = 2_000;
const PARALLEL_LOOKS = 4;
/** Some providers round activity down to the second. */
const ACTIVITY_ROUNDING_MS = 1_000;

export interface QuestionKeeperOptions {
  readonly engine: CityEngine;
  readonly poke: () => void;
  /** A message for the agent, once per id. */
  readonly say: (record: SessionRecord, id: string, text: string) => Promise<void>;
  /** Trouble of the city under a key; `undefined`: it is over. */
  readonly complain: (key: string, problem: string | undefined) => void;
  readonly trouble: (error: unknown) => void;
}

/**
 * Notices what agents ask while a controller lives. An agent that shows nothing new costs nothing: each look follows
 * from something that was seen to move, and there is one timer for all sessions.
 */
export class QuestionKeeper {
  readonly book: QuestionBook;
  readonly #options: QuestionKeeperOptions;
  /** Monotonic time of the next look, by session name. */
  readonly #due = new Map<string, number>();
  /** The last look at each session: when, and the newest output that was known then; wall clock. */
  readonly #seen = new Map<string, { readonly at: number; readonly activity: number | undefined }>();
  /** Of all that run: the newest output that a pass saw. */
  #activity: ReadonlyMap<string, number | undefined> = new Map();
  #standing: readonly InteractionRow[] = [];
  #marker = '';
  #records: ReadonlyMap<string, SessionRecord> = new Map();
  #worker: Promise<void> | undefined;
  #nap: AbortController | undefined;
  #napUntil = 0;
  #over = false;

  constructor(options: QuestionKeeperOptions) {
    this.#options = options;
    this.book = new QuestionBook({
      engine: options.engine,
      complain: (problem) => options.complain('permission-rules', problem),
      denied: (record, row) => this.#tellDenial(record, row),
    });
  }

  /**
   * At its screen a denial ends what the agent is at, and some programs forget that they asked: it is told in words, too,
   * so that it goes on.
   */
  async #tellDenial(record: SessionRecord, row: InteractionRow): Promise<void> {
    if (row.source === 'protocol') return;
    const text = `This was not allowed: ${questionLine(row)}. Do not try it again; go on without it.`;
    await this.#options.say(record, `denied-${interactionId(row)}`, text);
  }

  /** Something of the session moved. */
  activity(name: string): void {
    const isOpen =
      this.#options.engine.memory.asking.has(name) || this.#records.get(name)?.transport === 'acp';
    // Once moved, once looked at: only a screen without a question is left to come to rest first.
    if (isOpen && this.#due.has(name)) return;
    this.#schedule(name, isOpen ? OPEN_PAUSE_MS : QUIET_MS);
  }

  /** Rules changed: whatever waits may have its answer now. */
  recheck(): void {
    for (const { sessionName } of this.#standing) this.#schedule(sessionName, 0);
  }

  async passed(sighting: Sighting | undefined): Promise<void> {
    if (this.#over || sighting?.survey.survey.kind !== 'seen') return;
    const { sessions } = sighting.survey.survey;
    this.#records = new Map(sighting.records.map((record) => [record.sessionName, record]));
    const running = [...sessions.values()].filter(({ liveness }) => liveness.kind === 'running');
    this.#activity = new Map(running.map(({ name, lastActivity }) => [name, lastActivity]));
    for (const name of this.#seen.keys()) if (!this.#activity.has(name)) this.#seen.delete(name);
    await this.#readStanding();
    await this.#closeOld();
    for (const name of this.#activity.keys()) {
      if (!this.#due.has(name) && this.#isNew(name)) this.#schedule(name, QUIET_MS);
    }
  }

  /** Nothing more is looked at; an answer that is being given is brought to its end. */
  async end(): Promise<void> {
    this.#over = true;
    this.#due.clear();
    this.#nap?.abort();
    await this.#worker;
  }

  /** It moved since it was looked at, or may have within the same second, or was never looked at. */
  #isNew(name: string): boolean {
    const seen = this.#seen.get(name);
    if (!seen || seen.activity !== this.#activity.get(name)) return true;
    if (seen.activity === undefined) return false;
    const age = seen.at - seen.activity;
    // After the clock was set back it lies ahead: that proves nothing new.
    return age >= 0 && age < ACTIVITY_ROUNDING_MS;
  }

  async #readStanding(): Promise<void> {
    const { engine } = this.#options;
    const marker = engine.parts.db.changeMarker();
    if (marker === this.#marker) return;
    this.#marker = marker;
    this.#standing = await this.book.store.standing();
    const asking = new Set(this.#standing.map(({ sessionName }) => sessionName));
    const { memory } = engine;
    for (const name of memory.asking) if (!asking.has(name)) memory.asking.delete(name);
    for (const name of asking) memory.asking.add(name);
    for (const row of this.#standing) this.#watchTime(row);
  }

  #watchTime(row: InteractionRow): void {
    const isDecided = row.state === 'resolved';
    if (!isDecided && row.expiresMs === undefined) return;
    const left = isDecided ? 0 : (row.expiresMs ?? 0) - this.#options.engine.parts.clock.now();
    this.#scheduleBy(row.sessionName, left > 0 ? left : RETRY_MS);
  }

  /** Their sessions are gone, or live another life. */
  async #closeOld(): Promise<void> {
    const old = this.#standing.filter((row) => {
      const record = this.#records.get(row.sessionName);
      return (
        !record ||
        record.id !== row.sessionId ||
        record.instanceToken !== row.instance ||
        record.lastWokeAt === undefined
      );
    });
    if (old.length === 0) return;
    await this.book.store.close(old.map(({ num }) => num));
    for (const { sessionName } of old) this.#seen.delete(sessionName);
    await this.#readStanding();
  }

  #schedule(name: string, afterMs: number): void {
    if (this.#over) return;
    const at = this.#options.engine.parts.clock.monotonic() + afterMs;
    this.#due.set(name, at);
    if (!this.#worker) this.#work();
    else if (at < this.#napUntil) this.#nap?.abort();
  }

  /** At the latest then. */
  #scheduleBy(name: string, afterMs: number): void {
    const at = this.#options.engine.parts.clock.monotonic() + afterMs;
    if ((this.#due.get(name) ?? Number.POSITIVE_INFINITY) > at) this.#schedule(name, afterMs);
  }

  #work(): void {
    this.#worker = this.#run()
      .catch((error: unknown) => {
        if (!this.#over) this.#options.trouble(error);
      })
      .finally(() => {
        this.#worker = undefined;
        if (this.#due.size > 0 && !this.#over) this.#work();
      });
  }

  async #run(): Promise<void> {
    const { clock } = this.#options.engine.parts;
    while (!this.#over && this.#due.size > 0) {
      const now = clock.monotonic();
      const ready = [...this.#due].filter(([, at]) => at <= now).map(([name]) => name);
      if (ready.length === 0) {
        await this.#rest(Math.min(...this.#due.values()), now);
        continue;
      }
      for (const name of ready) this.#due.delete(name);
      await limited(PARALLEL_LOOKS, ready, (name) => this.#look(name));
      await this.#readStanding();
    }
  }

  async #rest(until: number, now: number): Promise<void> {
    const nap = new AbortController();
    this.#nap = nap;
    this.#napUntil = until;
    // Woken early: something is due sooner.
    await this.#options.engine.parts.clock.sleep(until - now, nap.signal).catch(() => undefined);
    this.#nap = undefined;
  }

  async #look(name: string): Promise<void> {
    const { engine, poke } = this.#options;
    const known = this.#records.get(name);
    if (this.#over || !known || !this.#activity.has(name)) return;
    const wasAsking = engine.memory.asking.has(name);
    this.#seen.set(name, { at: engine.parts.clock.now(), activity: this.#activity.get(name) });
    try {
      const record = await engine.parts.store.get(known.id);
      if (!record.closed) await this.book.look(record, true);
    } catch {
      // It ended meanwhile, or the runtime is slow: the next pass finds it not looked at.
      this.#seen.delete(name);
      return;
    }
    await this.#readStanding();
    for (const row of this.#standing) if (row.sessionName === name) this.#watchTime(row);
    if (engine.memory.asking.has(name) !== wasAsking) poke();
  }
}
