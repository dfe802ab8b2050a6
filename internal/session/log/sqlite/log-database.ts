import { statSync } from 'node:fs';
import type { Clock } from '../../../platform/clock.ts';
import { GcError } from '../../../platform/errors.ts';
import type { Ids } from '../../../platform/ids.ts';
import { asStoreError, openDatabase, type SqliteDatabase, withRetry } from '../../../platform/sqlite.ts';
import type { Durability } from '../session-log.ts';
import { AGENTSESSIONS_MIGRATIONS, refuseForeignTables } from './agentsessions-schema.ts';
import { migrateGascityTables } from './gascity-schema.ts';

/** The steps of a write, each of which can fail on its own. */
export type WriteStep = 'begin' | 'record' | 'time' | 'source' | 'session' | 'copy' | 'commit';

export interface LogDatabaseOptions {
  readonly file: string;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'random'>;
  /** Told before each step of a write; what it throws is the failure of that step. */
  readonly onStep?: ((step: WriteStep) => void) | undefined;
}

/** Writers of this file are quick: waiting longer between tries would only add to the wait. */
const RETRY_CAP_MS = 5;
/**
 * Pages in the file beside the database until a commit brings them into it: 12 MB. Seldomer than usual, so that it costs an
 * append less, and more than a fork of 10,000 records writes, so that others do not do it for the fork.
 */
const CHECKPOINT_PAGES = 3_000;
/** A large fork makes the file beside the database grow; it is cut back to this when it is used up. */
const WAL_KEPT_BYTES = 16 * 1024 * 1024;

/** One connection to a file of session logs. All work is synchronous and short; a busy file is waited for outside. */
export class LogDatabase {
  readonly db: SqliteDatabase;
  readonly file: string;
  readonly #options: LogDatabaseOptions;
  readonly #begin: { run(): unknown };
  readonly #commit: { run(): unknown };
  readonly #version: { get(): unknown };
  #durability: Durability = 'group';
  /** Which file was opened. */
  readonly #inode: number | undefined;

  /** @throws GcError `store-corrupt`, `store-newer`, `no-session-logs`, `store-unwritable`, `store-full` */
  constructor(options: LogDatabaseOptions) {
    this.#options = options;
    this.file = options.file;
    this.db = openDatabase(options.file, {
      migrations: AGENTSESSIONS_MIGRATIONS,
      refuse: (db) => refuseForeignTables(db, options.file),
    });
    try {
      this.db.pragma('busy_timeout = 2000');
      migrateGascityTables(this.db, options.file);
      this.db.pragma('busy_timeout = 0');
      this.db.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
      this.db.pragma(`journal_size_limit = ${WAL_KEPT_BYTES}`);
      this.#inode = inodeOf(options.file);
      this.#begin = this.db.prepare('BEGIN IMMEDIATE');
      this.#commit = this.db.prepare('COMMIT');
      this.#version = this.db.prepare('PRAGMA data_version').pluck();
    } catch (error) {
      this.db.close();
      throw asStoreError(error, options.file);
    }
  }

  step(step: WriteStep): void {
    this.#options.onStep?.(step);
  }

  /** Changes when another connection has committed; touches no table. */
  dataVersion(): number {
    return Number(this.#version.get());
  }

  /** One transaction, now. @throws SQLite's own errors, busy among them; nothing was changed then */
  transact<T>(durability: Durability, work: () => T): T {
    this.begin(durability);
    try {
      const result = work();
      this.commit();
      return result;
    } catch (error) {
      this.rollback();
      throw error;
    }
  }

  /** @throws GcError `store-removed` */
  begin(durability: Durability): void {
    if (durability === 'full') this.#refuseWhenRemoved();
    if (durability !== this.#durability) {
      this.db.pragma(durability === 'full' ? 'synchronous = FULL' : 'synchronous = NORMAL');
      this.#durability = durability;
    }
    this.step('begin');
    this.#begin.run();
  }

  commit(): void {
    this.step('commit');
    this.#commit.run();
  }

  rollback(): void {
    if (this.db.inTransaction) this.db.exec('ROLLBACK');
  }

  /** Repeats while the file is busy. @throws GcError `store-busy`, `store-full` and other errors of ours */
  async patiently<T>(work: () => T | Promise<T>): Promise<T> {
    try {
      return await withRetry(this.#options.clock, this.#options.ids, work, RETRY_CAP_MS, this.file);
    } catch (error) {
      throw asStoreError(error, this.file);
    }
  }

  close(): void {
    this.db.close();
  }

  /** What is written into a deleted file is lost with the last process that has it open: nobody is to rely on it. */
  #refuseWhenRemoved(): void {
    if (inodeOf(this.file) === this.#inode) return;
    throw new GcError('store-removed', `${this.file} was removed or replaced while it was in use`, {
      next: 'put the file back, or start the program that has it open again',
    });
  }
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino;
}
