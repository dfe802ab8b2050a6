import { GcError, messageOf } from '../platform/errors.ts';
import type { SqliteDatabase } from '../platform/sqlite.ts';
import type { CityEvent, EventFilter, NewEvent } from './event.ts';

/** The part of the city database's schema that holds events. */
export const EVENT_SCHEMA = `
CREATE TABLE events (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  type TEXT NOT NULL,
  ts TEXT NOT NULL,
  ts_ms INTEGER NOT NULL,
  actor TEXT NOT NULL,
  subject TEXT,
  message TEXT,
  payload TEXT
);
CREATE INDEX events_by_time ON events (ts_ms);
CREATE INDEX events_by_type ON events (type, seq);
`;

/** Readers of the exported file in other programs give up on longer lines. */
export const MAX_EVENT_TEXT_BYTES = 1_048_576;

interface EventRow {
  readonly seq: number;
  readonly type: string;
  readonly ts: string;
  readonly actor: string;
  readonly subject: string | null;
  readonly message: string | null;
  readonly payload: string | null;
}

/** Synchronous access to the event rows; the callers bring the transaction and the retry. */
export class EventTable {
  readonly #db: SqliteDatabase;

  constructor(db: SqliteDatabase) {
    this.#db = db;
  }

  /** @throws GcError `event-too-large`, `event-payload-invalid` */
  insert(event: NewEvent, nowMs: number): CityEvent {
    const payload = payloadText(event);
    const ts = new Date(nowMs).toISOString();
    const { lastInsertRowid } = this.#db
      .prepare(
        'INSERT INTO events (type, ts, ts_ms, actor, subject, message, payload) VALUES (?, ?, ?, ?, ?, ?, ?)',
      )
      .run(event.type, ts, nowMs, event.actor, event.subject ?? null, event.message ?? null, payload);
    return toEvent({
      seq: Number(lastInsertRowid),
      type: event.type,
      ts,
      actor: event.actor,
      subject: event.subject ?? null,
      message: event.message ?? null,
      payload,
    });
  }

  /** In order of `seq`; with a limit, the first ones after the cursor. */
  list(filter: EventFilter): readonly CityEvent[] {
    const where: string[] = [];
    const values: (string | number)[] = [];
    const add = (condition: string, value: string | number | undefined) => {
      if (value === undefined || value === '') return;
      where.push(condition);
      values.push(value);
    };
    add('type = ?', filter.type);
    add('actor = ?', filter.actor);
    add('ts_ms >= ?', filter.since);
    add('seq > ?', filter.afterSeq);
    // Left to itself SQLite reads the whole table in order of `seq` to spare the sorting.
    const index = filter.since === undefined ? '' : 'INDEXED BY events_by_time';
    const rows = this.#db
      .prepare<(string | number)[], EventRow>(
        `SELECT seq, type, ts, actor, subject, message, payload FROM events ${index}
         ${where.length > 0 ? `WHERE ${where.join(' AND ')}` : ''} ORDER BY seq LIMIT ?`,
      )
      .all(...values, filter.limit && filter.limit > 0 ? filter.limit : -1);
    return rows.map(toEvent);
  }

  /** The number of the last event ever recorded, 0 when none was. */
  latestSeq(): number {
    const row = this.#db
      .prepare<[], { seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'events'")
      .get();
    return row?.seq ?? 0;
  }

  /** The next event gets a number above `seq`: numbers that a reader may have seen are never given out again. */
  continueAfter(seq: number): void {
    if (seq <= this.latestSeq()) return;
    const { changes } = this.#db.prepare("UPDATE sqlite_sequence SET seq = ? WHERE name = 'events'").run(seq);
    if (changes === 0)
      this.#db.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES ('events', ?)").run(seq);
  }
}

function payloadText(event: NewEvent): string | null {
  if (event.payload === undefined || event.payload === null) return checkSize(event, null);
  let text: string | undefined;
  try {
    text = JSON.stringify(event.payload);
  } catch (error) {
    throw new GcError(
      'event-payload-invalid',
      `payload of event ${event.type} is not JSON: ${messageOf(error)}`,
      {
        cause: error,
      },
    );
  }
  if (text === undefined) {
    throw new GcError('event-payload-invalid', `payload of event ${event.type} is not JSON`);
  }
  return checkSize(event, text);
}

function checkSize(event: NewEvent, payload: string | null): string | null {
  const bytes = Buffer.byteLength(payload ?? '') + Buffer.byteLength(event.message ?? '');
  if (bytes <= MAX_EVENT_TEXT_BYTES) return payload;
  throw new GcError(
    'event-too-large',
    `event ${event.type} carries ${bytes} bytes, more than ${MAX_EVENT_TEXT_BYTES}`,
    { next: 'put the data into a file and name the file in the event' },
  );
}

function toEvent(row: EventRow): CityEvent {
  return {
    seq: row.seq,
    type: row.type,
    ts: row.ts,
    actor: row.actor,
    ...(row.subject === null ? {} : { subject: row.subject }),
    ...(row.message === null ? {} : { message: row.message }),
    ...(row.payload === null ? {} : { payload: JSON.parse(row.payload) as unknown }),
  };
}
