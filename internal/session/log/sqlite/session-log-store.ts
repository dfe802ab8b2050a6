import type { Clock } from '../../../platform/clock.ts';
import { GcError } from '../../../platform/errors.ts';
import type { Ids } from '../../../platform/ids.ts';
import { type EncodedEvent, encodeEvent } from '../../../protocol/encode-event.ts';
import type { Event } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../../protocol/hash-chain.ts';
import { SessionDeletedError, UnknownLogError } from '../errors.ts';
import { FollowHub, type TimedRecord } from '../follow.ts';
import type { HarnessTable } from '../harness-table.ts';
import {
  type AppendOptions,
  type FollowItem,
  type FollowOptions,
  type ForkOptions,
  type ListOptions,
  type LogHead,
  type NewSessionRow,
  PAGE_BYTES,
  type ReadRange,
  type SessionLogStore,
  type SessionRow,
} from '../session-log.ts';
import { UniqueNanos } from '../unique-nanos.ts';
import { AppendBatch } from './append-batch.ts';
import { AppendQueue } from './append-queue.ts';
import { ForeignWatch } from './foreign-watch.ts';
import { forkSessions } from './fork.ts';
import { SqliteHarnessTable } from './harness-rows.ts';
import { LogDatabase, type LogDatabaseOptions, type WriteStep } from './log-database.ts';
import { RecordTable } from './record-table.ts';
import { SessionTable } from './session-table.ts';
import { SourceTable } from './source-table.ts';
import { Turn } from './turn.ts';

export interface OpenLogStoreOptions {
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'random'>;
  /** Told before each step of a write; what it throws is the failure of that step. */
  readonly onStep?: (step: WriteStep) => void;
}

/**
 * Opens `sessions.db`, making or migrating it: a file that other programs of the `agentsessions.v1` protocol can open too.
 * @throws GcError `store-corrupt`, `store-newer` (before anything is written), `store-unwritable`, `store-full`
 */
export function openSessionLogStore(file: string, options: OpenLogStoreOptions): SqliteSessionLogStore {
  return new SqliteSessionLogStore({ file, ...options });
}

/** An encoded event larger than this is refused. */
export const MAX_EVENT_BYTES = 64 * 1024 * 1024;
const DEFAULT_LIMIT = 500;
/** Read at once between two turns of the event loop. */
const SLICE_RECORDS = 500;
const REMOVED_AT_ONCE = 1_000;

/** Session logs in one SQLite file, shared by any number of processes. */
export class SqliteSessionLogStore implements SessionLogStore {
  readonly harnesses: HarnessTable;
  readonly #options: LogDatabaseOptions;
  readonly #database: LogDatabase;
  readonly #clock: Clock;
  readonly #records: RecordTable;
  readonly #sessions: SessionTable;
  readonly #nanos: UniqueNanos;
  readonly #batch: AppendBatch;
  readonly #queue: AppendQueue;
  readonly #hub: FollowHub;
  readonly #watch: ForeignWatch;
  readonly #turn: Turn;
  #forks: Promise<unknown> = Promise.resolve();
  #closed = false;

  constructor(options: LogDatabaseOptions, database = new LogDatabase(options)) {
    const { clock } = options;
    this.#options = options;
    this.#database = database;
    this.#clock = clock;
    this.#turn = new Turn(clock);
    this.#records = new RecordTable(database.db);
    this.#sessions = new SessionTable(database.db);
    this.#nanos = new UniqueNanos(() => clock.now());
    this.harnesses = new SqliteHarnessTable(database, this.#nanos);
    this.#batch = new AppendBatch({
      database,
      records: this.#records,
      sessions: this.#sessions,
      sources: new SourceTable(database.db),
      nanos: this.#nanos,
    });
    this.#queue = new AppendQueue({
      database,
      batch: this.#batch,
      clock,
      turn: this.#turn,
      published: ({ uid }, { records, at }) => {
        if (this.#hub.isFollowed(uid))
          this.#hub.publish(
            uid,
            records.map((record) => ({ record, recordedAt: at })),
          );
      },
    });
    this.#watch = new ForeignWatch({
      clock,
      walFile: `${options.file}-wal`,
      version: () => database.dataVersion(),
      changed: () => this.#hub.lookAgain(),
    });
    this.#hub = new FollowHub({
      page: (uid, from, limit) => this.#timedPage(uid, from, limit),
      firstCame: () => this.#watch.start(),
      lastWent: () => this.#watch.stop(),
    });
  }

  /** Followers in this process that have begun and not ended. */
  get followers(): number {
    return this.#hub.count;
  }

  head(uid: string): Promise<LogHead> {
    return this.#read(() => ({ ...this.#records.last(uid), fence: this.#sessions.state(uid)?.fence ?? 0 }));
  }

  newFence(uid: string): Promise<number> {
    return this.#write(uid, () => {
      const known = this.#sessions.state(uid);
      if (known?.deleted) throw new SessionDeletedError(uid);
      const fence = (known?.fence ?? 0) + 1;
      if (known) this.#sessions.touch(uid, fence, known.state, this.#clock.now());
      else this.#sessions.insert({ uid, project: '', fence, computeState: 'NONE' }, this.#nanos.next());
      return fence;
    });
  }

  append(
    uid: string,
    events: readonly Event[],
    options: AppendOptions = {},
  ): Promise<readonly ChainedRecord[]> {
    try {
      this.#mustBeOpen();
      return this.#queue.add({ uid, events: encodeAll(uid, events, options), options });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  async read(uid: string, range: ReadRange): Promise<readonly ChainedRecord[]> {
    const { from = 1, to = Number.MAX_SAFE_INTEGER, limit = DEFAULT_LIMIT, maxBytes } = range;
    if (maxBytes !== undefined) {
      const bounds = { to, limit: Math.min(limit, SLICE_RECORDS), maxBytes };
      return this.#read(() => this.#records.boundedPage(uid, from, bounds));
    }
    const records: ChainedRecord[] = [];
    for (let next = from; records.length < limit; ) {
      const slice = Math.min(SLICE_RECORDS, limit - records.length);
      const page = await this.#read(() => this.#records.page(uid, next, to, slice));
      records.push(...page);
      const last = page.at(-1);
      if (!last || page.length < slice) break;
      next = last.seq + 1;
    }
    return records;
  }

  follow(uid: string, options: FollowOptions): AsyncIterable<FollowItem> {
    this.#mustBeOpen();
    return this.#hub.follow(uid, options);
  }

  tell(uid: string, data: unknown): void {
    if (this.#hub.hasLive(uid)) this.#hub.tell(uid, this.#records.last(uid).seq, data);
  }

  create(row: NewSessionRow, guard?: () => void): Promise<SessionRow> {
    return this.#write(row.uid, () => {
      if (this.#sessions.state(row.uid))
        throw new GcError('session-exists', `there is a session ${row.uid} already`);
      this.#sessions.insert({ ...row, fence: 0, computeState: 'NONE' }, this.#nanos.next());
      guard?.();
      return this.#known(row.uid);
    });
  }

  get(uid: string): Promise<SessionRow | undefined> {
    return this.#read(() => this.#sessions.get(uid));
  }

  list(options: ListOptions): Promise<readonly SessionRow[]> {
    return this.#read(() => this.#sessions.list(options));
  }

  fork(fork: ForkOptions): Promise<readonly SessionRow[]> {
    this.#mustBeOpen();
    const forked = this.#forks.then(() =>
      forkSessions(
        {
          database: this.#database,
          records: this.#records,
          sessions: this.#sessions,
          clock: this.#clock,
          nanos: this.#nanos,
        },
        fork,
      ),
    );
    this.#forks = forked.catch(() => undefined);
    return forked;
  }

  update(uid: string, { name }: { readonly name?: string }): Promise<SessionRow> {
    return this.#write(uid, () => {
      if (this.#known(uid).deletedAt !== undefined) throw new SessionDeletedError(uid);
      if (name !== undefined) this.#sessions.rename(uid, name, this.#clock.now());
      return this.#known(uid);
    });
  }

  markDeleted(uid: string): Promise<SessionRow> {
    return this.#write(uid, () => {
      this.#known(uid);
      this.#sessions.markDeleted(uid, this.#clock.now());
      return this.#known(uid);
    });
  }

  async remove(uid: string): Promise<void> {
    // Marked first: what is half removed is not continued, and removing it again finishes the work.
    await this.markDeleted(uid);
    for (;;) {
      const removed = await this.#write(uid, () => this.#sessions.removeRecords(uid, REMOVED_AT_ONCE));
      if (removed < REMOVED_AT_ONCE) break;
      await this.#turn.pause();
    }
    await this.#write(uid, () => this.#sessions.removeRow(uid));
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#hub.close();
    this.#watch.stop();
    await this.#queue.idle();
    await this.#forks;
    this.#database.close();
  }

  #timedPage(uid: string, from: number, limit: number): Promise<readonly TimedRecord[]> {
    return this.#read(() =>
      this.#records.timed(uid, this.#records.boundedPage(uid, from, { limit, maxBytes: PAGE_BYTES })),
    );
  }

  #known(uid: string): SessionRow {
    const row = this.#sessions.get(uid);
    if (!row) throw new UnknownLogError(uid);
    return row;
  }

  async #read<T>(work: () => T): Promise<T> {
    this.#mustBeOpen();
    if (this.#turn.isOver()) await this.#turn.pause();
    this.#mustBeOpen();
    return this.#database.patiently(work);
  }

  async #write<T>(uid: string, work: () => T): Promise<T> {
    this.#mustBeOpen();
    return this.#database.patiently(() => {
      this.#batch.forget(uid);
      return this.#database.transact('full', work);
    });
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new GcError('store-closed', `${this.#options.file} was closed`);
  }
}

/** Everything that can be wrong with what is to be appended is found before anything is written. */
function encodeAll(uid: string, events: readonly Event[], options: AppendOptions): readonly EncodedEvent[] {
  if (options.newIncarnation && options.fence !== undefined)
    throw new GcError('invalid-append', 'a new incarnation mints its own fence: do not pass one');
  const encoded = events.map(encodeEvent);
  const large = encoded.find(({ bytes }) => bytes.length > MAX_EVENT_BYTES);
  if (!large) return encoded;
  throw new GcError(
    'record-too-large',
    `${uid}: a record of ${large.bytes.length} bytes is larger than ${MAX_EVENT_BYTES}`,
    { next: 'keep large content in a file and refer to it' },
  );
}
