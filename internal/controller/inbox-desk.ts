import type { NudgeRow } from '../beads/sqlite/inbox-table.ts';
import { rfc3339 } from '../platform/clock.ts';
import { shortDuration } from '../platform/duration.ts';
import { GcError, messageOf } from '../platform/errors.ts';
import { NUDGE_TTL_MS, refused, typeableText } from '../session/inbox.ts';
import { queuedEvent } from '../session/inbox-events.ts';
import type { InboxStore } from '../session/inbox-store.ts';
import type { SessionRecord } from '../session/record.ts';
import { limitOfLiving } from './account-limits.ts';
import type { NudgeQueue, NudgeReply, NudgeRequest, TakenMark, TakenNudges } from './city-api.ts';
import type { CityEngine } from './city-engine.ts';
import type { Ending, InboxDelivery } from './inbox-delivery.ts';
import { addressOf, type Reception, receptionOf } from './inbox-reception.ts';
import { nudgeQueue } from './inbox-views.ts';
import { endedReply, requireDelivered } from './nudging.ts';
import type { SessionVerbs } from './session-verbs.ts';
import type { Target } from './verb-context.ts';

/** A message that is not to wait is given up when another one is in the way for so long. */
const IMMEDIATE_LIMIT_MS = 30_000;
/** On top of what the sender grants, where the session is started first. */
const START_LIMIT_MS = 60_000;
/** What is being typed when the sender's time is over ends within this. */
const TYPING_LIMIT_MS = 25_000;

export interface InboxDeskOptions {
  readonly engine: CityEngine;
  readonly verbs: SessionVerbs;
  readonly store: InboxStore;
  /** The controller's; without one a new one, which is ended when the request is answered. */
  readonly delivery: () => InboxDelivery;
  /** A controller of this process delivers what waits. */
  readonly controlled: boolean;
  /** Who asks, where the request does not say. */
  readonly actor: () => string;
  readonly poke: () => void;
}

/** One round of `deliver` without a controller. */
const ROUND_LIMIT_MS = 15_000;

interface Sent {
  readonly delivery: InboxDelivery;
  readonly row: NudgeRow;
  readonly reception: Reception;
  readonly target: string;
  readonly waitIdleMs: number;
}

/** Takes messages in: each is committed before anything is typed, and the sender is told what became of it. */
export class InboxDesk {
  readonly #options: InboxDeskOptions;

  constructor(options: InboxDeskOptions) {
    this.#options = options;
  }

  /** @throws GcError for every outcome but delivered and queued */
  async nudge(target: string, request: NudgeRequest): Promise<NudgeReply> {
    const { store, verbs, controlled, actor, engine } = this.#options;
    // Nobody stands by for longer than it is kept.
    const waitIdleMs = Math.min(request.wait_idle_ms, NUDGE_TTL_MS);
    const delivery = request.delivery ?? (waitIdleMs > 0 ? 'wait-idle' : 'immediate');
    const found = await verbs.target(target);
    const reception = this.#reception(found, delivery);
    if (typeableText(request.text).trim() === '') {
      throw requireDelivered(addressOf(found, target).agent, { kind: 'empty' });
    }
    const { row, fresh } = await store.enqueue({
      ...addressOf(found, target),
      id: request.id ?? newNudgeId(engine.parts.ids),
      sender: request.sender || actor(),
      source: request.source || 'session',
      delivery,
      message: request.text,
    });
    if (!fresh && row.endedMs !== undefined) return endedReply(row);
    const sent: Sent = { row, reception, target, waitIdleMs, delivery: this.#options.delivery() };
    try {
      if (reception.kind === 'queue') return await this.#queued(sent, reception.why);
      return delivery === 'queue' ? await this.#queued(sent, 'as asked') : await this.#attended(sent);
    } finally {
      if (!controlled) await sent.delivery.end();
    }
  }

  /** Of one session, or of all that have something to show. */
  async queues(target?: string): Promise<readonly NudgeQueue[]> {
    const { store, engine } = this.#options;
    const records = await engine.parts.store.list('open');
    const names = target === undefined ? await store.names() : [await this.#nameOf(target)];
    const views = await Promise.all(names.map((name) => store.view(name)));
    return views
      .filter((view) => target !== undefined || view.waitingCount > 0 || view.buried.length > 0)
      .map((view) => nudgeQueue(view, recordOf(records, view.sessionName)));
  }

  /** @throws GcError `session-not-active`: nobody is there to be told */
  async take(target: string): Promise<TakenNudges> {
    const { store, verbs, engine } = this.#options;
    const found = await verbs.target(target);
    const sessionName = nameOf(found);
    const record = found.kind === 'session' ? found.record : undefined;
    // A hook is a process of the session: should it die, nobody else tells what it had.
    const owner = `hook:${engine.parts.ids.hex(8)}`;
    const rows = await store.take(sessionName, record?.id ?? '', owner, record?.continuationEpoch);
    if (rows.length === 0) await this.#settleFlag(sessionName);
    return {
      session: sessionName,
      items: rows.map(({ id, fence, source, sender, message }) => ({ id, fence, source, sender, message })),
    };
  }

  async acknowledge(target: string, taken: readonly TakenMark[]): Promise<void> {
    const { store, controlled } = this.#options;
    const sessionName = await this.#nameOf(target);
    await store.acknowledge(taken);
    if (controlled) {
      const rows = await Promise.all(taken.map(({ id }) => store.find(id)));
      this.#options
        .delivery()
        .ended(rows.filter((row) => row?.endedMs !== undefined).flatMap((row) => row ?? []));
    }
    await this.#settleFlag(sessionName);
  }

  /** One try to deliver what waits. */
  async deliver(target: string): Promise<NudgeQueue> {
    const { controlled, engine } = this.#options;
    const sessionName = await this.#nameOf(target);
    const delivery = this.#options.delivery();
    delivery.kick(sessionName);
    if (!controlled) {
      const over = new AbortController();
      const limit = engine.parts.clock.sleep(ROUND_LIMIT_MS, over.signal).catch(() => undefined);
      await Promise.race([delivery.idle(sessionName), limit]);
      over.abort();
      await delivery.end();
    }
    const [queue] = await this.queues(target);
    if (!queue) throw new GcError('internal', `no queue of ${sessionName}`);
    return queue;
  }

  async #nameOf(target: string): Promise<string> {
    return nameOf(await this.#options.verbs.target(target, true));
  }

  async #settleFlag(sessionName: string): Promise<void> {
    const delivery = this.#options.delivery();
    await delivery.flag(sessionName);
    if (!this.#options.controlled) await delivery.end();
  }

  #reception(found: Target, delivery: NudgeRow['delivery']): Reception {
    const reception = receptionOf(found, delivery, this.#options.controlled);
    if (delivery === 'immediate' || found.kind === 'reserved') return reception;
    const { memory, parts } = this.#options.engine;
    const limit = limitOfLiving(memory.accountLimits, found.record, parts.clock.now());
    return limit ? { kind: 'queue', why: 'its account reached a usage limit' } : reception;
  }

  /** Stands by until it is delivered, or the sender's time is over. */
  async #attended(sent: Sent): Promise<NudgeReply> {
    const { row, reception, delivery } = sent;
    const isImmediate = row.delivery === 'immediate';
    const grantedMs = isImmediate ? IMMEDIATE_LIMIT_MS : sent.waitIdleMs;
    const limitMs = grantedMs + (reception.kind === 'start' ? START_LIMIT_MS : 0);
    const { ending, leave } = delivery.attend(row, limitMs);
    const over = new AbortController();
    try {
      const started = reception.kind === 'start' ? this.#start(sent) : never();
      const first = await Promise.race([ending, started, this.#after(limitMs, over.signal, sent)]);
      if (typeof first !== 'string') return replyOf(first);
      return await this.#outOfTime(sent, ending, first, leave);
    } finally {
      leave();
      over.abort();
    }
  }

  /** Resolves with why it could not be started; a start that worked lets the delivery speak. */
  async #start({ target, row, delivery }: Sent): Promise<string> {
    const { verbs } = this.#options;
    try {
      const verb = row.delivery === 'immediate' ? 'nudge' : 'submit';
      await verbs.ready(target, verb);
    } catch (error) {
      if (row.delivery !== 'immediate') return `it could not be started: ${messageOf(error)}`;
      await this.#options.store.withdraw(row.id, (now) => refused(now, messageOf(error)));
      throw error;
    }
    delivery.kick(row.sessionName, row.delivery === 'immediate');
    return never();
  }

  async #after(limitMs: number, signal: AbortSignal, { row, reception, delivery }: Sent): Promise<string> {
    const { engine } = this.#options;
    if (reception.kind !== 'start') delivery.kick(row.sessionName, row.delivery === 'immediate');
    // Ended early: the outcome was there first.
    await engine.parts.clock.sleep(limitMs, signal).catch(() => undefined);
    return '';
  }

  async #outOfTime(sent: Sent, ending: Promise<Ending>, why: string, leave: () => void): Promise<NudgeReply> {
    const { store, engine } = this.#options;
    const { row } = sent;
    const isImmediate = row.delivery === 'immediate';
    const reason = why || 'another message is being delivered';
    if (isImmediate && (await store.withdraw(row.id, (now) => refused(now, reason)))) {
      return { session: row.agent, outcome: requireDelivered(row.agent, { kind: 'busy', detail: reason }) };
    }
    const now = await store.find(row.id);
    if (now?.endedMs !== undefined) return endedReply(now);
    if (now?.state === 'typed') {
      const over = new AbortController();
      const limit = engine.parts.clock.sleep(TYPING_LIMIT_MS, over.signal).catch(() => undefined);
      const last = await Promise.race([ending, limit]);
      over.abort();
      if (last) return replyOf(last);
    }
    leave();
    return this.#queued(sent, why || busyText(now ?? row, engine.parts.clock.now()));
  }

  /** Waits in the queue from now on: nobody stands by. */
  async #queued({ row, delivery }: Sent, why: string): Promise<NudgeReply> {
    const { store, poke, controlled } = this.#options;
    const now = await store.leave(row.id, queuedEvent(row, why));
    if (now?.endedMs !== undefined) return endedReply(now);
    await delivery.flag(row.sessionName);
    if (controlled) {
      delivery.kick(row.sessionName);
      poke();
    }
    return {
      session: row.agent,
      outcome: { kind: 'queued', id: row.id, why, expires_at: rfc3339(row.expiresMs) },
    };
  }
}

const nameOf = (target: Target): string =>
  target.kind === 'session' ? target.record.sessionName : target.sessionName;

const recordOf = (records: readonly SessionRecord[], name: string): SessionRecord | undefined =>
  records.find((record) => record.sessionName === name);

function replyOf(ending: Ending): NudgeReply {
  if (ending.kind === 'ended') return endedReply(ending.row);
  const { agent } = ending.row;
  return { session: agent, outcome: requireDelivered(agent, ending.outcome) };
}

function busyText(row: NudgeRow, now: number): string {
  const forSoLong = `busy for ${shortDuration(now - row.createdMs)}`;
  return row.lastError === '' ? forSoLong : `${forSoLong} (${row.lastError})`;
}

function newNudgeId(ids: { hex(bytes: number): string }): string {
  return `nudge-${ids.hex(6)}`;
}

const never = (): Promise<never> => new Promise(() => undefined);
