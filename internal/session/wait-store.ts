import type { CityDatabase } from '../beads/sqlite/city-database.ts';
import { GcError } from '../platform/errors.ts';
import { displayName } from './display.ts';
import type { SessionRecord } from './record.ts';
import { isWaitBead, toWait, type WaitDraft } from './wait-codec.ts';
import { waitCycle } from './wait-cycle.ts';
import { WaitTable } from './wait-table.ts';
import { isOver, type NudgeFate, type Wait, type WaitPlan } from './waits.ts';

/** The waits of a city's sessions. Each change is one transaction with everything that follows from it. */
export class WaitStore {
  readonly #db: CityDatabase;
  readonly #table: WaitTable;

  constructor(db: CityDatabase) {
    this.#db = db;
    this.#table = new WaitTable(db);
  }

  /** Those that are not over, oldest first. */
  live(): Promise<readonly Wait[]> {
    return this.#db.read(() => this.#table.live());
  }

  /** All that are kept, oldest first. */
  all(sessionId?: string): Promise<readonly Wait[]> {
    return this.#db.read(() => this.#table.all(sessionId));
  }

  /** @throws GcError `wait-not-found`, `not-a-wait` */
  get(id: string): Promise<Wait> {
    return this.#db.read(() => this.#get(id));
  }

  /** Those of which the bead was closed by other hands, while their own words say that they go on. */
  closedElsewhere(): Promise<readonly Wait[]> {
    return this.#db.read(() => this.#table.closedElsewhere().map(toWait));
  }

  /** What became of messages. */
  fates(nudgeIds: readonly string[]): Promise<ReadonlyMap<string, NudgeFate>> {
    return this.#db.read(() => new Map(nudgeIds.map((id) => [id, this.#table.fate(id)])));
  }

  /**
   * @param text what it waits for, for people
   * @throws GcError `session-closed`, `wait-cycle`
   */
  register(draft: WaitDraft, text: string, actor: string): Promise<Wait> {
    return this.#db.transaction((tx) => {
      const record = this.#table.session(tx, draft.sessionId);
      if (!record || record.closed) throw closed(record ? displayName(record) : draft.sessionName);
      const ring = draft.state === 'ready' ? undefined : waitCycle(draft, this.#table.live());
      if (ring) throw cycle(ring, (id) => this.#table.session(tx, id));
      return this.#table.create({ tx, actor }, record, { ...draft, epoch: epochOf(record) }, text);
    });
  }

  /** What changed meanwhile is left alone: its next evaluation sees it. */
  apply(plan: Pick<WaitPlan, 'steps'>, actor: string): Promise<void> {
    return this.#db.transaction((tx) => {
      for (const { wait, step } of plan.steps) {
        if (tx.beads.find(wait.id)?.revision === wait.revision) this.#table.step({ tx, actor }, wait, step);
      }
    });
  }

  /** Settles waits that other hands closed, and lets sessions go that no wait holds. */
  repair(waitIds: readonly string[], sessionIds: readonly string[], actor: string): Promise<void> {
    return this.#db.transaction((tx) => {
      for (const id of waitIds) this.#table.settle({ tx, actor }, id);
      for (const id of sessionIds) this.#table.release(tx, id);
    });
  }

  /** One that is over stays as it is. @throws GcError `wait-not-found`, `not-a-wait` */
  cancel(id: string, why: string, actor: string): Promise<Wait> {
    return this.#db.transaction((tx) => {
      const wait = this.#get(id);
      if (isOver(wait.state)) return wait;
      this.#table.end({ tx, actor }, wait, { kind: 'end', state: 'canceled', why, tells: false });
      return this.#get(id);
    });
  }

  /**
   * Satisfied, whatever it waits for. One that is over is tried anew as another one.
   * @throws GcError `wait-not-found`, `not-a-wait`, `session-closed`
   */
  ready(id: string, text: string, actor: string): Promise<Wait> {
    return this.#db.transaction((tx) => {
      const wait = this.#get(id);
      const doing = { tx, actor };
      if (!isOver(wait.state)) {
        this.#table.ready(doing, wait, text);
        return this.#get(id);
      }
      const record = this.#table.session(tx, wait.sessionId);
      if (!record || record.closed) throw closed(record ? displayName(record) : wait.sessionName);
      const again: WaitDraft = {
        ...wait,
        state: 'ready',
        sleeps: false,
        sessionName: record.sessionName,
        epoch: epochOf(record),
        attempt: wait.attempt + 1,
        createdAt: tx.now,
        retriedFrom: wait.id,
      };
      return this.#table.create(doing, record, again, text);
    });
  }

  /** Nobody ran for so long, or the clock was set: no span runs out by that. */
  async credit(shiftMs: number): Promise<void> {
    if ((await this.live()).length > 0) await this.#db.transaction((tx) => this.#table.credit(tx, shiftMs));
  }

  #get(id: string): Wait {
    const bead = this.#table.find(id);
    if (!bead) throw new GcError('wait-not-found', `wait not found: ${id}`, { next: 'gc wait list' });
    if (!isWaitBead(bead)) throw new GcError('not-a-wait', `${id} is not a wait`, { next: 'gc wait list' });
    return toWait(bead);
  }
}

/** One that begins a new conversation in each life is told whichever it has. */
function epochOf(record: SessionRecord): string {
  return record.wakeMode === 'fresh' ? '' : String(record.continuationEpoch);
}

function closed(name: string): GcError {
  return new GcError('session-closed', `session ${name} is closed`, { next: 'gc session list' });
}

function cycle(ring: readonly string[], find: (id: string) => SessionRecord | undefined): GcError {
  const names = ring.map((id) => {
    const record = find(id);
    return record ? displayName(record) : id;
  });
  return new GcError(
    'wait-cycle',
    `${names[0]} would wait for ${names.slice(1).join(', which waits for ')}: neither would ever be ready`,
    {
      next: 'gc wait list; cancel the one that is not meant',
    },
  );
}
