import { chmodSync, existsSync, statSync } from 'node:fs';
import Sqlite from 'better-sqlite3';
import { ensurePrivateDirFor } from './atomic-file.ts';
import type { Clock } from './clock.ts';
import { codeOf, GcError, messageOf } from './errors.ts';
import type { Ids } from './ids.ts';

export type SqliteDatabase = Sqlite.Database;

/** SQL, or what SQL alone cannot do; it runs inside the transaction of its step. */
export type Migration = string | ((db: SqliteDatabase) => void);

export interface OpenOptions {
  /** Step n brings `user_version` n to n + 1. All that are missing run in one transaction. */
  readonly migrations: readonly Migration[];
  readonly readonly?: boolean;
  /** Looks at the file before the first write: what it throws leaves the file as it is. */
  readonly refuse?: (db: SqliteDatabase) => void;
}

const RETRY_BASE_MS = 5;
const RETRY_CAP_MS = 100;
/** A writer that waits longer than this is told; the usual wait is a few milliseconds. */
const RETRY_TOTAL_MS = 15_000;
const OWNER_ONLY = 0o600;
/** SQLite answers a contended switch to WAL at once, whatever its timeout is: this is how long we insist. */
const WAL_SWITCH_TOTAL_MS = 5_000;
const WAL_SWITCH_FIRST_WAIT_MS = 2;
const WAL_SWITCH_LAST_WAIT_MS = 64;

/**
 * Opens (and makes, owner-only) a database in WAL mode that never blocks the event loop: a busy database fails at
 * once and `withRetry` waits outside.
 * @throws GcError `store-corrupt`, `store-newer`, `store-unwritable`, `store-busy` when it is kept locked for seconds
 */
export function openDatabase(file: string, options: OpenOptions): SqliteDatabase {
  const fresh = !existsSync(file);
  if (!fresh && !statSync(file).isFile()) throw notAFile(file);
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
    throw isBusy(error) ? keptLocked(file, error) : asStoreError(error, file);
  }
}

function prepare(db: SqliteDatabase, file: string, options: OpenOptions): void {
  db.defaultSafeIntegers(false);
  if (!options.readonly) {
    // The first opener makes the file; a second one that meets it must wait, and does so here only, once.
    db.pragma('busy_timeout = 2000');
    options.refuse?.(db);
    refuseUnknownSchema(db, file, options.migrations.length);
    switchToWal(db);
    db.pragma('synchronous = NORMAL');
    migrate(db, file, options.migrations);
    db.pragma('busy_timeout = 0');
  }
  db.pragma('foreign_keys = ON');
}

/** Before the first write: a file that we do not understand stays as it is. */
function refuseUnknownSchema(db: SqliteDatabase, file: string, known: number): void {
  const version = schemaVersion(db);
  if (version >= 0 && version <= known) return;
  throw new GcError('store-newer', `${file} was written by a newer version of gc (schema ${version})`, {
    next: 'use the newer gc, or move the file away',
  });
}

function notAFile(file: string): GcError {
  return new GcError('store-unwritable', `cannot open ${file}: it is not a file`, { next: 'name another' });
}

function switchToWal(db: SqliteDatabase): void {
  let waited = 0;
  for (let wait = WAL_SWITCH_FIRST_WAIT_MS; ; wait = Math.min(WAL_SWITCH_LAST_WAIT_MS, wait * 2)) {
    try {
      if (db.pragma('journal_mode', { simple: true }) !== 'wal') db.pragma('journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || waited >= WAL_SWITCH_TOTAL_MS) throw error;
    }
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, wait);
    waited += wait;
  }
}

function migrate(db: SqliteDatabase, file: string, migrations: readonly Migration[]): void {
  if (schemaVersion(db) === migrations.length) return;
  db.transaction(() => {
    refuseUnknownSchema(db, file, migrations.length);
    for (let next = schemaVersion(db); next < migrations.length; next += 1) {
      const step = migrations[next] ?? '';
      if (typeof step === 'string') db.exec(step);
      else step(db);
    }
    db.pragma(`user_version = ${migrations.length}`);
  }).immediate();
}

function schemaVersion(db: SqliteDatabase): number {
  return Number(db.pragma('user_version', { simple: true }));
}

/** Runs one short transaction. Nothing may be awaited inside. */
export function inTransaction<T>(db: SqliteDatabase, work: () => T): T {
  return db.transaction(work).immediate();
}

/**
 * Repeats `work` while the database is busy, waiting outside of it with jitter.
 * @param capMs the longest single wait
 * @param file what errors name
 * @throws GcError `store-busy` after 15 s
 */
export async function withRetry<T>(
  clock: Clock,
  ids: Pick<Ids, 'random'>,
  work: () => T | Promise<T>,
  capMs: number = RETRY_CAP_MS,
  file = 'the store',
): Promise<T> {
  const started = clock.monotonic();
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error)) throw asStoreError(error, file);
      if (clock.monotonic() - started > RETRY_TOTAL_MS) {
        throw new GcError('store-busy', `${file} is locked by another process`, { cause: error });
      }
    }
    const ceiling = Math.min(capMs, RETRY_BASE_MS * 2 ** Math.min(attempt, 10));
    await clock.sleep(1 + ids.random() * ceiling);
  }
}

export function isBusy(error: unknown): boolean {
  const code = codeOf(error);
  return code?.startsWith('SQLITE_BUSY') === true || code === 'SQLITE_LOCKED';
}

/** What to tell of a file that was waited for and did not become free. */
export function keptLocked(file: string, cause: unknown): GcError {
  return new GcError('store-busy', `${file} is kept locked by another process`, {
    cause,
    next: 'try again; when it stays so, end the program that has the file open',
  });
}

/** Gives SQLite's failures a code and a next step of ours; anything else passes through. */
export function asStoreError(error: unknown, file: string): unknown {
  if (error instanceof GcError) return error;
  const code = codeOf(error) ?? '';
  if (code === 'SQLITE_FULL' || code === 'ENOSPC' || /^SQLITE_IOERR(?!.*_READ$)/.test(code)) {
    return new GcError('store-full', `cannot write ${file}: ${messageOf(error)}`, {
      cause: error,
      next: 'free some disk space; nothing acknowledged was lost',
    });
  }
  if (/^SQLITE_(CORRUPT|NOTADB|IOERR)/.test(code)) {
    return new GcError('store-corrupt', `${file} is not a readable database: ${messageOf(error)}`, {
      cause: error,
      next: `move ${file} away and start again; the next start rebuilds what it can`,
    });
  }
  if (/^SQLITE_(CANTOPEN|READONLY)|^(EACCES|EPERM|EROFS)$/.test(code)) {
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
