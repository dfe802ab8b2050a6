import type { Clock } from '../platform/clock.ts';
import type { SqliteDatabase } from '../platform/sqlite.ts';
import type { CityEvent, EventBus, EventFilter, NewEvent } from './event.ts';
import type { EventTable } from './event-table.ts';

/** How rows are reached: each call is one short piece of synchronous work, repeated while the database is busy. */
export interface DatabaseAccess {
  read<T>(work: () => T): Promise<T>;
  /** One transaction. */
  write<T>(work: () => T): Promise<T>;
}

/** How soon another process's event is seen. Costs one header read, and only while somebody follows. */
export const FOREIGN_CHANGE_POLL_MS = 200;
const PAGE_ROWS = 500;

/** The city's events as rows of its database. */
export class SqliteEventBus implements EventBus {
  readonly #db: SqliteDatabase;
  readonly #table: EventTable;
  readonly #access: DatabaseAccess;
  readonly #clock: Clock;
  readonly #waiting = new Set<() => void>();
  #followers = 0;
  #version = 0;
  #polling: AbortController | undefined;
  #closed = false;

  constructor(options: {
    readonly db: SqliteDatabase;
    readonly table: EventTable;
    readonly access: DatabaseAccess;
    readonly clock: Clock;
  }) {
    this.#db = options.db;
    this.#table = options.table;
    this.#access = options.access;
    this.#clock = options.clock;
  }

  record(event: NewEvent): Promise<CityEvent> {
    return this.#access.write(() => {
      const recorded = this.#table.insert(event, this.#clock.now());
      this.announceAfterCommit();
      return recorded;
    });
  }

  list(filter: EventFilter): Promise<readonly CityEvent[]> {
    return this.#access.read(() => this.#table.list(filter));
  }

  latestSeq(): Promise<number> {
    return this.#access.read(() => this.#table.latestSeq());
  }

  async *follow(afterSeq: number, signal: AbortSignal): AsyncGenerator<CityEvent, void, undefined> {
    for await (const page of this.pages(afterSeq, signal)) {
      for (const event of page) {
        if (signal.aborted) return;
        yield event;
      }
    }
  }

  /** `follow` in batches, for readers that do something costly per step. */
  async *pages(afterSeq: number, signal: AbortSignal): AsyncGenerator<readonly CityEvent[], void, undefined> {
    let cursor = afterSeq;
    this.#followers += 1;
    if (!this.#polling) this.#startPolling();
    try {
      while (!signal.aborted && !this.#closed) {
        const seen = this.#version;
        const page = await this.list({ afterSeq: cursor, limit: PAGE_ROWS });
        const last = page.at(-1);
        if (last) {
          cursor = last.seq;
          yield page;
        }
        if (page.length < PAGE_ROWS) await this.#changedSince(seen, signal);
      }
    } finally {
      this.#followers -= 1;
      if (this.#followers === 0) this.#stopPolling();
    }
  }

  /** Called inside a transaction that recorded events: followers look again once it is committed. */
  announceAfterCommit(): void {
    queueMicrotask(() => this.#announce());
  }

  /** Ends every follower. */
  close(): void {
    this.#closed = true;
    this.#stopPolling();
    this.#announce();
  }

  #announce(): void {
    this.#version += 1;
    for (const wake of [...this.#waiting]) wake();
  }

  #changedSince(version: number, signal: AbortSignal): Promise<void> {
    if (this.#version !== version || signal.aborted || this.#closed) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake, { once: true });
    });
  }

  #startPolling(): void {
    const lifetime = new AbortController();
    this.#polling = lifetime;
    void this.#poll(lifetime.signal, this.#dataVersion());
  }

  #stopPolling(): void {
    this.#polling?.abort();
    this.#polling = undefined;
  }

  async #poll(signal: AbortSignal, initial: number | undefined): Promise<void> {
    let known = initial;
    while (!signal.aborted) {
      try {
        await this.#clock.sleep(FOREIGN_CHANGE_POLL_MS, signal);
      } catch {
        // The sleep ends early only because nobody follows any more.
        return;
      }
      const current = this.#dataVersion();
      if (current !== undefined && current === known) continue;
      known = current;
      this.#announce();
    }
  }

  /** Changes when another connection commits; reading it touches no table. `undefined` when it could not be read. */
  #dataVersion(): number | undefined {
    try {
      return Number(this.#db.pragma('data_version', { simple: true }));
    } catch {
      // The followers look for themselves then, and meet the error where it can be retried or reported.
      return undefined;
    }
  }
}
