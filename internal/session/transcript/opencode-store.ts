import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { GcError } from '../../platform/errors.ts';
import { fieldsOf } from '../../platform/fields.ts';
import { openDatabase, type SqliteDatabase } from '../../platform/sqlite.ts';
import { entriesOf, isFile } from './files.ts';
import type { OpencodeMessage } from './opencode-observed.ts';
import { unreadable } from './tail-entries.ts';
import { parseJson, textOf, timeOf } from './values.ts';

/** A conversation as the program lists it. */
export interface OpencodeSession {
  readonly file: string;
  readonly workDir: string;
  /** Milliseconds since the epoch. */
  readonly beganAt: number;
}

/** A page of a conversation. Ids grow with time. */
export interface MessagePage {
  /** Oldest first. */
  readonly messages: readonly OpencodeMessage[];
  /** Parts that are damaged, or longer than is read. */
  readonly badParts: number;
  /** The message that the page is to come after is there. */
  readonly isAfterThere: boolean;
}

export interface PageRequest {
  /** The page begins behind this message; `''`: with the first one. */
  readonly after: string;
  readonly limit: number;
  /** The last ones instead. */
  readonly fromEnd?: boolean;
}

const DATABASE = 'opencode.db';
const MARK = '#';
/** A part holds what one tool said at most: longer ones are left out. */
const MAX_PART_BYTES = 4_194_304;
/** Conversations of one folder that are looked at, the newest first. */
const SESSIONS_LISTED = 200;

/** Of the folders of the work, those of one root. */
export async function sessionsIn(root: string, dirs: readonly string[]): Promise<readonly OpencodeSession[]> {
  const file = join(root, DATABASE);
  if (await isFile(file)) return inDatabase(file, (db) => listedSessions(db, file, dirs));
  const found: OpencodeSession[] = [];
  for (const each of await sessionFiles(root)) {
    const info = fieldsOf(await jsonIn(each));
    const workDir = textOf(info['directory']);
    if (!dirs.includes(workDir) || info['parentID'] !== undefined) continue;
    found.push({ file: each, workDir, beganAt: timeOf(fieldsOf(info['time'])['created']) });
  }
  return found.sort((a, b) => b.beganAt - a.beganAt).slice(0, SESSIONS_LISTED);
}

/** The conversation with that id; `undefined`: it is not there. */
export async function sessionWithId(root: string, id: string): Promise<string | undefined> {
  const file = join(root, DATABASE);
  if (await isFile(file)) {
    const isThere = inDatabase(
      file,
      (db) => db.prepare<[string]>('SELECT 1 FROM session WHERE id = ?').get(id) !== undefined,
    );
    return isThere ? nameOf(file, id) : undefined;
  }
  return (await sessionFiles(root)).find((each) => basename(each) === `${id}.json`);
}

export function sessionIdOf(file: string): string {
  const mark = file.lastIndexOf(MARK);
  return mark < 0 ? basename(file, '.json') : file.slice(mark + 1);
}

/** `undefined`: the conversation is not there any more. @throws GcError `transcript-unreadable`, `transcript-version` */
export async function pageOf(file: string, request: PageRequest): Promise<MessagePage | undefined> {
  const mark = file.lastIndexOf(MARK);
  if (mark < 0) return pageOfFiles(file, request);
  const database = file.slice(0, mark);
  if (!(await isFile(database))) return undefined;
  return inDatabase(database, (db) => pageOfDatabase(db, file.slice(mark + 1), request));
}

const nameOf = (file: string, id: string): string => `${file}${MARK}${id}`;

/** Opened for one short look: the program goes on writing. */
function inDatabase<T>(file: string, work: (db: SqliteDatabase) => T): T {
  let db: SqliteDatabase | undefined;
  try {
    db = openDatabase(file, { migrations: [], readonly: true });
    return work(db);
  } catch (error) {
    if (error instanceof Error && /no such (table|column)/.test(error.message)) {
      throw new GcError(
        'transcript-version',
        `${file} was written by a version of opencode that is not known`,
        {
          cause: error,
          next: 'gc session peek shows the screen',
        },
      );
    }
    throw unreadable(file, error);
  } finally {
    db?.close();
  }
}

function listedSessions(db: SqliteDatabase, file: string, dirs: readonly string[]): OpencodeSession[] {
  const marks = dirs.map(() => '?').join(', ');
  const rows = db
    .prepare<unknown[], { id: string; directory: string; time_created: number }>(
      `SELECT id, directory, time_created FROM session
       WHERE directory IN (${marks}) AND parent_id IS NULL ORDER BY time_created DESC LIMIT ${SESSIONS_LISTED}`,
    )
    .all(...dirs);
  return rows.map((row) => ({
    file: nameOf(file, row.id),
    workDir: row.directory,
    beganAt: timeOf(row.time_created),
  }));
}

function pageOfDatabase(
  db: SqliteDatabase,
  session: string,
  { after, limit, fromEnd = false }: PageRequest,
): MessagePage | undefined {
  if (db.prepare<[string]>('SELECT 1 FROM session WHERE id = ?').get(session) === undefined) return undefined;
  const isAfterThere =
    after === '' ||
    db
      .prepare<[string, string]>('SELECT 1 FROM message WHERE id = ? AND session_id = ?')
      .get(after, session) !== undefined;
  const rows = db
    .prepare<[string, string, number], { id: string; data: string }>(
      `SELECT id, data FROM message WHERE session_id = ? AND id > ? ORDER BY id ${fromEnd ? 'DESC' : 'ASC'} LIMIT ?`,
    )
    .all(session, isAfterThere ? after : '', limit);
  const partsOf = db.prepare<[number, string], { id: string; data: string | null }>(
    'SELECT id, CASE WHEN length(data) <= ? THEN data END AS data FROM part WHERE message_id = ? ORDER BY id',
  );
  let badParts = 0;
  const messages = (fromEnd ? rows.toReversed() : rows).map(({ id, data }) => {
    const parts = partsOf.all(MAX_PART_BYTES, id).flatMap((part) => {
      const value = parseJson(part.data ?? '');
      if (value === undefined) badParts += 1;
      return value === undefined ? [] : [{ id: part.id, data: fieldsOf(value) }];
    });
    return { id, info: fieldsOf(parseJson(data)), parts };
  });
  return { messages, badParts, isAfterThere };
}

/** `<root>/storage/session/<project>/<session>.json`; messages and parts in folders of their own beside it. */
async function pageOfFiles(file: string, request: PageRequest): Promise<MessagePage | undefined> {
  if (!existsSync(file)) return undefined;
  const storage = join(dirname(file), '..', '..');
  const session = basename(file, '.json');
  const ids = await idsIn(join(storage, 'message', session));
  const isAfterThere = request.after === '' || ids.includes(request.after);
  const later = isAfterThere ? ids.filter((id) => id > request.after) : ids;
  const wanted = request.fromEnd ? later.slice(-request.limit) : later.slice(0, request.limit);
  let badParts = 0;
  const messages: OpencodeMessage[] = [];
  for (const id of wanted) {
    const info = fieldsOf(await jsonIn(join(storage, 'message', session, `${id}.json`)));
    const parts: { id: string; data: ReturnType<typeof fieldsOf> }[] = [];
    for (const part of await idsIn(join(storage, 'part', id))) {
      const value = await jsonIn(join(storage, 'part', id, `${part}.json`));
      if (value === undefined) badParts += 1;
      else parts.push({ id: part, data: fieldsOf(value) });
    }
    messages.push({ id, info, parts });
  }
  return { messages, badParts, isAfterThere };
}

async function sessionFiles(root: string): Promise<readonly string[]> {
  const folder = join(root, 'storage', 'session');
  const files: string[] = [];
  for (const project of await entriesOf(folder)) {
    const names = (await entriesOf(join(folder, project))).filter((name) => name.endsWith('.json'));
    files.push(...names.map((name) => join(folder, project, name)));
  }
  return files;
}

async function idsIn(folder: string): Promise<readonly string[]> {
  return (await entriesOf(folder))
    .filter((name) => name.endsWith('.json'))
    .map((name) => basename(name, '.json'))
    .sort();
}

async function jsonIn(file: string): Promise<unknown> {
  return parseJson(await readFile(file, 'utf8').catch(() => '')); // being written, or gone
}
