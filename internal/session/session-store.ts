import type { CityDatabase, CityTransaction } from '../beads/sqlite/city-database.ts';
import type { Bead } from '../beads/store.ts';
import type { NewEvent } from '../events/event.ts';
import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import { GcError } from '../platform/errors.ts';
import type { SessionDecision } from './decision-log.ts';
import {
  aliasConflict,
  type ConfiguredName,
  checkAlias,
  checkExplicitName,
  isSessionName,
  SessionNameExistsError,
  sessionNameConflict,
} from './names.ts';
import { SESSION_BEAD_TYPE, type SessionRecord } from './record.ts';
import {
  isSessionBead,
  type NewSession,
  newSessionBead,
  toSessionRecord,
  withHistory,
} from './record-codec.ts';
import { UnknownSessionError } from './resolve.ts';
import { releaseHolds, releaseNamedIdentifiers } from './start-transitions.ts';
import { close as closePatch, type MetadataPatch } from './transitions.ts';
import { WaitTable } from './wait-table.ts';

/** What is committed together with a change of a record: seen by nobody unless the change is. */
export interface Effects {
  readonly events?: readonly NewEvent[];
  readonly decisions?: readonly SessionDecision[];
}

export interface ApplyOptions extends Effects {
  /** Refuse when somebody else changed the record meanwhile. */
  readonly expectedRevision?: number;
  readonly title?: string;
  /** Names that the configuration gives away: checked when the patch changes a name. */
  readonly configured?: readonly ConfiguredName[];
  /** Its waits are cancelled with it, for this reason. */
  readonly endsWaits?: string;
}

export interface CreateOptions {
  readonly configured?: readonly ConfiguredName[];
  readonly effects?: (record: SessionRecord) => Effects;
}

/** The sessions of a city: typed records over its database. Every change is one transaction with its events and reasons. */
export class SessionStore {
  readonly #database: CityDatabase;
  readonly #waits: WaitTable;
  #open: { readonly marker: string; readonly records: readonly SessionRecord[] } | undefined;

  constructor(database: CityDatabase) {
    this.#database = database;
    this.#waits = new WaitTable(database);
  }

  /** Newest first. While nothing changed, the open ones cost no table read. */
  list(which: 'open' | 'closed' | 'all'): Promise<readonly SessionRecord[]> {
    return this.#database.read(() => {
      const marker = this.#database.changeMarker();
      if (which === 'open' && this.#open?.marker === marker) return this.#open.records;
      const records = this.#read(which);
      if (which === 'open') this.#open = { marker, records };
      return records;
    });
  }

  /** Closed ones that worked in a folder. */
  closedIn(workDir: string): Promise<readonly SessionRecord[]> {
    return this.#database.read(() => this.#closedWith({ work_dir: workDir }));
  }

  /** @throws UnknownSessionError, GcError `not-a-session` */
  get(id: string): Promise<SessionRecord> {
    return this.#database.read(() => sessionOf(this.#database.beadTable.find(id), id));
  }

  /**
   * Makes the record. Both its names are proven free in the same transaction that takes them.
   * @throws GcError `invalid-session-name`, `invalid-session-alias`, `session-name-exists`, `session-alias-exists`
   */
  async create(session: NewSession, options: CreateOptions = {}): Promise<SessionRecord> {
    checkNames(session);
    return this.#database.transaction((tx) => {
      this.#refuseTaken(
        { sessionName: session.sessionName ?? '', alias: session.alias ?? '' },
        { configured: options.configured ?? [], owner: session.named?.identity ?? '' },
      );
      const record = toSessionRecord(tx.createBead((id) => newSessionBead(id, session)));
      commitEffects(tx, record.id, options.effects?.(record) ?? {});
      return record;
    });
  }

  /**
   * Changes a record, and records why, in one step. Replaced conversation keys and aliases stay listed in it.
   * @throws UnknownSessionError, RevisionConflictError, GcError `session-name-exists`, `session-alias-exists`
   */
  apply(id: string, patch: MetadataPatch, options: ApplyOptions = {}): Promise<SessionRecord> {
    return this.#database.transaction((tx) => {
      const bead = tx.beads.find(id);
      const before = sessionOf(bead, id);
      this.#refuseTakenBy(before, patch, options.configured ?? []);
      const changed = tx.beads.update(
        id,
        {
          metadata: { ...patch, ...histories(before, patch) },
          ...(options.title === undefined ? {} : { title: options.title }),
          ...(bead?.issue_type === SESSION_BEAD_TYPE ? {} : { issue_type: SESSION_BEAD_TYPE }),
        },
        options.expectedRevision,
      );
      if (options.endsWaits !== undefined) this.#endWaits(tx, id, options.endsWaits, options);
      commitEffects(tx, id, options);
      return toSessionRecord(changed);
    });
  }

  /** Ends the session for good; its log and transcript stay readable. A closed one is left as it is. @throws UnknownSessionError */
  close(id: string, reason: string, effects: Effects = {}): Promise<SessionRecord> {
    return this.#database.transaction((tx) => {
      const before = sessionOf(tx.beads.find(id), id);
      if (before.closed) return before;
      const released = before.namedIdentity === '' ? {} : releaseNamedIdentifiers();
      const patch = { ...closePatch(reason, tx.now), ...releaseHolds(), ...released };
      const closed = tx.beads.close(id, { ...patch, ...histories(before, patch) });
      this.#endWaits(tx, id, 'its session is closed', effects);
      commitEffects(tx, id, effects);
      return toSessionRecord(closed);
    });
  }

  /**
   * A closed session of a configured name comes back as itself, with its conversation, instead of a new one beside it.
   * @throws UnknownSessionError, GcError `session-name-exists`
   */
  reopen(id: string, effects: Effects = {}): Promise<SessionRecord> {
    return this.#database.transaction((tx) => {
      const before = sessionOf(tx.beads.find(id), id);
      if (!before.closed) return before;
      this.#refuseTaken(
        { sessionName: before.sessionName, alias: before.alias },
        { configured: [], owner: before.namedIdentity, selfId: id },
      );
      const metadata = { state: 'asleep', state_reason: 'reopened', close_reason: '', closed_at: '' };
      const opened = tx.beads.update(id, { status: 'open', metadata });
      commitEffects(tx, id, effects);
      return toSessionRecord(opened);
    });
  }

  #endWaits(tx: CityTransaction, id: string, why: string, { events }: Effects): void {
    this.#waits.endAll({ tx, actor: events?.[0]?.actor ?? CONTROLLER_ACTOR }, id, 'canceled', why);
  }

  #read(which: 'open' | 'closed' | 'all'): readonly SessionRecord[] {
    const scope =
      which === 'all' ? { includeClosed: true } : which === 'closed' ? { status: 'closed' as const } : {};
    // A record that lost its type is still one: its label says so.
    return [SESSION_BEAD_TYPE, '']
      .flatMap((type) => this.#database.beadTable.list({ type, sort: 'created_desc', ...scope }))
      .filter(isSessionBead)
      .map(toSessionRecord);
  }

  #refuseTakenBy(before: SessionRecord, patch: MetadataPatch, configured: readonly ConfiguredName[]): void {
    const changed = (key: string, current: string): string => {
      const next = patch[key];
      return next === undefined || next === current ? '' : next;
    };
    const names = {
      sessionName: changed('session_name', before.sessionName),
      alias: changed('alias', before.alias),
    };
    if (names.alias !== '') checkAlias(names.alias);
    this.#refuseTaken(names, { configured, owner: before.namedIdentity, selfId: before.id });
  }

  #refuseTaken(
    names: { readonly sessionName: string; readonly alias: string },
    asking: {
      readonly configured: readonly ConfiguredName[];
      readonly owner: string;
      readonly selfId?: string;
    },
  ): void {
    if (names.sessionName === '' && names.alias === '') return;
    const open = this.#read('open');
    if (names.sessionName !== '') {
      const records = [...open, ...this.#closedWith({ session_name: names.sessionName })];
      const conflict = sessionNameConflict({ ...asking, name: names.sessionName, records });
      if (conflict) throw new SessionNameExistsError('name', names.sessionName, conflict);
    }
    if (names.alias !== '') {
      const conflict = aliasConflict({ ...asking, name: names.alias, records: open });
      if (conflict) throw new SessionNameExistsError('alias', names.alias, conflict);
    }
  }

  #closedWith(metadata: Readonly<Record<string, string>>): readonly SessionRecord[] {
    return this.#database.beadTable
      .list({ type: SESSION_BEAD_TYPE, status: 'closed', metadata })
      .map(toSessionRecord);
  }
}

function checkNames(session: NewSession): void {
  const name = session.sessionName ?? '';
  if (session.sessionNameExplicit) checkExplicitName(name);
  else if (name !== '' && !isSessionName(name)) {
    throw new GcError('invalid-session-name', `invalid session name ${JSON.stringify(name.slice(0, 80))}`);
  }
  if (session.alias) checkAlias(session.alias);
}

function sessionOf(bead: Bead | undefined, id: string): SessionRecord {
  if (!bead) throw new UnknownSessionError(id, []);
  if (isSessionBead(bead)) return toSessionRecord(bead);
  throw new GcError('not-a-session', `bead ${id} is not a session: it is a ${bead.issue_type}`, {
    next: 'gc session list',
  });
}

function commitEffects(tx: CityTransaction, sessionId: string, effects: Effects): void {
  for (const event of effects.events ?? []) tx.recordEvent(event);
  for (const decision of effects.decisions ?? []) tx.recordDecision({ ...decision, sessionId });
}

/** What a record keeps of values that a patch replaces. */
function histories(before: SessionRecord, patch: MetadataPatch): MetadataPatch {
  const kept: Record<string, string> = {};
  const keep = (key: string, historyKey: string, current: string) => {
    const next = patch[key];
    if (next === undefined || next === current || current === '') return;
    kept[historyKey] = withHistory(before.metadata[historyKey] ?? '', current, next);
  };
  keep('session_key', 'session_key_history', before.sessionKey);
  keep('alias', 'alias_history', before.alias);
  return kept;
}
