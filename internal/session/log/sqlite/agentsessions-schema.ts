import { GcError } from '../../../platform/errors.ts';
import type { Migration, SqliteDatabase } from '../../../platform/sqlite.ts';
import { EventKind, EventSchema } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import { fromBinary } from '../../../protocol/protobuf.ts';

/**
 * The file that other programs of the protocol read and write too: nothing of ours may change it.
 * Source: agentsessions.v1 SQLite schema, versions 1 and 2.
 */
export const AGENTSESSIONS_MIGRATIONS: readonly Migration[] = [
  // What was made before versions were noted has the tables already.
  `CREATE TABLE IF NOT EXISTS sessions (
     session TEXT NOT NULL PRIMARY KEY,
     fence INTEGER NOT NULL DEFAULT 0,
     project TEXT NOT NULL DEFAULT '',
     name TEXT NOT NULL DEFAULT '',
     harness TEXT NOT NULL DEFAULT '',
     model TEXT NOT NULL DEFAULT '',
     parent_uid TEXT NOT NULL DEFAULT '',
     fork_seq INTEGER NOT NULL DEFAULT 0,
     compute_state TEXT NOT NULL DEFAULT '',
     created_at INTEGER NOT NULL DEFAULT 0,
     updated_at INTEGER NOT NULL DEFAULT 0,
     labels TEXT NOT NULL DEFAULT '',
     annotations TEXT NOT NULL DEFAULT '',
     origin TEXT NOT NULL DEFAULT '',
     identity TEXT NOT NULL DEFAULT ''
   );
   CREATE TABLE IF NOT EXISTS events (
     session TEXT NOT NULL,
     seq INTEGER NOT NULL,
     prev_hash TEXT NOT NULL,
     hash TEXT NOT NULL,
     fence INTEGER NOT NULL,
     event BLOB NOT NULL,
     PRIMARY KEY (session, seq)
   );
   CREATE INDEX IF NOT EXISTS sessions_project_created ON sessions (project, created_at DESC, session);`,
  addHarnessRegistry,
];

const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  sessions: [
    ...['session', 'fence', 'project', 'name', 'harness', 'model', 'parent_uid', 'fork_seq', 'compute_state'],
    ...['created_at', 'updated_at', 'labels', 'annotations', 'origin', 'identity'],
  ],
  events: ['session', 'seq', 'prev_hash', 'hash', 'fence', 'event'],
};

/** A database of somebody else is never made into one of ours. @throws GcError `no-session-logs` */
export function refuseForeignTables(db: SqliteDatabase, file: string): void {
  if (db.prepare('SELECT 1 FROM sqlite_master').get() === undefined) return;
  const version = Number(db.pragma('user_version', { simple: true }));
  const isKnown = version >= 0 && version <= AGENTSESSIONS_MIGRATIONS.length;
  for (const [table, wanted] of Object.entries(COLUMNS)) {
    const found = new Set(db.prepare('SELECT name FROM pragma_table_info(?)').pluck().all(table));
    // What the tables of a later version look like is not for us to say.
    if (isKnown ? wanted.every((column) => found.has(column)) : found.size > 0) continue;
    throw new GcError('no-session-logs', `${file} is not a file of session logs`, {
      next: 'name another file; this one is left as it is',
    });
  }
}

/** Names that sessions ran under before there was a registry stay theirs for good. */
function addHarnessRegistry(db: SqliteDatabase): void {
  db.exec(`CREATE TABLE harnesses (
     name TEXT NOT NULL PRIMARY KEY,
     uid TEXT NOT NULL,
     spec TEXT NOT NULL,
     spec_digest TEXT NOT NULL,
     state TEXT NOT NULL CHECK (state IN ('active', 'retired')),
     retire_reason TEXT NOT NULL DEFAULT '',
     retired_at INTEGER NOT NULL DEFAULT 0,
     created_at INTEGER NOT NULL,
     updated_at INTEGER NOT NULL
   );
   CREATE TABLE reserved_harness_names (
     name TEXT NOT NULL PRIMARY KEY,
     reserved_at INTEGER NOT NULL
   );
   CREATE INDEX sessions_harness ON sessions (harness);`);
  const reserve = db.prepare(
    `INSERT OR IGNORE INTO reserved_harness_names (name, reserved_at)
     VALUES (?, CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000000)`,
  );
  for (const name of namesInUse(db)) reserve.run(name);
}

function namesInUse(db: SqliteDatabase): ReadonlySet<string> {
  const rows = db.prepare(`SELECT DISTINCT harness FROM sessions WHERE harness <> ''`).pluck().all();
  const names = new Set(rows as string[]);
  const events = db.prepare<[], { session: string; seq: number; event: Uint8Array }>(
    'SELECT session, seq, event FROM events',
  );
  for (const { session, seq, event } of events.iterate()) {
    const name = harnessOfStart(session, seq, event);
    if (name) names.add(name);
  }
  return names;
}

function harnessOfStart(session: string, seq: number, bytes: Uint8Array): string | undefined {
  try {
    const { kind, body } = fromBinary(EventSchema, bytes);
    if (kind !== EventKind.EVENT_EXECUTION_START || body.case !== 'executionStart') return undefined;
    return body.value.harness;
  } catch (error) {
    throw new GcError(
      'log-corrupt',
      `${session}: record ${seq} cannot be read, so the file stays at schema 1`,
      {
        cause: error,
        next: 'restore the file from a copy',
      },
    );
  }
}
