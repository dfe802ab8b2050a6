import type { Clock } from '../../../platform/clock.ts';
import { GcError } from '../../../platform/errors.ts';
import type { Ids } from '../../../platform/ids.ts';
import { KeyedMutex } from '../../../platform/keyed-mutex.ts';
import { asStoreError, isBusy, openLockFile, type SqliteDatabase } from '../../../platform/sqlite.ts';

/** Whoever holds a lock writes once and lets go: a few milliseconds. */
const WAIT_JITTER_MS = 6;
const WAIT_TOTAL_MS = 15_000;

/**
 * One writer at a time per lock file, over all processes. The kernel frees a lock at once when its holder dies: it is
 * held by an exclusive transaction on an empty SQLite file. Within the process, waiters are served in the order they came.
 */
export class WriterLocks {
  readonly #clock: Clock;
  readonly #ids: Pick<Ids, 'random'>;
  readonly #turns = new KeyedMutex();
  readonly #open = new Map<string, SqliteDatabase>();

  constructor(clock: Clock, ids: Pick<Ids, 'random'>) {
    this.#clock = clock;
    this.#ids = ids;
  }

  /** @throws GcError `store-busy` when another process has it for more than 15 s */
  async run<T>(file: string, work: () => Promise<T>): Promise<T> {
    return this.#turns.run(file, async () => {
      const db = this.#database(file);
      await this.#take(db, file);
      try {
        return await work();
      } finally {
        db.exec('ROLLBACK');
      }
    });
  }

  close(): void {
    for (const db of this.#open.values()) db.close();
    this.#open.clear();
  }

  async #take(db: SqliteDatabase, file: string): Promise<void> {
    const started = this.#clock.monotonic();
    for (;;) {
      try {
        db.exec('BEGIN EXCLUSIVE');
        return;
      } catch (error) {
        if (!isBusy(error)) throw asStoreError(error, file);
        if (this.#clock.monotonic() - started > WAIT_TOTAL_MS) {
          throw new GcError('store-busy', `${file} is held by another process`, { cause: error });
        }
      }
      await this.#clock.sleep(1 + this.#ids.random() * WAIT_JITTER_MS);
    }
  }

  #database(file: string): SqliteDatabase {
    const known = this.#open.get(file);
    if (known) return known;
    const db = openLockFile(file, false);
    if (!db) throw new GcError('store-unwritable', `cannot open ${file}`);
    this.#open.set(file, db);
    return db;
  }
}
