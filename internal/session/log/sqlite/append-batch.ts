import { GcError } from '../../../platform/errors.ts';
import type { EncodedEvent } from '../../../protocol/encode-event.ts';
import { type ChainedRecord, chainHash } from '../../../protocol/hash-chain.ts';
import { impliedState } from '../compute-state.ts';
import { LogConflictError, SessionDeletedError, SourceReusedError, StaleFenceError } from '../errors.ts';
import type { AppendOptions, StoredComputeState } from '../session-log.ts';
import type { UniqueNanos } from '../unique-nanos.ts';
import type { LogDatabase } from './log-database.ts';
import type { RecordTable } from './record-table.ts';
import type { SessionTable } from './session-table.ts';
import type { SourceTable } from './source-table.ts';

export interface Append {
  readonly uid: string;
  readonly events: readonly EncodedEvent[];
  readonly options: AppendOptions;
}

export type AppendOutcome =
  | {
      readonly kind: 'appended';
      readonly records: readonly ChainedRecord[];
      /** Milliseconds since the epoch. */
      readonly at: number;
    }
  /** The same batch was there already. */
  | { readonly kind: 'repeated'; readonly records: readonly ChainedRecord[] }
  | { readonly kind: 'refused'; readonly error: unknown };

/** Where a log stands, as this process last saw or left it. */
interface Place {
  seq: number;
  hash: string;
  fence: number;
  state: StoredComputeState;
  /** Milliseconds since the epoch of the last row of times. */
  at: number | undefined;
  deleted: boolean;
  /** Has a row of its own. */
  known: boolean;
}

/** Records that follow each other within this time have one time: two pages less to write for each. */
const SHARED_TIME_MS = 10;
/** Remembered places and checked tails are dropped beyond this many sessions. */
const REMEMBERED_SESSIONS = 10_000;

/** Applies appends inside one transaction. */
export class AppendBatch {
  readonly #database: LogDatabase;
  readonly #records: RecordTable;
  readonly #sessions: SessionTable;
  readonly #sources: SourceTable;
  readonly #nanos: UniqueNanos;
  readonly #places = new Map<string, Place>();
  /** Sessions whose last record this process has found to be sound, or has written. */
  readonly #sound = new Set<string>();
  #version = -1;

  constructor(parts: {
    readonly database: LogDatabase;
    readonly records: RecordTable;
    readonly sessions: SessionTable;
    readonly sources: SourceTable;
    readonly nanos: UniqueNanos;
  }) {
    this.#database = parts.database;
    this.#records = parts.records;
    this.#sessions = parts.sessions;
    this.#sources = parts.sources;
    this.#nanos = parts.nanos;
  }

  /** What this process does to a session by other ways than appending, it has to say. */
  forget(uid: string): void {
    this.#places.delete(uid);
  }

  /** All in one transaction, each with its own outcome. @throws SQLite's own errors; nothing was appended then */
  commit(appends: readonly Append[], now: number): readonly AppendOutcome[] {
    const full = appends.some(({ options }) => options.durability !== 'group');
    this.#database.begin(full ? 'full' : 'group');
    try {
      this.#dropOutdated();
      const outcomes = appends.map((append) => this.#attempt(append, now));
      this.#database.commit();
      return outcomes;
    } catch (error) {
      this.#places.clear();
      this.#database.rollback();
      throw error;
    }
  }

  /** With the write lock held, nobody else can change anything until the commit. */
  #dropOutdated(): void {
    const version = this.#database.dataVersion();
    if (version !== this.#version || this.#places.size > REMEMBERED_SESSIONS) this.#places.clear();
    if (this.#sound.size > REMEMBERED_SESSIONS) this.#sound.clear();
    this.#version = version;
  }

  /** A refusal comes before the first write of its append, and so leaves the others alone. */
  #attempt(append: Append, now: number): AppendOutcome {
    let place: Place;
    let fence: number;
    try {
      const repeated = this.#repeated(append);
      if (repeated) return repeated;
      place = this.#places.get(append.uid) ?? this.#load(append.uid);
      fence = this.#admit(append, place);
    } catch (error) {
      if (error instanceof GcError) return { kind: 'refused', error };
      throw error;
    }
    return this.#append(append, place, fence, now);
  }

  #repeated({ uid, events, options: { source } }: Append): AppendOutcome | undefined {
    const range = source === undefined ? undefined : this.#sources.find(uid, source);
    if (source === undefined || !range) return undefined;
    const { first, last } = range;
    const records = this.#records.page(uid, first, last, last - first + 1);
    const same =
      records.length === events.length &&
      records.every(
        ({ prevHash, seq, contentHash }, i) =>
          chainHash(events[i]?.json ?? '', prevHash, seq) === contentHash,
      );
    if (!same) throw new SourceReusedError(uid, source);
    return { kind: 'repeated', records };
  }

  /** @returns the incarnation to write under. Source: agentsessions.v1, compare-and-swap is checked before the fence */
  #admit({ uid, options }: Append, place: Place): number {
    const { expected } = options;
    if (place.deleted) throw new SessionDeletedError(uid);
    if (expected !== undefined && expected !== place.seq)
      throw new LogConflictError(uid, expected, place.seq);
    const fence = options.newIncarnation ? place.fence + 1 : (options.fence ?? place.fence);
    if (fence < place.fence) throw new StaleFenceError(uid, fence, place.fence);
    this.#checkTail(uid, place.seq);
    return fence;
  }

  #append({ uid, events, options }: Append, place: Place, fence: number, now: number): AppendOutcome {
    const first = place.seq + 1;
    const records = this.#write(uid, place, fence, events);
    if (options.source !== undefined && events.length > 0) {
      this.#database.step('source');
      this.#sources.insert(uid, options.source, first, place.seq);
    }
    this.#settle(uid, place, { fence, first, events, now });
    this.#places.set(uid, place);
    return { kind: 'appended', records, at: place.at ?? now };
  }

  #load(uid: string): Place {
    const session = this.#sessions.state(uid);
    return {
      ...this.#records.last(uid),
      fence: session?.fence ?? 0,
      state: session?.state ?? '',
      deleted: session?.deleted ?? false,
      known: session !== undefined,
      at: this.#records.lastTime(uid),
    };
  }

  /** A log whose end is damaged is not continued. @throws LogCorruptError */
  #checkTail(uid: string, seq: number): void {
    if (this.#sound.has(uid)) return;
    if (seq > 0) this.#records.page(uid, seq, seq, 1);
    this.#sound.add(uid);
  }

  #write(
    uid: string,
    place: Place,
    fence: number,
    events: readonly EncodedEvent[],
  ): readonly ChainedRecord[] {
    return events.map(({ event, json, bytes }) => {
      const seq = place.seq + 1;
      const prevHash = place.hash;
      const contentHash = chainHash(json, prevHash, seq);
      this.#database.step('record');
      this.#records.insert(uid, seq, prevHash, contentHash, fence, bytes);
      place.seq = seq;
      place.hash = contentHash;
      return { seq, prevHash, contentHash, fence, event };
    });
  }

  /** Time, projection and incarnation; rows are touched only for what has changed. Bursts share their time. */
  #settle(
    uid: string,
    place: Place,
    done: { fence: number; first: number; events: readonly EncodedEvent[]; now: number },
  ): void {
    const { fence, first, events, now } = done;
    let state = place.state;
    for (const { event } of events) state = impliedState(event) ?? state;
    const since = Math.abs(now - (place.at ?? Number.NEGATIVE_INFINITY));
    const later = events.length > 0 && since >= SHARED_TIME_MS;
    if (later) {
      this.#database.step('time');
      this.#records.insertTime(uid, first, now);
      place.at = now;
    }
    if (!place.known) {
      this.#database.step('session');
      state = state === '' ? 'NONE' : state;
      this.#sessions.insert({ uid, project: '', fence, computeState: state }, this.#nanos.next());
      place.known = true;
    } else if (later || state !== place.state || fence !== place.fence) {
      this.#database.step('session');
      this.#sessions.touch(uid, fence, state, now);
    }
    place.state = state;
    place.fence = fence;
  }
}
