import { messageOf } from '../../../platform/errors.ts';
import type { SqliteDatabase } from '../../../platform/sqlite.ts';
import { EventSchema } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import { type ChainedRecord, contentHash } from '../../../protocol/hash-chain.ts';
import { fromBinary } from '../../../protocol/protobuf.ts';
import { LogCorruptError } from '../errors.ts';
import type { TimedRecord } from '../follow.ts';

/** A row of `events`, in the order of `COLUMNS`. */
export type RecordRow = readonly [seq: number, prev: string, hash: string, fence: number, event: Uint8Array];

const COLUMNS = 'seq, prev_hash, hash, fence, event';

/** The records and their times. All synchronous. */
export class RecordTable {
  readonly #insert;
  readonly #page;
  readonly #last;
  readonly #insertTime;
  readonly #timeAt;
  readonly #timesAfter;
  readonly #lastTime;

  constructor(db: SqliteDatabase) {
    this.#insert = db.prepare<[string, number, string, string, number, Uint8Array]>(
      'INSERT INTO events (session, seq, prev_hash, hash, fence, event) VALUES (?, ?, ?, ?, ?, ?)',
    );
    this.#page = db
      .prepare<[string, number, number, number], RecordRow>(
        `SELECT ${COLUMNS} FROM events WHERE session = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?`,
      )
      .raw();
    this.#last = db
      .prepare<[string], readonly [number, string]>(
        'SELECT seq, hash FROM events WHERE session = ? ORDER BY seq DESC LIMIT 1',
      )
      .raw();
    this.#insertTime = db.prepare<[string, number, number]>(
      'INSERT INTO gascity_times (session, seq, at) VALUES (?, ?, ?)',
    );
    this.#timeAt = db
      .prepare<[string, number], number>(
        'SELECT at FROM gascity_times WHERE session = ? AND seq <= ? ORDER BY seq DESC LIMIT 1',
      )
      .pluck();
    this.#timesAfter = db
      .prepare<[string, number, number], readonly [number, number]>(
        'SELECT seq, at FROM gascity_times WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq',
      )
      .raw();
    this.#lastTime = db
      .prepare<[string], number>('SELECT at FROM gascity_times WHERE session = ? ORDER BY seq DESC LIMIT 1')
      .pluck();
  }

  insert(uid: string, seq: number, prev: string, hash: string, fence: number, event: Uint8Array): void {
    this.#insert.run(uid, seq, prev, hash, fence, event);
  }

  /** The records from `seq` on were appended at `at`, until another row says otherwise. */
  insertTime(uid: string, seq: number, at: number): void {
    this.#insertTime.run(uid, seq, at);
  }

  lastTime(uid: string): number | undefined {
    return this.#lastTime.get(uid);
  }

  last(uid: string): { readonly seq: number; readonly hash: string } {
    const [seq, hash] = this.#last.get(uid) ?? [0, ''];
    return { seq, hash };
  }

  /** @throws LogCorruptError at the first record that is not what its hash says */
  page(uid: string, from: number, to: number, limit: number): readonly ChainedRecord[] {
    return this.#page.all(uid, from, to, limit).map((row) => soundRecord(uid, row));
  }

  /** As `page`, and no further once `maxBytes` are read. Never empty when there is something. */
  boundedPage(
    uid: string,
    from: number,
    bounds: { readonly to?: number; readonly limit: number; readonly maxBytes: number },
  ): readonly ChainedRecord[] {
    const { to = Number.MAX_SAFE_INTEGER, limit, maxBytes } = bounds;
    const records: ChainedRecord[] = [];
    let bytes = 0;
    for (const row of this.#page.iterate(uid, from, to, limit)) {
      records.push(soundRecord(uid, row));
      bytes += row[4].length;
      if (bytes >= maxBytes) break;
    }
    return records;
  }

  /** Records of one log, in order and without a gap, with when they were appended. */
  timed(uid: string, records: readonly ChainedRecord[]): readonly TimedRecord[] {
    const [first, last] = [records[0], records.at(-1)];
    if (!first || !last) return [];
    let at = this.#timeAt.get(uid, first.seq) ?? 0;
    const changes = this.#timesAfter.all(uid, first.seq, last.seq);
    let next = 0;
    return records.map((record) => {
      for (let change = changes[next]; change && change[0] <= record.seq; change = changes[next]) {
        at = change[1];
        next += 1;
      }
      return { record, recordedAt: at };
    });
  }
}

function soundRecord(uid: string, [seq, prevHash, hash, fence, bytes]: RecordRow): ChainedRecord {
  let found: string;
  try {
    const event = fromBinary(EventSchema, bytes);
    found = contentHash(event, prevHash, seq);
    if (found === hash) return { seq, prevHash, contentHash: hash, fence, event };
  } catch (error) {
    throw new LogCorruptError(uid, seq, `record ${seq} cannot be read: ${messageOf(error)}`, error);
  }
  throw new LogCorruptError(uid, seq, `the content of record ${seq} does not match its hash`);
}
