import { GcError } from '../../../platform/errors.ts';
import type { Migration, SqliteDatabase } from '../../../platform/sqlite.ts';
import { EventKind, EventSchema } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import { fromBinary } from '../../../protocol/protobuf.ts';

/**
 * The file that other programs of the protocol read and write too: nothing of ours may change it.
 * Source: agentsessions.v1 SQLite schema, versions 1 and 2.
 */
export const AGENTSESSIONS_MIGRATIONS: readonly Migration[] = [
  `CREATE TABLE sessions (
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
   CREATE TABLE events (
     session TEXT NOT NULL,
     seq INTEGER NOT NULL,
     prev_hash TEXT NOT NULL,
     hash TEXT NOT NULL,
     fence INTEGER NOT NULL,
     event BLOB NOT NULL,
     PRIMARY KEY (session, seq)
   );
   CREATE INDEX sessions_project_created ON sessions (project, created_at DESC, session);`,
  addHarnessRegistry,
];

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
