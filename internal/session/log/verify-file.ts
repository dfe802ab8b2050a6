import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { GcError, messageOf } from '../../platform/errors.ts';
import { openDatabase, type SqliteDatabase } from '../../platform/sqlite.ts';
import { type Event, EventSchema } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { ChainBrokenError, ChainWalk } from '../../protocol/hash-chain.ts';
import { fromBinary, toBinary } from '../../protocol/protobuf.ts';
import { openToRead } from './jsonl/files.ts';
import { decodeLine, encodeLine } from './jsonl/record-line.ts';
import { LineWalk, scan } from './jsonl/scan.ts';

/** What one log of a file was found to be. */
export interface LogVerdict {
  readonly uid: string;
  /** Sound ones, from the first. */
  readonly records: number;
  /** The first record that is not sound. */
  readonly fault: { readonly seq: number; readonly what: string } | undefined;
}

/** `hash`: of the last sound record, '' when there is none. */
export interface FileVerdict extends LogVerdict {
  readonly hash: string;
}

const SCHEMA_VERSION = 2;
const PAGE_RECORDS = 500;
const DATABASE_START = 'SQLite format 3\0';
const LINES_END = '.jsonl';

/**
 * Checks every log of an exported file, a folder of them, or a SQLite file. Only what is there is looked at: nothing is
 * opened to be written, and blobs are not asked for.
 * @throws GcError `no-session-logs` when there is nothing of the kind
 */
export async function* verifyPath(path: string): AsyncGenerator<FileVerdict, void, undefined> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (!found) throw new GcError('no-session-logs', `there is no ${path}`);
  if (!found.isDirectory()) {
    if (isDatabase(path)) yield* verifyDatabase(path);
    else yield await verifyExport(path);
    return;
  }
  const names = readdirSync(path).filter((name) => name.endsWith(LINES_END));
  if (names.length === 0) throw new GcError('no-session-logs', `no ${LINES_END} file is in ${path}`);
  for (const name of names.sort()) yield await verifyExport(join(path, name));
}

function isDatabase(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const start = Buffer.alloc(DATABASE_START.length);
    readSync(file, start, 0, start.length, 0);
    return start.toString('latin1') === DATABASE_START;
  } finally {
    closeSync(file);
  }
}

/**
 * Checks an exported log byte by byte: numbers, links, contents, incarnations, and that every line is in its one canonical
 * form. The file is only read.
 *
 * Not covered by the hashes, so that a change to another plausible value is not seen: a record's fence, and how many records
 * were cut off the end.
 * Source: agentsessions.v1, "Verify".
 */
export async function verifyExport(path: string): Promise<FileVerdict> {
  const uid = basename(path, LINES_END);
  const file = await openToRead(path);
  try {
    const { size } = await file.stamp();
    const { ends, hash, fault } = await scan(file, size, 0, new StrictLineWalk());
    return { uid, records: ends.length, hash, fault: fault && { seq: fault.seq, what: fault.what } };
  } finally {
    await file.close();
  }
}

/**
 * Checks every log of a SQLite file of the published schema the same way, the encoding of the events included. The sign of
 * a zero is one more thing that no hash covers there.
 * @throws GcError `store-newer` for another schema version
 */
export function* verifyDatabase(path: string): Generator<FileVerdict, void, undefined> {
  const db = openToVerify(path);
  try {
    const names = 'SELECT session FROM sessions UNION SELECT session FROM events ORDER BY session';
    for (const uid of db.prepare<[], string>(names).pluck().all()) yield verifyRows(db, uid);
  } finally {
    db.close();
  }
}

/** One log of such a file. @throws GcError `store-newer` */
export function verifyDatabaseLog(path: string, uid: string): FileVerdict {
  const db = openToVerify(path);
  try {
    return verifyRows(db, uid);
  } finally {
    db.close();
  }
}

function openToVerify(path: string): SqliteDatabase {
  const db = openDatabase(path, { migrations: [], readonly: true });
  const version = Number(db.pragma('user_version', { simple: true }));
  if (version === SCHEMA_VERSION) return db;
  db.close();
  throw new GcError('store-newer', `${path} has schema version ${version}, not ${SCHEMA_VERSION}`);
}

/** Also compares a line with what its record would be written as. */
class StrictLineWalk extends LineWalk {
  override fault(line: Buffer): string | undefined {
    if (isCanonicalLine(line)) return super.fault(line);
    return new LineWalk(this).fault(line) ?? 'it is not in canonical form';
  }
}

function isCanonicalLine(line: Buffer): boolean {
  try {
    return encodeLine(decodeLine(line)) === `${line.toString('utf8')}\n`;
  } catch {
    return false;
  }
}

type Row = readonly [seq: number, prev: unknown, hash: unknown, fence: unknown, event: unknown];

function verifyRows(db: SqliteDatabase, uid: string): FileVerdict {
  const page = db
    .prepare<[string, number, number], Row>(
      `SELECT seq, prev_hash, hash, fence, event FROM events
       WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?`,
    )
    .raw();
  const walk = new RowWalk();
  try {
    for (;;) {
      const rows = page.all(uid, walk.seq, PAGE_RECORDS);
      if (rows.length === 0) return { uid, records: walk.seq, hash: walk.hash, fault: undefined };
      for (const row of rows) walk.check(row);
    }
  } catch (error) {
    const seq = walk.seq + 1;
    const what =
      error instanceof ChainBrokenError ? error.message.replace(`record ${seq}: `, '') : messageOf(error);
    return { uid, records: walk.seq, hash: walk.hash, fault: { seq, what } };
  }
}

class RowWalk {
  readonly #chain = new ChainWalk();
  #fence = 0;

  get seq(): number {
    return this.#chain.seq;
  }

  get hash(): string {
    return this.#chain.hash;
  }

  /** @throws ChainBrokenError, and what decoding throws */
  check([seq, prevHash, contentHash, fence, bytes]: Row): void {
    if (
      typeof prevHash !== 'string' ||
      typeof contentHash !== 'string' ||
      typeof fence !== 'number' ||
      !(bytes instanceof Uint8Array)
    )
      throw new ChainBrokenError(seq, 'a column is of another type');
    const event = fromBinary(EventSchema, bytes);
    const next = seq === this.seq + 1;
    if (next && !isCanonicalBlob(bytes, event))
      throw new ChainBrokenError(seq, 'its event is not in canonical form');
    if (next && fence < this.#fence)
      throw new ChainBrokenError(seq, `its incarnation ${fence} is older than ${this.#fence} before it`);
    this.#chain.check({ seq, prevHash, contentHash, fence, event });
    this.#fence = fence;
  }
}

/**
 * Whether the event would be encoded in these bytes. Entries of maps may stand in another order: other writers of the format
 * shuffle them.
 */
function isCanonicalBlob(bytes: Uint8Array, event: Event): boolean {
  const again = toBinary(EventSchema, event, { writeUnknownFields: false });
  const [given, encoded] = [Buffer.from(bytes), Buffer.from(again)];
  return given.equals(encoded) || given.sort().equals(encoded.sort());
}
