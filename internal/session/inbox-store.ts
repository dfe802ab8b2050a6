import type { CityDatabase, CityTransaction } from '../beads/sqlite/city-database.ts';
import { InboxTable, type NudgePatch, type NudgeRow } from '../beads/sqlite/inbox-table.ts';
import type { NewEvent } from '../events/event.ts';
import { GcError } from '../platform/errors.ts';
import {
  type Asking,
  accepted,
  buried,
  expiry,
  LEASE_MS,
  type NewNudge,
  newNudge,
  nextTurn,
  PROVEN_BY_HOOK,
  typing,
} from './inbox.ts';
import { outcomeEvent } from './inbox-events.ts';
import { staleWaitNudge } from './waits.ts';

/** Told outcomes are forgotten after this; what nobody was told stays longer. Source: Gas City keeps the dead 1 h. */
const TOLD_KEPT_MS = 3_600_000;
const BURIED_KEPT_MS = 24 * 3_600_000;
const BURIED_SHOWN = 20;
const WAITING_SHOWN = 200;
const EXPIRED_PER_ROUND = 100;
/** What one hook is given at most: agent programs cut what hooks print. */
const TAKEN_LIMIT = 50;
const TAKEN_CHARACTERS = 32_000;

export type Given =
  | { readonly kind: 'none' }
  | { readonly kind: 'wait'; readonly until: number }
  | { readonly kind: 'deliver' | 'resolve'; readonly row: NudgeRow };

/** What waits for one session, for people. */
export interface InboxView {
  readonly sessionName: string;
  readonly waiting: readonly NudgeRow[];
  readonly waitingCount: number;
  readonly buried: readonly NudgeRow[];
}

/** The messages of a city's sessions. Each change is one transaction with the event that tells of it. */
export class InboxStore {
  readonly #db: CityDatabase;
  readonly #table: InboxTable;

  constructor(db: CityDatabase) {
    this.#db = db;
    this.#table = new InboxTable(db.connection);
  }

  /** `fresh: false`: a message with this id is known already, as it is now. */
  enqueue(request: NewNudge): Promise<{ readonly row: NudgeRow; readonly fresh: boolean }> {
    return this.#db.transaction((tx) => {
      const { now } = tx;
      const known = this.#table.find(request.id);
      if (known) return { row: known, fresh: false };
      this.#table.prune(now - TOLD_KEPT_MS, now - BURIED_KEPT_MS);
      this.#table.insert(newNudge(request, now));
      const row = this.#must(request.id);
      tx.nudgeChanged(undefined, row);
      return { row, fresh: true };
    });
  }

  find(id: string): Promise<NudgeRow | undefined> {
    return this.#db.read(() => this.#table.find(id));
  }

  /** Takes the next message of a session in hand, in one step for all processes. */
  next(sessionName: string, asking: Omit<Asking, 'now'>): Promise<Given> {
    return this.#db.transaction((tx) => {
      for (;;) {
        const turn = nextTurn(this.#waiting(sessionName), { ...asking, now: tx.now });
        switch (turn.kind) {
          case 'none':
          case 'wait':
            return turn;
          case 'again':
            this.#write(tx, turn.row, turn.patch, true);
            break;
          default:
            this.#write(tx, turn.row, turn.patch, true);
            return { kind: turn.kind, row: this.#must(turn.row.id) };
        }
      }
    });
  }

  /** @throws GcError `nudge-lease-lost`: somebody else has it in hand; nothing may be typed */
  typing(row: NudgeRow, evidence: string): Promise<void> {
    return this.#db.transaction((tx) => {
      const now = this.#table.find(row.id);
      if (now?.fence !== row.fence || now.state !== 'leased') {
        throw new GcError('nudge-lease-lost', `${row.id} is in other hands by now`);
      }
      this.#write(tx, now, typing(evidence, tx.now), true);
    });
  }

  /** Writes what became of a message in hand; `undefined` when it is in other hands by now. */
  settle(
    row: NudgeRow,
    decide: (now: number) => NudgePatch,
    attended: boolean,
  ): Promise<NudgeRow | undefined> {
    return this.#db.transaction((tx) => {
      const current = this.#table.find(row.id);
      if (!current || current.fence !== row.fence || current.endedMs !== undefined) return undefined;
      this.#write(tx, current, decide(tx.now), attended);
      return this.#table.find(row.id);
    });
  }

  /** The sender was told that it waits; nobody stands by any more. */
  leave(id: string, event: NewEvent): Promise<NudgeRow | undefined> {
    return this.#db.transaction((tx) => {
      const row = this.#table.find(id);
      if (row && row.endedMs === undefined) tx.recordEvent(event);
      return row;
    });
  }

  /** The sender gave it up before it was typed; `false`: too late. */
  withdraw(id: string, patch: (now: number) => NudgePatch): Promise<boolean> {
    return this.#db.transaction((tx) => {
      const row = this.#table.find(id);
      if (!row || row.endedMs !== undefined || row.state === 'typed') return false;
      this.#write(tx, row, { ...patch(tx.now), fence: row.fence + 1 }, true);
      return true;
    });
  }

  /**
   * Hands everything that is queued to the agent's own hook, in order. What somebody waits to type is taken out of his
   * hands, what is being typed stays there.
   */
  take(sessionName: string, sessionId: string, owner: string, epoch?: number): Promise<readonly NudgeRow[]> {
    return this.#db.transaction((tx) => {
      const { now } = tx;
      const taken: NudgeRow[] = [];
      let characters = 0;
      for (const row of this.#table.waiting(sessionName, TAKEN_LIMIT)) {
        if (row.state === 'typed') continue;
        const isBound = row.boundSessionId !== '' && row.boundSessionId !== sessionId;
        const stale = isBound
          ? `it was for session ${row.boundSessionId}, which is gone`
          : staleWaitNudge(row, epoch);
        if (stale !== undefined || row.expiresMs <= now) {
          const patch = stale === undefined ? expiry(row, now) : buried(now, stale);
          this.#write(tx, row, patch, false);
          continue;
        }
        characters += row.message.length;
        if (characters > TAKEN_CHARACTERS) break;
        const counted = { attempts: row.attempts + 1, lastAttemptMs: now, fence: row.fence + 1, owner };
        this.#write(
          tx,
          row,
          { ...counted, state: 'typed', evidence: '', leaseUntilMs: now + LEASE_MS },
          true,
        );
        taken.push(this.#must(row.id));
      }
      return taken;
    });
  }

  /** The hook has told them. */
  acknowledge(rows: readonly Pick<NudgeRow, 'id' | 'fence'>[]): Promise<void> {
    return this.#db.transaction((tx) => {
      for (const { id, fence } of rows) {
        const row = this.#table.find(id);
        if (row?.fence === fence && row.state === 'typed') {
          this.#write(tx, row, accepted(tx.now, PROVEN_BY_HOOK), false);
        }
      }
    });
  }

  /** Ends those whose time is over. When the next one's is: `undefined`: none waits. */
  expire(): Promise<number | undefined> {
    return this.#db.transaction((tx) => {
      for (const row of this.#table.overdue(tx.now, EXPIRED_PER_ROUND)) {
        this.#write(tx, row, expiry(row, tx.now), false);
      }
      return this.#table.nextExpiry();
    });
  }

  /** Gives up all that waits for a name. */
  bury(sessionName: string, why: string): Promise<void> {
    return this.#db.transaction((tx) => {
      for (const row of this.#table.waiting(sessionName, EXPIRED_PER_ROUND)) {
        this.#write(tx, row, buried(tx.now, why), false);
      }
    });
  }

  /** Nobody ran for so long, or the clock was set: no deadline runs out by that. */
  async credit(shiftMs: number): Promise<void> {
    if ((await this.nextExpiry()) !== undefined)
      await this.#db.write(() => this.#table.shift(Math.round(shiftMs)));
  }

  /** The record ids that messages are bound to. */
  boundIds(): Promise<readonly string[]> {
    return this.#db.read(() => this.#table.boundIds());
  }

  /** Gives up what was for this very session. */
  buryBound(sessionId: string, why: string): Promise<void> {
    return this.#db.transaction((tx) => {
      for (const row of this.#table.bound(sessionId)) this.#write(tx, row, buried(tx.now, why), false);
    });
  }

  /** Costs one step per name, however much waits. */
  waitingNames(): Promise<readonly string[]> {
    return this.#db.read(() => this.#table.namesWaiting());
  }

  waitingCount(sessionName: string): Promise<number> {
    return this.#db.read(() => this.#table.waitingCount(sessionName));
  }

  /** The oldest that waits. */
  head(sessionName: string): Promise<NudgeRow | undefined> {
    return this.#db.read(() => this.#table.waiting(sessionName, 1)[0]);
  }

  nextExpiry(): Promise<number | undefined> {
    return this.#db.read(() => this.#table.nextExpiry());
  }

  view(sessionName: string): Promise<InboxView> {
    return this.#db.read(() => ({
      sessionName,
      waiting: this.#table.waiting(sessionName, WAITING_SHOWN),
      waitingCount: this.#table.waitingCount(sessionName),
      buried: this.#table.buried(sessionName, BURIED_SHOWN),
    }));
  }

  /** Names with something to show. */
  names(): Promise<readonly string[]> {
    return this.#db.read(() =>
      [...new Set([...this.#table.namesWaiting(), ...this.#table.namesEnded()])].sort(),
    );
  }

  #waiting(sessionName: string) {
    return {
      inHand: this.#table.inHand(sessionName),
      urgent: this.#table.urgent(sessionName),
      head: this.#table.queued(sessionName),
    };
  }

  #write(tx: CityTransaction, row: NudgeRow, patch: NudgePatch, told: boolean): void {
    this.#table.update(row.num, patch);
    tx.nudgeChanged(row, { ...row, ...patch });
    const event = outcomeEvent({ ...row, ...patch }, told);
    if (event) tx.recordEvent(event);
  }

  #must(id: string): NudgeRow {
    const row = this.#table.find(id);
    if (!row) throw new GcError('internal', `nudge ${id} is not there`);
    return row;
  }
}
