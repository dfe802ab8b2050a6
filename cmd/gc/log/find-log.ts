import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openCityDatabase } from '../../../internal/beads/sqlite/city-database.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { isSessionUid } from '../../../internal/protocol/session-id.ts';
import { displayName } from '../../../internal/session/display.ts';
import { LOG_UID_KEY } from '../../../internal/session/journal/facts.ts';
import { rowsOf } from '../../../internal/session/log/browse.ts';
import { UnknownLogError } from '../../../internal/session/log/errors.ts';
import type { SessionRow } from '../../../internal/session/log/session-log.ts';
import type { SessionRecord } from '../../../internal/session/record.ts';
import {
  AmbiguousSessionError,
  resolveSession,
  UnknownSessionError,
} from '../../../internal/session/resolve.ts';
import { SessionStore } from '../../../internal/session/session-store.ts';
import type { Context } from '../context.ts';
import type { Logs } from './open-logs.ts';

const UID_START = 'sess-';

/**
 * The session that a person means: the uid of a log or the beginning of one, a name, alias or id of a session of the
 * city, also of a closed one, or the name of a log.
 * @throws UnknownLogError, UnknownSessionError, AmbiguousSessionError, GcError `no-log`
 */
export async function findLog(context: Context, logs: Logs, token: string): Promise<SessionRow> {
  if (token.startsWith(UID_START)) return byUid(logs, token);
  const record = await cityRecord(context, logs, token);
  if (record instanceof UnknownSessionError) return byName(logs, token, record);
  const uid = record.metadata[LOG_UID_KEY];
  const row = uid ? await logs.store.get(uid) : undefined;
  if (row) return row;
  throw new GcError('no-log', `${displayName(record)} (${record.id}) has no log in ${logs.path} yet`, {
    next: 'gc log list',
  });
}

/** The sessions of the city that are open; none without a city. */
export async function openRecords(context: Context, logs: Logs): Promise<readonly SessionRecord[]> {
  return cityRecords(context, logs, 'open');
}

async function byUid({ store }: Logs, token: string): Promise<SessionRow> {
  const row = isSessionUid(token) ? await store.get(token) : undefined;
  if (row) return row;
  const matches: SessionRow[] = [];
  for await (const each of rowsOf(store, { includeDeleted: true })) {
    if (each.uid === token) return each;
    if (each.uid.startsWith(token)) matches.push(each);
  }
  return only(token, matches) ?? unknown(new UnknownLogError(token));
}

async function byName({ store }: Logs, token: string, otherwise: Error): Promise<SessionRow> {
  const matches: SessionRow[] = [];
  for await (const row of rowsOf(store, { includeDeleted: true })) {
    if (row.uid === token) return row; // as others name their logs
    if (row.name === token) matches.push(row);
  }
  return only(token, matches) ?? unknown(otherwise);
}

function only(token: string, rows: readonly SessionRow[]): SessionRow | undefined {
  const [first, second] = rows;
  if (!second) return first;
  throw new AmbiguousSessionError(
    token,
    rows.map(({ uid, name }) => ({ id: uid, label: name || uid })),
  );
}

async function cityRecord(
  context: Context,
  logs: Logs,
  token: string,
): Promise<SessionRecord | UnknownSessionError> {
  const records = await cityRecords(context, logs, 'all');
  const found = resolveSession({ token, records, configured: [], closedToo: true, rig: '' });
  switch (found.kind) {
    case 'session':
      return found.record;
    case 'ambiguous':
      throw new AmbiguousSessionError(token, found.matches);
    case 'none':
      return new UnknownSessionError(token, found.suggestions);
    case 'reserved':
      return new UnknownSessionError(token, []);
  }
}

async function cityRecords(
  context: Context,
  { city }: Logs,
  which: 'open' | 'all',
): Promise<readonly SessionRecord[]> {
  const file = city === undefined ? undefined : join(city, '.gc', 'city.db');
  if (file === undefined || !existsSync(file)) return [];
  const db = openCityDatabase(file, context.clock);
  try {
    return await new SessionStore(db).list(which);
  } finally {
    db.close();
  }
}

function unknown(error: Error): never {
  throw error;
}
