import type { Clock } from '../../../platform/clock.ts';
import { codeOf, GcError } from '../../../platform/errors.ts';
import { SqliteThread, type ThreadStatement } from '../../../platform/sqlite-thread.ts';
import { type EncodedEvent, encodeEvent } from '../../../protocol/encode-event.ts';
import { chainHash } from '../../../protocol/hash-chain.ts';
import { impliedState } from '../compute-state.ts';
import { LogCorruptError, UnknownLogError } from '../errors.ts';
import type { ForkChild, ForkOptions, SessionRow } from '../session-log.ts';
import type { UniqueNanos } from '../unique-nanos.ts';
import type { LogDatabase } from './log-database.ts';
import type { RecordTable } from './record-table.ts';
import { insertSession, type SessionTable } from './session-table.ts';

/** Between two children, so that writers who wait for the file get it. */
const BETWEEN_CHILDREN_MS = 12;
/** The incarnation that a child's records are of. */
const CHILD_FENCE = 1;

interface Parts {
  readonly database: LogDatabase;
  readonly records: RecordTable;
  readonly sessions: SessionTable;
  readonly clock: Clock;
  readonly nanos: UniqueNanos;
}

/**
 * Forks in a thread over a connection of its own: this event loop does not wait, and other writers wait for one child at
 * most. What was copied is on disk when it returns.
 */
export async function forkSessions(parts: Parts, fork: ForkOptions): Promise<readonly SessionRow[]> {
  const copier = new ForkCopier(parts, fork, encodeEvent(fork.marker));
  const rows: SessionRow[] = [];
  const thread = new SqliteThread(parts.database.file);
  try {
    for (const [index, child] of fork.children.entries()) {
      if (index > 0) await parts.clock.sleep(BETWEEN_CHILDREN_MS);
      rows.push(await copier.child(thread, child));
    }
    await copier.settle(thread, rows);
    return rows;
  } finally {
    await thread.close();
  }
}

class ForkCopier {
  readonly #parts: Parts;
  readonly #fork: ForkOptions;
  readonly #marker: EncodedEvent;

  constructor(parts: Parts, fork: ForkOptions, marker: EncodedEvent) {
    this.#parts = parts;
    this.#fork = fork;
    this.#marker = marker;
  }

  async child(thread: SqliteThread, child: ForkChild): Promise<SessionRow> {
    const { database, sessions } = this.#parts;
    const there = await database.patiently(() => sessions.get(child.uid));
    if (there) return this.#complete(there);
    const statements = await database.patiently(() => this.#statements(child, this.#parent()));
    try {
      await database.patiently(() => thread.transaction(statements, 'NORMAL'));
    } catch (error) {
      if (codeOf(error) === 'rows-changed') throw this.#missing(error);
      throw error;
    }
    await thread.checkpoint();
    return database.patiently(() => this.#row(child.uid));
  }

  /** Past a power loss: one commit that waits for the disk carries all before it. */
  async settle(thread: SqliteThread, [first]: readonly SessionRow[]): Promise<void> {
    if (!first) return;
    this.#parts.database.step('commit');
    const again = { sql: 'UPDATE sessions SET name = name WHERE session = ?', values: [first.uid] };
    await this.#parts.database.patiently(() => thread.transaction([again], 'FULL'));
  }

  #parent(): SessionRow {
    const { parent: uid, atSeq } = this.#fork;
    const parent = this.#parts.sessions.get(uid);
    if (!parent) throw new UnknownLogError(uid);
    if (atSeq <= parent.lastSeq) return parent;
    throw new GcError(
      'fork-beyond-head',
      `${uid} has ${parent.lastSeq} records: it cannot be forked at ${atSeq}`,
      { next: `fork at ${parent.lastSeq} or before` },
    );
  }

  /** Not all records up to the fork are there: the parent was removed meanwhile, or has a gap. */
  #missing(cause: unknown): GcError {
    const { parent: uid, atSeq } = this.#fork;
    if (this.#parts.sessions.get(uid)?.deletedAt !== undefined || !this.#parts.sessions.get(uid))
      return new UnknownLogError(uid);
    return new LogCorruptError(uid, atSeq, `records before ${atSeq} are missing`, cause);
  }

  #complete(there: SessionRow): SessionRow {
    const { parent, atSeq } = this.#fork;
    if (there.parentUid === parent && there.forkSeq === atSeq) return there;
    throw new GcError('session-exists', `${there.uid} exists and is no fork of ${parent} at ${atSeq}`);
  }

  /** One transaction. @throws LogCorruptError when the parent's last shared record is damaged */
  #statements(child: ForkChild, parent: SessionRow): readonly ThreadStatement[] {
    const { parent: from, atSeq } = this.#fork;
    const { clock, database, nanos, records } = this.#parts;
    const [last] = atSeq === 0 ? [] : records.page(from, atSeq, atSeq, 1);
    const [prev, seq] = [last?.contentHash ?? '', atSeq + 1];
    const hash = chainHash(this.#marker.json, prev, seq);
    const { project, model, annotations, origin } = parent;
    const harness = this.#fork.harness ?? parent.harness;
    database.step('copy');
    return [
      {
        sql: `INSERT INTO events (session, seq, prev_hash, hash, fence, event)
              SELECT ?, seq, prev_hash, hash, ?, event FROM events WHERE session = ? AND seq <= ?`,
        values: [child.uid, CHILD_FENCE, from, atSeq],
        // The parent could be removed meanwhile.
        changes: atSeq,
      },
      {
        sql: 'INSERT INTO events (session, seq, prev_hash, hash, fence, event) VALUES (?, ?, ?, ?, ?, ?)',
        values: [child.uid, seq, prev, hash, CHILD_FENCE, this.#marker.bytes],
      },
      {
        sql: `INSERT INTO gascity_times (session, seq, at)
              SELECT ?, seq, at FROM gascity_times WHERE session = ? AND seq <= ?`,
        values: [child.uid, from, atSeq],
      },
      {
        sql: 'INSERT INTO gascity_times (session, seq, at) VALUES (?, ?, ?)',
        values: [child.uid, seq, clock.now()],
      },
      insertSession(
        {
          ...{ project, harness, model, annotations, origin },
          ...child,
          fence: CHILD_FENCE,
          computeState: impliedState(this.#marker.event) ?? 'NONE',
          parentUid: from,
          forkSeq: atSeq,
        },
        nanos.next(),
      ),
    ];
  }

  #row(uid: string): SessionRow {
    const row = this.#parts.sessions.get(uid);
    if (!row) throw new UnknownLogError(uid);
    return row;
  }
}
