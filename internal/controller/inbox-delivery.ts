import type { NudgeRow } from '../beads/sqlite/inbox-table.ts';
import type { NudgeOutcome } from '../runtime/provider.ts';
import type { InboxStore } from '../session/inbox-store.ts';
import type { SessionRecord } from '../session/record.ts';
import { limitOfLiving } from './account-limits.ts';
import type { CityEngine } from './city-engine.ts';
import { Attempt } from './inbox-attempt.ts';
import { InboxNaps } from './inbox-naps.ts';
import type { InboxOwner } from './inbox-owner.ts';
import { stopIntent } from './session-facts.ts';
import { cityRuntimeDir, clearTurnFlag, raiseTurnFlag } from './turn-flags.ts';

/** How long one try waits for an agent that is at work. */
const BACKGROUND_IDLE_WAIT_MS = 10_000;
const ATTENDED_IDLE_WAIT_MS = 30_000;
/** A session that has not come up by then tells nothing to its messages; a poke tries again. */
const NOT_UP_PAUSE_MS = 250;

const ATTENDED_LOOK_MS = 500;

/** How a message ended for the sender that stands by. */
export type Ending =
  | { readonly kind: 'outcome'; readonly outcome: NudgeOutcome; readonly row: NudgeRow }
  | { readonly kind: 'ended'; readonly row: NudgeRow };

interface Sender {
  readonly sessionName: string;
  /** Monotonic, milliseconds. */
  readonly until: number;
  tell(ending: Ending): void;
}

export interface InboxDeliveryOptions {
  readonly engine: CityEngine;
  readonly store: InboxStore;
  readonly owner: InboxOwner;
  readonly trouble: (error: unknown) => void;
  /** What became of one is known. */
  readonly ended?: (row: NudgeRow) => void;
}

/**
 * Gives messages to sessions, one at a time per session, for as long as it lives. A session costs something only while
 * a message waits for it; how many wait does not matter.
 */
export class InboxDelivery {
  readonly #options: InboxDeliveryOptions;
  readonly #store: InboxStore;
  readonly #naps: InboxNaps;
  readonly #workers = new Map<string, Promise<void>>();
  readonly #attempts = new Map<string, Attempt>();
  readonly #senders = new Map<string, Sender>();
  /** Asked for while its worker was at its end. */
  readonly #again = new Set<string>();
  readonly #flagged = new Set<string>();
  #over = false;

  constructor(options: InboxDeliveryOptions) {
    this.#options = options;
    this.#store = options.store;
    this.#naps = new InboxNaps(options.engine.parts.clock);
  }

  /** Something may be delivered to the session now. */
  kick(sessionName: string, urgent = false): void {
    if (this.#over) return;
    const current = this.#attempts.get(sessionName);
    if (urgent && current && !current.isUrgent) current.giveUp();
    this.#again.add(sessionName);
    this.#naps.wake(sessionName);
    this.ensure(sessionName);
  }

  /** A worker for the session, if it has none. */
  ensure(sessionName: string): void {
    if (this.#over || this.#workers.has(sessionName)) return;
    const worker = this.#work(sessionName)
      .catch((error: unknown) => {
        this.#again.delete(sessionName);
        if (!this.#over) this.#options.trouble(error);
      })
      .finally(() => {
        this.#workers.delete(sessionName);
        if (this.#again.has(sessionName)) this.ensure(sessionName);
      });
    this.#workers.set(sessionName, worker);
  }

  /** The agent showed something: it may come to rest now. */
  activity(sessionName: string): void {
    if (this.#workers.has(sessionName)) this.#naps.heard(sessionName);
  }

  /** Deadlines were moved: whoever sleeps until one of them sleeps by the new ones. */
  deadlinesMoved(): void {
    this.#naps.wakeAll();
  }

  /** Resolves when nothing more can be done for the session now, or a pause begins. */
  async idle(sessionName: string): Promise<void> {
    await Promise.race([this.#workers.get(sessionName), this.#naps.begun(sessionName)]);
  }

  /** The sender stands by for so long. `leave` ends that early. */
  attend(row: NudgeRow, limitMs: number): { readonly ending: Promise<Ending>; leave(): void } {
    const until = this.#options.engine.parts.clock.monotonic() + limitMs;
    const ending = new Promise<Ending>((tell) => {
      this.#senders.set(row.id, { sessionName: row.sessionName, until, tell });
    });
    return { ending, leave: () => this.#senders.delete(row.id) };
  }

  /** They ended by other hands. */
  ended(rows: readonly NudgeRow[]): void {
    for (const row of rows) this.#tell(row, { kind: 'ended', row });
  }

  /** Nothing more is begun; what is being typed is brought to its end. */
  async end(): Promise<void> {
    this.#over = true;
    for (const attempt of this.#attempts.values()) attempt.giveUp();
    this.#naps.end();
    await Promise.allSettled(this.#workers.values());
  }

  /** The hooks of the session look for messages at its next turn, or no longer. */
  async flag(sessionName: string): Promise<void> {
    const dir = cityRuntimeDir(this.#options.engine.city.root);
    if ((await this.#store.waitingCount(sessionName)) > 0) {
      if (!this.#flagged.has(sessionName)) await raiseTurnFlag(dir, sessionName, 'nudge');
      this.#flagged.add(sessionName);
      return;
    }
    this.#flagged.delete(sessionName);
    await clearTurnFlag(dir, sessionName, 'nudge');
    // Queued between the look and the clearing.
    if ((await this.#store.waitingCount(sessionName)) > 0) await raiseTurnFlag(dir, sessionName, 'nudge');
  }

  async #work(sessionName: string): Promise<void> {
    const { owner } = this.#options;
    let isQuiet = false;
    while (!this.#over) {
      this.#again.delete(sessionName);
      const record = await this.#receiver(sessionName);
      if (!record) return this.#atRest(sessionName);
      const { id: sessionId, continuationEpoch: epoch } = record;
      const asking = { owner: owner.id, isGone: owner.isGone, sessionId, epoch, isQuiet };
      isQuiet = false;
      const given = await this.#store.next(sessionName, asking);
      if (given.kind === 'none') return this.#atRest(sessionName);
      if (given.kind === 'wait') {
        if (this.#over || this.#again.has(sessionName)) continue;
        isQuiet = (await this.#naps.until(sessionName, this.#pauseEnd(sessionName, given.until))) === 'quiet';
      } else if (given.kind === 'resolve') await this.#resolve(given.row, record);
      else await this.#attempt(given.row, record);
    }
  }

  /** Whoever has the name, if it can be told something now. */
  async #receiver(sessionName: string): Promise<SessionRecord | undefined> {
    for (;;) {
      const records = await this.#options.engine.parts.store.list('open');
      const record = records.find((candidate) => candidate.sessionName === sessionName);
      if (record && canReceive(record) && (!this.#isLimited(record) || this.#isAttended(sessionName)))
        return record;
      // A sender waits for it to come up.
      if (this.#over || !record || !this.#isAttended(sessionName)) return undefined;
      await this.#naps.until(sessionName, this.#options.engine.parts.clock.now() + NOT_UP_PAUSE_MS);
    }
  }

  /** It would only say again that it may not work. */
  #isLimited(record: SessionRecord): boolean {
    const { memory, parts } = this.#options.engine;
    return limitOfLiving(memory.accountLimits, record, parts.clock.now()) !== undefined;
  }

  async #atRest(sessionName: string): Promise<void> {
    if (this.#flagged.has(sessionName) && !this.#over) await this.flag(sessionName);
  }

  /** Other processes do not say when they are done: a sender that stands by looks more often. */
  #pauseEnd(sessionName: string, until: number): number {
    if (!this.#isAttended(sessionName)) return until;
    return Math.min(until, this.#options.engine.parts.clock.now() + ATTENDED_LOOK_MS);
  }

  async #attempt(row: NudgeRow, record: SessionRecord): Promise<void> {
    const name = record.sessionName;
    const attempt = new Attempt(this.#options.engine, this.#store, row, record);
    this.#attempts.set(name, attempt);
    if (this.#over) attempt.giveUp();
    try {
      const { outcome, row: after } = await attempt.run(this.#patience(row), () => this.#senders.has(row.id));
      if (!after) return;
      if (after.endedMs !== undefined) {
        this.#tell(after, outcome ? { kind: 'outcome', outcome, row: after } : { kind: 'ended', row: after });
      } else if (outcome?.kind === 'busy' && !this.#senders.has(row.id)) await this.flag(name);
    } finally {
      this.#attempts.delete(name);
    }
  }

  #patience(row: NudgeRow): number {
    if (row.delivery === 'immediate') return 0;
    const sender = this.#senders.get(row.id);
    if (!sender) return BACKGROUND_IDLE_WAIT_MS;
    const left = sender.until - this.#options.engine.parts.clock.monotonic();
    return Math.min(ATTENDED_IDLE_WAIT_MS, Math.max(1, left));
  }

  async #resolve(row: NudgeRow, record: SessionRecord): Promise<void> {
    const { engine } = this.#options;
    const desired = (await engine.desired(await engine.parts.store.list('open'))).get(record.sessionName);
    const prefix = desired?.resolution === 'resolved' ? desired.config.readyPromptPrefix : '';
    const after = await new Attempt(engine, this.#store, row, record).resolve(prefix);
    if (after?.endedMs !== undefined) this.#tell(after, { kind: 'ended', row: after });
  }

  #tell(row: NudgeRow, ending: Ending): void {
    this.#options.ended?.(row);
    this.#senders.get(row.id)?.tell(ending);
    this.#senders.delete(row.id);
  }

  #isAttended(sessionName: string): boolean {
    return [...this.#senders.values()].some((sender) => sender.sessionName === sessionName);
  }
}

/** It is up, and nothing ends it just now. */
export function canReceive(record: SessionRecord): boolean {
  if (record.closed || record.lastWokeAt === undefined || stopIntent(record) !== undefined) return false;
  return record.state === 'active' || record.state === 'awake' || record.state === 'draining';
}
