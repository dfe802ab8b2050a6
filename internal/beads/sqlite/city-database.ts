import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { CityEvent, NewEvent } from '../../events/event.ts';
import { EventTable } from '../../events/event-table.ts';
import { lastExportedSeq } from '../../events/jsonl-tail.ts';
import { type DatabaseAccess, SqliteEventBus } from '../../events/sqlite-bus.ts';
import type { Clock } from '../../platform/clock.ts';
import { codeOf, GcError, unreachable } from '../../platform/errors.ts';
import { type Ids, systemIds } from '../../platform/ids.ts';
import {
  asStoreError,
  inTransaction,
  openDatabase,
  type SqliteDatabase,
  withRetry,
} from '../../platform/sqlite.ts';
import type { Bead, BeadPatch } from '../store.ts';
import { type BeadDraft, BeadTable } from './bead-table.ts';
import { type Decision, DecisionTable, type NewDecision } from './decision-table.ts';
import type { NudgeRow } from './inbox-table.ts';
import { OutboxTable } from './outbox-table.ts';
import { CITY_MIGRATIONS } from './schema.ts';
import { SqliteWork } from './sqlite-work.ts';
import { StateTable } from './state-table.ts';
import { Testimony, type Witness, WitnessedBeadTable } from './witness.ts';

export type BeadWrite =
  | { readonly kind: 'create'; readonly bead: BeadDraft }
  | {
      readonly kind: 'update';
      readonly id: string;
      readonly patch: BeadPatch;
      readonly expectedRevision?: number;
    }
  | { readonly kind: 'close'; readonly id: string; readonly metadata?: Readonly<Record<string, string>> }
  | { readonly kind: 'delete'; readonly id: string };

/** Everything here is committed together, or nothing of it. */
export interface CityChange {
  readonly beads?: readonly BeadWrite[];
  readonly events?: readonly NewEvent[];
  readonly decisions?: readonly NewDecision[];
  /** An empty value removes the key. */
  readonly state?: Readonly<Record<string, string>>;
}

export interface CityCommit {
  /** In the order of the writes; a deleted bead leaves no entry. */
  readonly beads: readonly Bead[];
  readonly events: readonly CityEvent[];
  readonly decisions: readonly Decision[];
}

/** What one transaction can see and change. All synchronous: nothing can come between. */
export interface CityTransaction {
  /** The one time that everything in this transaction carries, milliseconds since the epoch. */
  readonly now: number;
  readonly beads: BeadTable;
  readonly state: StateTable;
  createBead(draft: BeadDraft): Bead;
  recordEvent(event: NewEvent): CityEvent;
  recordDecision(decision: NewDecision): Decision;
  /** A message to a session came in, or something became of it. */
  nudgeChanged(before: NudgeRow | undefined, after: NudgeRow): void;
}

/** The name of the export that continues across a lost database, beside it. */
const EXPORT_FILE = 'events.jsonl';

/**
 * Opens `city.db`, making or migrating it. Its numbers go on where `events.jsonl` beside it ended, should the database
 * have been deleted. `witness` sees what is changed through this opening. @throws GcError `store-corrupt`, `store-newer`, `store-unwritable`, `store-full`
 */
export function openCityDatabase(
  file: string,
  clock: Clock,
  ids: Ids = systemIds,
  witness?: Witness,
): CityDatabase {
  return new CityDatabase(file, clock, ids, witness);
}

/** The one file that holds a city's records, events and decisions. Safe to open from several processes. */
export class CityDatabase implements DatabaseAccess {
  readonly file: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly beads: SqliteWork;
  readonly events: SqliteEventBus;
  readonly eventTable: EventTable;
  /** For other tables of this database that bring their own rows. */
  readonly connection: SqliteDatabase;
  readonly #opened: { readonly dev: number; readonly ino: number };
  /** Synchronous rows, for use inside `read`, `write` and `transaction` only. */
  readonly beadTable: BeadTable;
  readonly #decisionTable: DecisionTable;
  readonly #stateTable: StateTable;
  readonly #outbox: OutboxTable;
  readonly #witness: Witness | undefined;
  #testimony = new Testimony();
  #toldListener: () => void = () => undefined;
  #numbersContinued = false;

  constructor(file: string, clock: Clock, ids: Ids, witness?: Witness) {
    this.file = file;
    this.clock = clock;
    this.ids = ids;
    this.connection = openDatabase(file, { migrations: CITY_MIGRATIONS });
    this.#opened = statSync(file);
    this.#witness = witness;
    this.#outbox = new OutboxTable(this.connection);
    const now = () => clock.now();
    this.beadTable = witness
      ? new WitnessedBeadTable(this.connection, now, witness, () => this.#testimony)
      : new BeadTable(this.connection, now);
    this.#decisionTable = new DecisionTable(this.connection);
    this.#stateTable = new StateTable(this.connection);
    this.eventTable = new EventTable(this.connection);
    this.events = new SqliteEventBus({ db: this.connection, table: this.eventTable, access: this, clock });
    this.beads = new SqliteWork(this);
  }

  /** One short piece of reading. */
  read<T>(work: () => T): Promise<T> {
    return withRetry(this.clock, this.ids, () => this.#named(work));
  }

  /** One transaction. `work` may run again when another process was faster: it must do nothing but reading and writing here. */
  write<T>(work: () => T): Promise<T> {
    return withRetry(this.clock, this.ids, () =>
      this.#named(() => {
        this.#refuseWhenRemoved();
        return inTransaction(this.connection, () => {
          this.#continueEventNumbers();
          this.#testimony = new Testimony();
          const result = work();
          this.#tell();
          return result;
        });
      }),
    );
  }

  /** `write` with everything of the city at hand. Followers of the events look once it is committed. */
  transaction<T>(work: (tx: CityTransaction) => T): Promise<T> {
    return this.write(() => {
      const now = this.clock.now();
      return work({
        now,
        beads: this.beadTable,
        state: this.#stateTable,
        createBead: (draft) => this.beadTable.create(draft, now),
        recordEvent: (event) => {
          this.events.announceAfterCommit();
          this.#testimony.event(event);
          return this.eventTable.insert(event, now);
        },
        recordDecision: (decision) => {
          this.#testimony.decision(decision);
          return this.#decisionTable.insert(decision, now);
        },
        nudgeChanged: (before, after) => this.#testimony.nudge({ before, after }),
      });
    });
  }

  /** A change as plain data: records, their events, the decisions behind them and the city's own state, all or none. */
  commit(change: CityChange): Promise<CityCommit> {
    return this.transaction((tx) => {
      const beads = (change.beads ?? []).flatMap((write) => writeBead(tx, write));
      for (const [key, value] of Object.entries(change.state ?? {})) tx.state.set(key, value);
      return {
        beads,
        events: (change.events ?? []).map((event) => tx.recordEvent(event)),
        decisions: (change.decisions ?? []).map((decision) => tx.recordDecision(decision)),
      };
    });
  }

  /** The last decisions about a session, newest last. */
  decisions(sessionId: string, limit: number): Promise<readonly Decision[]> {
    return this.read(() => this.#decisionTable.last(sessionId, limit));
  }

  /** `''` when unset. */
  state(key: string): Promise<string> {
    return this.read(() => this.#stateTable.get(key));
  }

  allState(): Promise<Readonly<Record<string, string>>> {
    return this.read(() => this.#stateTable.all());
  }

  /** What waits to be told to the session logs; for use inside `read`, `write` and `transaction` only. */
  get outbox(): OutboxTable {
    return this.#outbox;
  }

  /** `listener` is called after each commit through this opening that has something to tell the session logs. */
  onTold(listener: () => void): void {
    this.#toldListener = listener;
  }

  /** Two equal answers: nobody changed anything in between. Costs no table read. */
  changeMarker(): string {
    const foreign = Number(this.connection.pragma('data_version', { simple: true }));
    const own = this.connection.prepare<[], { n: number }>('SELECT total_changes() AS n').get()?.n ?? 0;
    return `${foreign}.${own}`;
  }

  /** Whether somebody deleted or replaced the file since it was opened: nothing can be written any more. */
  isRemoved(): boolean {
    try {
      const { dev, ino } = statSync(this.file);
      return dev !== this.#opened.dev || ino !== this.#opened.ino;
    } catch (error) {
      if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return true;
      throw error;
    }
  }

  /** Ends the followers of the events too. */
  close(): void {
    this.events.close();
    this.connection.close();
  }

  #tell(): void {
    const seen = this.#witness && this.#testimony.seen(this.clock.now());
    if (!this.#witness || !seen) return;
    const drafts = this.#witness.tell(seen, {
      find: (type, metadata) => this.beadTable.list({ type, metadata, limit: 1 })[0],
      get: (id) => this.beadTable.find(id),
    });
    for (const draft of drafts) this.#outbox.insert(draft);
    if (drafts.length > 0) queueMicrotask(() => this.#toldListener());
  }

  /** Once per opening, before the first write: numbers that stand in the export are never given out again. */
  #continueEventNumbers(): void {
    if (this.#numbersContinued) return;
    this.eventTable.continueAfter(lastExportedSeq(join(dirname(this.file), EXPORT_FILE)));
    this.#numbersContinued = true;
  }

  #named<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw asNameTaken(error) ?? asStoreError(error, this.file);
    }
  }

  /** Writes into a deleted file would succeed and be lost. */
  #refuseWhenRemoved(): void {
    if (!this.isRemoved()) return;
    throw new GcError('store-removed', `${this.file} was removed or replaced while it was in use`, {
      next: 'nothing more is written; stop the city with gc stop and start it again',
    });
  }
}

function writeBead(tx: CityTransaction, write: BeadWrite): readonly Bead[] {
  switch (write.kind) {
    case 'create':
      return [tx.createBead(write.bead)];
    case 'update':
      return [tx.beads.update(write.id, write.patch, write.expectedRevision)];
    case 'close':
      return [tx.beads.close(write.id, write.metadata)];
    case 'delete':
      tx.beads.delete(write.id);
      return [];
    default:
      return unreachable(write);
  }
}

/** The last line of defence behind the checks of the session layer, for whoever writes past it. */
function asNameTaken(error: unknown): GcError | undefined {
  if (codeOf(error) !== 'SQLITE_CONSTRAINT_UNIQUE' || !(error instanceof Error)) return undefined;
  if (error.message.includes('live_session_name')) {
    return new GcError('session-name-exists', 'session name already exists', { cause: error });
  }
  if (error.message.includes('live_session_alias')) {
    return new GcError('session-alias-exists', 'session alias already exists', { cause: error });
  }
  return undefined;
}
