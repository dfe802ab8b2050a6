import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { GcError, messageOf } from '../../../internal/platform/errors.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { asStoreError, isBusy, keptLocked, openDatabase } from '../../../internal/platform/sqlite.ts';
import { type JournalPlace, journalAt } from '../../../internal/session/log/journal-place.ts';
import { uidsIn } from '../../../internal/session/log/jsonl/log-paths.ts';
import type { LogRepair } from '../../../internal/session/log/jsonl/log-state.ts';
import { type Journal, openJournal } from '../../../internal/session/log/open-journal.ts';
import { cityRoot } from '../city/access.ts';
import type { Input } from '../cli/input.ts';
import type { Context } from '../context.ts';

/** The logs that a command works on. A controller may live beside it: the stores are safe for both. */
export type Logs = Journal & {
  /** The folder of the city; `undefined` with `--journal`. */
  readonly city: string | undefined;
};

/** @throws NoCityError, GcError `no-session-logs` when there are none at that path: nothing is made */
export async function withLogs<T>(
  context: Context,
  input: Input,
  work: (logs: Logs) => Promise<T>,
): Promise<T> {
  const journal = input.text('journal');
  const city = journal === undefined ? await cityRoot(context) : undefined;
  const place: JournalPlace =
    city === undefined
      ? journalAt(context.cwd, journal ?? '')
      : { kind: 'database', path: join(city, '.gc', 'sessions.db') };
  requireLogs(place, city);
  const opened = await openJournal(place, {
    clock: context.clock,
    ids: systemIds,
    owner: process.getuid?.(),
    onRepair: (repair) => context.err.write(repairLine(repair)),
  });
  try {
    return await work({ ...opened, city });
  } finally {
    await opened.store.close();
  }
}

/** What all logs take on disk, in bytes. */
export function bytesOnDisk({ kind, path }: Logs): number {
  const files =
    kind === 'database' ? [path, `${path}-wal`] : readdirSync(path).map((name) => join(path, name));
  return files.reduce((sum, file) => sum + sizeOf(file), 0);
}

function sizeOf(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false });
  return found?.isFile() ? found.size : 0;
}

const repairLine = ({ uid, fromSeq, what, bytes, movedTo }: LogRepair): string =>
  `${uid}: what an interrupted write left from record ${fromSeq} on is cut off (${what}); its ${bytes} bytes are in ${movedTo}\n`;

function requireLogs({ kind, path }: JournalPlace, city: string | undefined): void {
  if (kind === 'folder') requireFolder(path);
  else {
    requireFile(path, city);
    if (city === undefined) requireTables(path);
  }
}

function requireFolder(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) throw new GcError('no-session-logs', `no folder ${path}`);
  if (!found.isDirectory()) throw new GcError('no-session-logs', `${path} is not a folder`);
  if (uidsIn(readdirSync(path)).length > 0) return;
  throw new GcError('no-session-logs', `${path} is not a folder of session logs: no .jsonl file is in it`);
}

function requireFile(file: string, city: string | undefined): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found?.isFile()) return;
  if (found) throw other(file);
  if (city === undefined) throw new GcError('no-session-logs', `no file ${file}`);
  throw new GcError('no-session-logs', `no session of ${city} has a log yet (${file} is not there)`, {
    next: 'gc start, then gc log list; or name other logs with --journal',
  });
}

/** Any other database stays as it is: opening it as logs would add our tables to it. */
function requireTables(file: string): void {
  const db = openDatabase(file, { readonly: true, migrations: [] });
  try {
    const tables = db
      .prepare("SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name IN ('sessions', 'events')")
      .pluck()
      .get();
    if (tables !== 2) throw other(file);
  } catch (error) {
    if (isBusy(error)) throw keptLocked(file, error);
    const known = asStoreError(error, file);
    throw known instanceof GcError && known.code !== 'store-corrupt' ? known : other(file, error);
  } finally {
    db.close();
  }
}

function other(path: string, cause?: unknown): GcError {
  const why = cause === undefined ? '' : `: ${messageOf(cause)}`;
  return new GcError('no-session-logs', `${path} is not a file of session logs${why}`, { cause });
}
