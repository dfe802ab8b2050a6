import { GcError } from '../../../platform/errors.ts';
import type { SqliteDatabase } from '../../../platform/sqlite.ts';

/**
 * What we keep in the same file beside the protocol's tables. Step n brings our version n to n + 1; whoever needs a table
 * of their own appends a step here.
 */
const STEPS: readonly string[] = [
  /* Sparse: a record has the time of the nearest row at or before it, so that a burst within one millisecond costs one row. */
  `CREATE TABLE gascity_times (
     session TEXT NOT NULL,
     seq INTEGER NOT NULL,
     at INTEGER NOT NULL,
     PRIMARY KEY (session, seq)
   ) WITHOUT ROWID;
   CREATE TABLE gascity_sources (
     session TEXT NOT NULL,
     source TEXT NOT NULL,
     first_seq INTEGER NOT NULL,
     last_seq INTEGER NOT NULL,
     PRIMARY KEY (session, source)
   ) WITHOUT ROWID;
   CREATE TABLE gascity_deleted (
     session TEXT NOT NULL PRIMARY KEY,
     deleted_at INTEGER NOT NULL
   ) WITHOUT ROWID;`,
];

const VERSION_TABLE = 'CREATE TABLE IF NOT EXISTS gascity_schema (version INTEGER NOT NULL)';

/** @throws GcError `store-newer`, before anything is written */
export function migrateGascityTables(db: SqliteDatabase, file: string): void {
  if (versionOf(db, file) === STEPS.length) return;
  db.transaction(() => {
    db.exec(VERSION_TABLE);
    for (const step of STEPS.slice(versionOf(db, file))) db.exec(step);
    db.exec('DELETE FROM gascity_schema');
    db.prepare('INSERT INTO gascity_schema (version) VALUES (?)').run(STEPS.length);
  }).immediate();
}

function versionOf(db: SqliteDatabase, file: string): number {
  const known = db.prepare(`SELECT 1 FROM sqlite_master WHERE name = 'gascity_schema'`).get() !== undefined;
  const version = known ? Number(db.prepare('SELECT version FROM gascity_schema').pluck().get() ?? 0) : 0;
  if (version <= STEPS.length) return version;
  throw new GcError('store-newer', `${file} was written by a newer version of gc (tables ${version})`, {
    next: 'use the newer gc, or move the file away',
  });
}
