import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inTransaction, openDatabase } from '../../../platform/sqlite.ts';

/** A conversation as opencode 1.18 keeps it: rows of its tables, their `data` as objects. */
export interface StoredConversation {
  readonly session: {
    readonly id: string;
    readonly directory: string;
    readonly parent_id: string | null;
    readonly time_created: number;
  };
  readonly messages: readonly StoredMessage[];
  readonly parts: readonly StoredPart[];
}

export interface StoredMessage {
  readonly id: string;
  readonly time_created: number;
  readonly data: unknown;
}

export interface StoredPart {
  readonly id: string;
  readonly message_id: string;
  readonly data: unknown;
}

/** What a real opencode wrote about a turn with one tool call, and one without. */
export function recordedConversation(): StoredConversation {
  const file = join(import.meta.dirname, '..', 'testdata', 'opencode-1.18.json');
  return JSON.parse(readFileSync(file, 'utf8')) as StoredConversation;
}

/** Its tables, without the columns that no reader looks at. */
const SCHEMA = `
CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text NOT NULL, time_created integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, data text NOT NULL);
`;

/** Writes into `<root>/opencode.db`; rows that are there already are replaced. */
export function writeDatabase(root: string, { session, messages, parts }: StoredConversation): void {
  const db = openDatabase(join(root, 'opencode.db'), { migrations: [SCHEMA] });
  try {
    inTransaction(db, () => {
      const { id, parent_id, directory, time_created } = session;
      db.prepare('INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?)').run(
        id,
        parent_id,
        directory,
        time_created,
      );
      const message = db.prepare('INSERT OR REPLACE INTO message VALUES (?, ?, ?, ?)');
      for (const row of messages) message.run(row.id, id, row.time_created, JSON.stringify(row.data));
      const part = db.prepare('INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?)');
      for (const row of parts) part.run(row.id, row.message_id, id, JSON.stringify(row.data));
    });
  } finally {
    db.close();
  }
}

/** The same in the files of versions before. */
export function writeFiles(root: string, { session, messages, parts }: StoredConversation): void {
  const put = (path: string, value: unknown): void => {
    const file = join(root, 'storage', path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify(value));
  };
  const info = { id: session.id, directory: session.directory, time: { created: session.time_created } };
  put(`session/project/${session.id}.json`, info);
  for (const { id, data } of messages) put(`message/${session.id}/${id}.json`, data);
  for (const { id, message_id, data } of parts) put(`part/${message_id}/${id}.json`, data);
}
