import { beadJson } from '../beads/bead-json.ts';
import type { CityDatabase, CityTransaction } from '../beads/sqlite/city-database.ts';
import { InboxTable } from '../beads/sqlite/inbox-table.ts';
import type { Bead } from '../beads/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import { displayName } from './display.ts';
import { newNudge, refused } from './inbox.ts';
import type { SessionRecord } from './record.ts';
import { isSessionBead, toSessionRecord } from './record-codec.ts';
import {
  isWaitBead,
  newWaitBead,
  toWait,
  WAIT_BEAD_LABEL,
  WAIT_BEAD_TYPE,
  type WaitDraft,
  waitSessionLabel,
} from './wait-codec.ts';
import {
  isOver,
  type NudgeFate,
  type Wait,
  type WaitEnd,
  type WaitStep,
  waitMessage,
  waitNudgeId,
} from './waits.ts';

const LIVE = ['open', 'in_progress'] as const;

/** A change of a wait and who made it. */
export interface Doing {
  readonly tx: CityTransaction;
  readonly actor: string;
}

/**
 * Waits as rows of the city's database. Synchronous, inside its transactions: a wait, its message, what it changes of
 * the session, and the event and the decision that tell of it are written together.
 */
export class WaitTable {
  readonly #db: CityDatabase;
  readonly #inbox: InboxTable;

  constructor(db: CityDatabase) {
    this.#db = db;
    this.#inbox = new InboxTable(db.connection);
  }

  find(id: string): Bead | undefined {
    return this.#db.beadTable.find(id);
  }

  /** Those that are not over, oldest first: all, or of one session. */
  live(sessionId?: string): readonly Wait[] {
    const labels = [WAIT_BEAD_LABEL, ...(sessionId === undefined ? [] : [waitSessionLabel(sessionId)])];
    return this.#db.beadTable
      .list({ type: WAIT_BEAD_TYPE, labels, statuses: LIVE })
      .map(toWait)
      .filter(({ state }) => !isOver(state));
  }

  all(sessionId?: string): readonly Wait[] {
    const labels = [WAIT_BEAD_LABEL, ...(sessionId === undefined ? [] : [waitSessionLabel(sessionId)])];
    return this.#db.beadTable.list({ type: WAIT_BEAD_TYPE, labels, includeClosed: true }).map(toWait);
  }

  /** Their beads were closed by other hands: their own words still say that they go on. */
  closedElsewhere(): readonly Bead[] {
    return (['pending', 'ready'] as const).flatMap((state) =>
      this.#db.beadTable.list({
        type: WAIT_BEAD_TYPE,
        label: WAIT_BEAD_LABEL,
        status: 'closed',
        metadata: { state },
      }),
    );
  }

  fate(nudgeId: string): NudgeFate {
    const row = this.#inbox.find(nudgeId);
    if (!row) return { kind: 'forgotten' };
    if (row.endedMs === undefined) return { kind: 'under way' };
    return row.state === 'accepted'
      ? { kind: 'accepted' }
      : { kind: 'lost', why: row.lastError || `its message was ${row.state}` };
  }

  session(tx: CityTransaction, id: string): SessionRecord | undefined {
    const bead = tx.beads.find(id);
    return bead && isSessionBead(bead) ? toSessionRecord(bead) : undefined;
  }

  /** `text`: what it waits for. */
  create({ tx, actor }: Doing, record: SessionRecord, draft: WaitDraft, text: string): Wait {
    const bead = tx.createBead(newWaitBead(draft, record.title || record.template));
    const wait = toWait(bead);
    if (draft.sleeps) tx.beads.update(record.id, { metadata: HOLD });
    const said = wait.state === 'ready' ? `ready (${text})` : `waits ${text}`;
    this.#told({ tx, actor }, 'bead.created', bead, `${displayName(record)} ${said}`);
    decide(tx, record.id, `${wait.id} ${said}`, { sleeps: wait.sleeps, note: wait.note });
    return wait;
  }

  step(doing: Doing, wait: Wait, step: Exclude<WaitStep, { kind: 'stay' }>): void {
    if (step.kind === 'ready') this.ready(doing, wait, step.why);
    else if (step.kind === 'tell') this.#tell(doing, wait);
    else this.end(doing, wait, step);
  }

  ready({ tx, actor }: Doing, wait: Wait, why: string): void {
    // A message that ended leaves the wait as it was: the next one is another message.
    const isAgain = wait.nudgeId !== '' && this.fate(wait.nudgeId).kind !== 'under way';
    const again = isAgain
      ? { delivery_attempt: String(wait.attempt + 1), nudge_id: '', last_error: '', failed_at: '' }
      : {};
    const bead = tx.beads.update(wait.id, {
      metadata: { state: 'ready', ready_at: rfc3339(tx.now), ...again },
    });
    this.#told({ tx, actor }, 'bead.updated', bead, `ready: ${why}`);
    decide(tx, wait.sessionId, `${wait.id} is over: ${why}`);
  }

  /** Also takes its message back, where it is not given yet, and lets the session go that nothing else holds. */
  end({ tx, actor }: Doing, wait: Wait, step: Extract<WaitStep, { kind: 'end' }>): void {
    const { state, why } = step;
    if (state !== 'closed') this.#withdraw(tx, wait.nudgeId, `its wait was ${state}`);
    const record = this.session(tx, wait.sessionId);
    const nudgeId = step.tells && record && !record.closed ? this.#enqueue(tx, wait, record, step) : '';
    const bead = tx.beads.close(wait.id, {
      state,
      [`${state}_at`]: rfc3339(tx.now),
      ...(why === '' ? {} : { last_error: why }),
      ...(nudgeId === '' ? {} : { nudge_id: nudgeId }),
    });
    this.#told({ tx, actor }, 'bead.closed', bead, why === '' ? state : `${state}: ${why}`);
    decide(tx, wait.sessionId, `${wait.id} ${why === '' ? `is ${state}` : `${state}: ${why}`}`);
    this.release(tx, wait.sessionId);
  }

  endAll(doing: Doing, sessionId: string, state: WaitEnd, why: string): void {
    for (const wait of this.live(sessionId)) this.end(doing, wait, { kind: 'end', state, why, tells: false });
  }

  /** Of a bead that other hands closed: its own words follow. */
  settle(doing: Doing, id: string): void {
    const bead = doing.tx.beads.find(id);
    if (!bead || !isWaitBead(bead) || bead.status !== 'closed') return;
    if (!['pending', 'ready'].includes(bead.metadata['state'] ?? '')) return;
    const metadata = {
      state: 'canceled',
      canceled_at: rfc3339(doing.tx.now),
      last_error: 'its bead was closed by other hands',
    };
    const { sessionId, nudgeId } = toWait(doing.tx.beads.update(id, { metadata }));
    this.#withdraw(doing.tx, nudgeId, 'its wait was canceled');
    decide(doing.tx, sessionId, `${id} canceled: ${metadata.last_error}`);
    this.release(doing.tx, sessionId);
  }

  /** Nothing that sleeps waits any longer: the session may be up again. */
  release(tx: CityTransaction, sessionId: string): void {
    const record = this.session(tx, sessionId);
    if (!record?.waitHold || this.live(sessionId).some(({ sleeps }) => sleeps)) return;
    tx.beads.update(sessionId, {
      metadata: {
        wait_hold: '',
        ...(record.sleepIntent === 'wait-hold' ? { sleep_intent: '' } : {}),
        ...(record.sleepReason === 'wait-hold' ? { sleep_reason: '' } : {}),
      },
    });
    decide(tx, sessionId, 'no wait holds it any longer');
  }

  /** Nobody ran for so long: what was given as a span is moved. */
  credit(tx: CityTransaction, shiftMs: number): void {
    for (const wait of this.live()) {
      const metadata = {
        ...(wait.until !== undefined && wait.untilMoves ? { until: moved(wait.until, shiftMs) } : {}),
        ...(wait.expiresAt === undefined ? {} : { expires_at: moved(wait.expiresAt, shiftMs) }),
      };
      if (Object.keys(metadata).length > 0) tx.beads.update(wait.id, { metadata });
    }
  }

  #tell({ tx, actor }: Doing, wait: Wait): void {
    const record = this.session(tx, wait.sessionId);
    if (!record || record.closed) return;
    const nudgeId = this.#enqueue(tx, wait, record);
    const bead = tx.beads.update(wait.id, { metadata: { nudge_id: nudgeId } });
    this.#told({ tx, actor }, 'bead.updated', bead, `told: ${nudgeId}`);
  }

  /** Once per attempt, whoever asks how often. */
  #enqueue(
    tx: CityTransaction,
    wait: Wait,
    record: SessionRecord,
    ending?: Extract<WaitStep, { kind: 'end' }>,
  ): string {
    const id = waitNudgeId(wait);
    if (this.#inbox.find(id)) return id;
    this.#inbox.insert(
      newNudge(
        {
          id,
          agent: displayName(record),
          sessionName: record.sessionName,
          boundSessionId: record.id,
          template: '',
          sender: wait.createdBy || displayName(record),
          source: 'wait',
          delivery: 'wait-idle',
          message: waitMessage(wait, ending),
        },
        tx.now,
      ),
    );
    const row = this.#inbox.find(id);
    if (row) tx.nudgeChanged(undefined, row);
    return id;
  }

  /** What is being typed goes on. */
  #withdraw(tx: CityTransaction, nudgeId: string, why: string): void {
    const row = nudgeId === '' ? undefined : this.#inbox.find(nudgeId);
    if (!row || row.endedMs !== undefined || row.state === 'typed') return;
    const patch = { ...refused(tx.now, why), fence: row.fence + 1 };
    this.#inbox.update(row.num, patch);
    tx.nudgeChanged(row, { ...row, ...patch });
  }

  #told({ tx, actor }: Doing, type: string, bead: Bead, message: string): void {
    tx.recordEvent({ type, actor, subject: bead.id, message, payload: beadJson(bead) });
  }
}

/** Source: Gas City's record of a session that sleeps for a wait. */
const HOLD = { wait_hold: 'true', sleep_intent: 'wait-hold' } as const;

const moved = (at: number, shiftMs: number): string => new Date(at + shiftMs).toISOString();

function decide(
  tx: CityTransaction,
  sessionId: string,
  why: string,
  inputs: Readonly<Record<string, unknown>> = {},
): void {
  tx.recordDecision({ sessionId, what: 'wait', why, inputs });
}
