import { type ConversationPlace, placeOf } from '../session/journal/city-journal.ts';
import { LOG_UID_KEY } from '../session/journal/facts.ts';
import type { SessionRecord } from '../session/record.ts';
import type { CityEngine } from './city-engine.ts';
import { ConversationNotes } from './conversation-notes.ts';
import { JournalPump } from './journal-pump.ts';
import type { Sighting } from './passes.ts';

/** After a session showed something, before its transcript is read: by then a turn that ended is written down. */
const QUIET_MS = 400;
/** While it keeps showing something, it is read this often. */
const BUSY_MS = 2_000;
/** What showed nothing is looked at all the same: not every provider tells of activity. */
const ROUND_MS = 30_000;
/** After something went wrong. */
const RETRY_MS = 5_000;

/** One session whose conversation can be read. */
interface Followed {
  readonly uid: string;
  readonly place: ConversationPlace;
}

/** When a session is read next, monotonic milliseconds. */
interface Due {
  readonly at: number;
  /** Not later than this, whatever it goes on to show. */
  readonly latest: number;
}

/**
 * Writes the logs of a running city's sessions, beside everything else: what was committed with a change is delivered as
 * soon as it is, transcripts are read when their sessions fall silent. Costs nothing while nothing happens.
 */
export class JournalKeeper {
  readonly #engine: CityEngine;
  readonly #trouble: (error: unknown) => void;
  readonly #pump: JournalPump;
  readonly #notes: ConversationNotes;
  readonly #lifetime = new AbortController();
  #records: readonly SessionRecord[] | undefined;
  #followed: ReadonlyMap<string, Followed> = new Map();
  readonly #due = new Map<string, Due>();
  #lastRound: number | undefined;
  #told = true;
  #wake: () => void = () => undefined;
  #loop: Promise<void> = Promise.resolve();

  constructor(engine: CityEngine, trouble: (error: unknown) => void) {
    this.#engine = engine;
    this.#trouble = trouble;
    const { parts, city } = engine;
    const notes = new ConversationNotes(engine);
    this.#notes = notes;
    this.#pump = new JournalPump({
      parts,
      city: city.workspace.name,
      trouble,
      found: (uid, conversation, place) => notes.found(uid, conversation, place),
      failed: (uid, failure) => notes.failed(uid, failure),
    });
  }

  start(): void {
    this.#engine.parts.db.onTold(() => this.#poke());
    this.#loop = this.#run(this.#lifetime.signal);
  }

  /** A session showed something. */
  activity(sessionName: string): void {
    if (!this.#followed.has(sessionName)) return;
    const now = this.#now();
    const latest = this.#due.get(sessionName)?.latest ?? now + BUSY_MS;
    this.#due.set(sessionName, { at: Math.min(now + QUIET_MS, latest), latest });
    this.#wake();
  }

  /** After each pass of the controller. Other processes do not say that they left word. */
  passed(sighting: Sighting | undefined): void {
    if (!sighting) return;
    this.#follow(sighting.records);
    const now = this.#now();
    if (this.#lastRound !== undefined && now - this.#lastRound < ROUND_MS) return;
    this.#lastRound = now;
    for (const name of this.#followed.keys()) this.#lookAt(name, now);
    this.#poke();
  }

  /** Writes what is left, and lets go. */
  async end(): Promise<void> {
    this.#lifetime.abort();
    this.#wake();
    await this.#loop;
    await this.#pump.deliver().catch(this.#trouble);
  }

  #follow(records: readonly SessionRecord[]): void {
    if (records === this.#records) return;
    this.#records = records;
    const followed = new Map<string, Followed>();
    for (const record of records) {
      const uid = record.metadata[LOG_UID_KEY] ?? '';
      const place = placeOf(record);
      if (uid === '' || record.lastWokeAt === undefined || !this.#pump.hasReader(place)) continue;
      followed.set(record.sessionName, { uid, place });
      if (!this.#followed.has(record.sessionName)) this.#lookAt(record.sessionName, this.#now());
    }
    this.#followed = followed;
    this.#pump.keepOnly(new Set([...followed.values()].map(({ uid }) => uid)));
    this.#wake();
  }

  #lookAt(sessionName: string, at: number): void {
    this.#due.set(sessionName, { at, latest: at });
  }

  #poke(): void {
    this.#told = true;
    this.#wake();
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#work(signal);
      } catch (error) {
        if (!signal.aborted) this.#trouble(error);
        this.#told = true;
        await this.#engine.parts.clock.sleep(RETRY_MS, signal).catch(() => undefined);
      }
      await this.#rest(signal);
    }
  }

  async #work(signal: AbortSignal): Promise<void> {
    if (this.#engine.parts.db.isRemoved()) return;
    if (this.#told) {
      this.#told = false;
      await this.#pump.deliver();
    }
    for (const [name, { at }] of [...this.#due]) {
      if (signal.aborted || at > this.#now()) continue;
      this.#due.delete(name);
      const followed = this.#followed.get(name);
      if (!followed) continue;
      const more = await this.#pump.look(followed.uid, followed.place);
      await this.#notes.settle(name);
      if (more) this.#lookAt(name, this.#now());
    }
  }

  /** Until somebody has something to write, or a session is to be looked at. */
  async #rest(signal: AbortSignal): Promise<void> {
    if (this.#told || signal.aborted) return;
    const next = Math.min(...[...this.#due.values()].map(({ at }) => at));
    if (next <= this.#now()) return;
    await new Promise<void>((resolve) => {
      const nap = new AbortController();
      const over = () => {
        this.#wake = () => undefined;
        nap.abort();
        resolve();
      };
      this.#wake = over;
      if (next === Number.POSITIVE_INFINITY) return;
      this.#engine.parts.clock.sleep(next - this.#now(), nap.signal).then(over, () => undefined);
    });
  }

  #now(): number {
    return this.#engine.parts.clock.monotonic();
  }
}
