import { inTransaction, openDatabase } from '../../../internal/platform/sqlite.ts';
import { AGENTSESSIONS_MIGRATIONS } from '../../../internal/session/log/sqlite/agentsessions-schema.ts';

/**
 * Drops everything of a session's log after record `keep`, as a crash before it would have left the file. Nobody else may
 * have the file open.
 */
export function cutLogFile(file: string, uid: string, keep: number): void {
  const db = openDatabase(file, { migrations: AGENTSESSIONS_MIGRATIONS });
  try {
    inTransaction(db, () => {
      db.prepare('DELETE FROM events WHERE session = ? AND seq > ?').run(uid, keep);
      db.prepare('DELETE FROM gascity_times WHERE session = ? AND seq > ?').run(uid, keep);
      db.prepare('DELETE FROM gascity_sources WHERE session = ? AND last_seq > ?').run(uid, keep);
    });
  } finally {
    db.close();
  }
}
