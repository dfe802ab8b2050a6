import { chmodSync, existsSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { ensurePrivateDirFor } from './atomic-file.ts';
import type { Clock } from './clock.ts';
import { codeOf, GcError, messageOf } from './errors.ts';
import type { Ids } from './ids.ts';

export type SqliteDatabase = Sqlite.Database;

export interface OpenOptions {
  /** Step n brings `user_version` n to n + 1. Each runs in one transaction. */
  readonly migrations: readonly string[];
  readonly readonly?: boolean;
}

const RETRY_BASE_MS = 5;
const RETRY_CAP_MS = 100;
/** A writer that waits longer than this is told; the usual wait is a few milliseconds. */
const RETRY_TOTAL_MS = 15_000;
const OWNER_ONLY = 0o600;

/**
 * Opens (and makes, owner-only) a database in WAL mode that never blocks the event loop: a busy database fails at
 * once and `withRetry` waits outside.
 * @throws GcError `store-corrupt`, `store-newer`, `store-unwritable`
 */
export function openDatabase(file: string, options: OpenOptions): SqliteDatabase {
  const fresh = !existsSync(file);
  if (!options.readonly) ensurePrivateDirFor(file);
  let db: SqliteDatabase | undefined;
  try {
    db = new Sqlite(file, {
      timeout: 0,
      readonly: options.readonly ?? false,
      fileMustExist: options.readonly ?? false,
    });
    if (fresh && !options.readonly) chmodSync(file, OWNER_ONLY);
    prepare(db, file, options);
    return db;
  } catch (error) {
    db?.close();
    throw asStoreError(error, file);
  }
}

function prepare(db: SqliteDatabase, file: string, options: OpenOptions): void {
  db.defaultSafeIntegers(false);
  if (!options.readonly) {
    // The first opener switches to WAL; a second one that meets it must wait, and does so here only, once.
    db.pragma('busy_timeout = 2000');
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = NORMAL');
    migrate(db, file, options.migrations);
    db.pragma('busy_timeout = 0');
  }
  db.pragma('foreign_keys = ON');
}

function migrate(db: SqliteDatabase, file: string, migrations: readonly string[]): void {
  const version = () => Number(db.pragma('user_version', { simple: true }));
  if (version() > migrations.length) {
    throw new GcError('store-newer', `${file} was written by a newer version of gc (schema ${version()})`, {
      next: 'use the newer gc, or move the file away',
    });
  }
  if (version() === migrations.length) return;
  db.transaction(() => {
    for (let next = version(); next < migrations.length; next += 1) db.exec(migrations[next] ?? '');
    db.pragma(`user_version = ${migrations.length}`);
  }).immediate();
}

/** Runs one short transaction. Nothing may be awaited inside. */
export function inTransaction<T>(db: SqliteDatabase, work: () => T): T {
  return db.transaction(work).immediate();
}

/** Repeats `work` while the database is busy, waiting outside of it with jitter. @throws GcError `store-busy` after 15 s */
export async function withRetry<T>(clock: Clock, ids: Pick<Ids, 'random'>, work: () => T): Promise<T> {
  const started = clock.monotonic();
  for (let attempt = 0; ; attempt += 1) {
    try {
      return work();
    } catch (error) {
      if (!isBusy(error)) throw asStoreError(error, 'the store');
      if (clock.monotonic() - started > RETRY_TOTAL_MS) {
        throw new GcError('store-busy', 'the store is locked by another process', { cause: error });
      }
    }
    const ceiling = Math.min(RETRY_CAP_MS, RETRY_BASE_MS * 2 ** Math.min(attempt, 10));
    await clock.sleep(1 + ids.random() * ceiling);
  }
}

export function isBusy(error: unknown): boolean {
  const code = codeOf(error);
  return code?.startsWith('SQLITE_BUSY') === true || code === 'SQLITE_LOCKED';
}

/** Gives SQLite's failures a code and a next step of ours; anything else passes through. */
export function asStoreError(error: unknown, file: string): unknown {
  if (error instanceof GcError) return error;
  const code = codeOf(error) ?? '';
  if (code === 'SQLITE_FULL' || code === 'ENOSPC' || code.startsWith('SQLITE_IOERR')) {
    return new GcError('store-full', `cannot write ${file}: ${messageOf(error)}`, {
      cause: error,
      next: 'free some disk space; nothing acknowledged was lost',
    });
  }
  if (code === 'SQLITE_CORRUPT' || code === 'SQLITE_NOTADB') {
    return new GcError('store-corrupt', `${file} is not a readable database: ${messageOf(error)}`, {
      cause: error,
      next: `move ${file} away and start again; the next start rebuilds what it can`,
    });
  }
  if (
    code === 'SQLITE_CANTOPEN' ||
    code === 'SQLITE_READONLY' ||
    code === 'EACCES' ||
    code === 'EPERM' ||
    code === 'EROFS'
  ) {
    return new GcError('store-unwritable', `cannot open ${file}: ${messageOf(error)}`, {
      cause: error,
      next: 'check who owns the folder and its permissions',
    });
  }
  return error;
}

/** The bare file under a lifetime lock: rollback journal, no waiting. `undefined` when it must exist and does not. */
export function openLockFile(file: string, mustExist: boolean): SqliteDatabase | undefined {
  if (mustExist && !existsSync(file)) return undefined;
  try {
    const db = new Sqlite(file, { timeout: 0 });
    chmodSync(file, OWNER_ONLY);
    return db;
  } catch (error) {
    throw asStoreError(error, file);
  }
}
