import { messageJson, newMessageBead, toMessage } from '../beads/message.ts';
import { MessageStore } from '../beads/message-store.ts';
import type { CityTransaction } from '../beads/sqlite/city-database.ts';
import type { NewBead } from '../beads/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import { GcError } from '../platform/errors.ts';
import { displayName } from '../session/display.ts';
import { ackMark, drainMark, drainOver, isAcknowledged, restartMark } from '../session/drain-marks.ts';
import { STOP_BY_KEY } from '../session/journal/facts.ts';
import type { SessionRecord } from '../session/record.ts';
import { requireResolved } from '../session/resolve.ts';
import { acknowledgeDrain, beginDrain, type MetadataPatch } from '../session/transitions.ts';
import { actionFor } from '../session/verb-table.ts';
import type { DrainState, HandoffReply, HandoffRequest, LifeRequest } from './city-api.ts';
import { configuredNames } from './desired-state.ts';
import { clearDrainFlags, setDrainFlags } from './drain-operation.ts';
import type { StopReason } from './model.ts';
import { rigHere } from './rig-here.ts';
import {
  believedRunning,
  drainOf,
  STOP_INTENT_KEY,
  saysDone,
  startIncomplete,
  stopIntent,
} from './session-facts.ts';
import type { SessionVerbs, VerbsOptions } from './session-verbs.ts';
import { cityRuntimeDir, raiseTurnFlag } from './turn-flags.ts';
import { decidedAnew, isUp, requireAction, requireExisting, type Target } from './verb-context.ts';

const BY_PERSON = 'drained by a person';
const THREAD_ID_BYTES = 6;

/**
 * How a session is asked to end, and how an agent ends its own life. All of it is on the record before anything is
 * shown, and meant for one life of the session: what an earlier one says is refused.
 */
export class DrainVerbs {
  readonly #options: VerbsOptions;
  readonly #sessions: SessionVerbs;

  constructor(options: VerbsOptions, sessions: SessionVerbs) {
    this.#options = options;
    this.#sessions = sessions;
  }

  /** The agent is told; it has its drain timeout to say that it is done. Asked again, its time runs on. */
  async drain(token: string): Promise<SessionRecord> {
    const record = await decidedAnew(async () => {
      const target = requireExisting(await this.#sessions.target(token), 'drain');
      requireAction(target, 'drain');
      refuseUnsettled(target.record);
      refuseEnding(target.record);
      if (drainOf(target.record)?.reason === BY_PERSON) return target.record;
      return this.#apply(target.record, {
        patch: { ...beginDrain(BY_PERSON, this.#now()), ...drainMark(target.record) },
        event: { type: 'session.draining', message: BY_PERSON },
        decision: { what: 'drain', why: BY_PERSON },
      });
    });
    const { engine, controlled } = this.#options;
    if (!controlled) await bestEffort(setDrainFlags(engine.executor.context, record, BY_PERSON));
    return record;
  }

  /** A drain that the controller decided comes back as long as its reason holds. */
  async undrain(token: string): Promise<SessionRecord> {
    const record = await decidedAnew(async () => {
      const target = requireExisting(await this.#sessions.target(token), 'undrain');
      requireAction(target, 'undrain');
      refuseEnding(target.record);
      const isDraining = drainOf(target.record) !== undefined;
      if (!isDraining && !saysDone(target.record)) return target.record;
      return this.#apply(target.record, {
        patch: { ...(isDraining ? { state: 'active', state_reason: '' } : {}), ...drainOver() },
        event: { type: 'session.undrained', message: 'taken back' },
        decision: { what: 'keep', why: 'its drain was taken back' },
      });
    });
    await clearDrainFlags(this.#options.engine.executor.context, record.sessionName);
    return record;
  }

  /** From the record alone: agents ask several times a second. */
  async state(token: string, life: LifeRequest): Promise<DrainState> {
    const { engine } = this.#options;
    const records = await engine.parts.store.list('open');
    const configured = configuredNames(engine.city);
    const rig = rigHere(engine.city);
    const found = requireResolved({ token, records, configured, closedToo: false, rig });
    if (found.kind === 'reserved') return { session: found.identity, draining: false, acknowledged: false };
    const { record } = found;
    const drain = isOfLife(record, life) ? drainOf(record) : undefined;
    return {
      session: displayName(record),
      draining: drain !== undefined,
      acknowledged: isAcknowledged(record),
      ...(drain ? { reason: drain.reason, since: rfc3339(drain.since) } : {}),
    };
  }

  /** The agent says that it is done. Of one that is down already, it says that it is not to come back. */
  acknowledge(token: string, life: LifeRequest): Promise<SessionRecord> {
    return decidedAnew(async () => {
      const target = requireExisting(await this.#sessions.target(token), 'drain-ack');
      requireAction(target, 'drain-ack');
      const { record } = target;
      refuseOtherLife(record, life);
      const decision = { what: 'drain', why: 'the agent said that it is done' };
      if (!isUp(target)) {
        if (record.state !== 'asleep' && record.state !== 'creating') return record;
        const patch = { ...acknowledgeDrain(record.wakeMode === 'fresh'), ...drainOver() };
        return this.#apply(record, { patch, decision });
      }
      if (isAcknowledged(record)) return record;
      return this.#apply(record, { patch: ackMark(record), decision });
    });
  }

  /** The agent asks for a new life: with its conversation, unless its `wake_mode` is fresh. */
  requestRestart(token: string, life: LifeRequest): Promise<SessionRecord> {
    return decidedAnew(async () => {
      const target = requireExisting(await this.#sessions.target(token), 'restart');
      requireAction(target, 'restart');
      const { record } = target;
      refuseOtherLife(record, life);
      return this.#apply(record, {
        patch: restartMark(record, false),
        event: { type: 'session.draining', message: 'restart requested by session' },
        decision: { what: 'restart', why: 'the agent asked for a new life' },
      });
    });
  }

  /** A letter for the next life, and the end of this one: its conversation is left behind. */
  async handoff(token: string, request: HandoffRequest): Promise<HandoffReply> {
    const posted: Posted = {};
    const { target, reply, intended, reason } = await decidedAnew(() =>
      this.#handOff(token, request, posted),
    );
    const { engine } = this.#options;
    if (target.kind === 'session') {
      const { sessionName } = target.record;
      // The hooks of its next turn look for it; without them it is read with `gc mail check`.
      await bestEffort(raiseTurnFlag(cityRuntimeDir(engine.city.root), sessionName, 'mail'));
      if (intended && request.by === 'other') await this.#sessions.carryOutStop(intended, reason);
    }
    this.#options.poke();
    return reply;
  }

  async #handOff(token: string, request: HandoffRequest, posted: Posted) {
    const { engine, actor } = this.#options;
    const { db, ids, work } = engine.parts;
    const target = await this.#sessions.target(token);
    if (target.kind === 'session') refuseOtherLife(target.record, request);
    const ends = endedBy(target, request);
    if (ends && request.by === 'other') this.#sessions.beforeEffect(target);
    const reason = endReasonOf(ends);
    const to = target.kind === 'session' ? addressOf(target.record) : target.identity;
    const { from, subject, body } = request;
    const letter = { from, to, subject, body };
    // Mail in a file is in no transaction of the database: the letter lies there before anything is ended for it.
    if (work.kind === 'file') posted.id ??= (await new MessageStore(work, ids).send([letter]))[0]?.id;
    const thread = `thread-${ids.hex(THREAD_ID_BYTES)}`;
    const { mailId, intended } = await db.transaction((tx) => {
      const mailId = posted.id ?? postLetter(tx, newMessageBead(letter, thread));
      if (!ends) return { mailId, intended: undefined };
      const patch = {
        ...restartMark(ends, true),
        ...(request.by === 'other' ? { [STOP_INTENT_KEY]: reason, [STOP_BY_KEY]: actor } : {}),
      };
      tx.beads.update(ends.id, { metadata: patch }, ends.revision);
      tx.recordEvent({ type: 'session.draining', actor, subject: displayName(ends), message: 'handoff' });
      const decision = { what: 'restart', why: `handed off: ${subject}`, inputs: { mail: mailId } };
      tx.recordDecision({ ...decision, sessionId: ends.id });
      return { mailId, intended: ends.id };
    });
    if (intended !== undefined) this.#endWait(ends);
    return {
      target,
      reply: { mail_id: mailId, to, stops: ends !== undefined },
      intended: intended === undefined ? undefined : await engine.parts.store.get(intended),
      reason,
    };
  }

  async #apply(
    record: SessionRecord,
    change: {
      readonly patch: MetadataPatch;
      readonly event?: { readonly type: string; readonly message: string };
      readonly decision: { readonly what: string; readonly why: string };
    },
  ): Promise<SessionRecord> {
    const { engine, actor, poke } = this.#options;
    const changed = await engine.parts.store.apply(record.id, change.patch, {
      expectedRevision: record.revision,
      events: change.event ? [{ ...change.event, actor, subject: displayName(record) }] : [],
      decisions: [{ ...change.decision, inputs: {} }],
    });
    this.#endWait(record);
    poke();
    return changed;
  }

  /** The controller no longer waits for what it waited for: it acts on what the record says now. */
  #endWait(record: SessionRecord | undefined): void {
    const { executor } = this.#options.engine;
    const name = record?.sessionName ?? '';
    if (executor.operations.get(name)?.kind === 'drain') executor.cancel(name);
  }

  #now(): number {
    return this.#options.engine.parts.clock.now();
  }
}

/** The record says it already; the runtime's copy is for those who look there. */
async function bestEffort(work: Promise<unknown>): Promise<void> {
  await work.catch(() => undefined);
}

/** The letter of a handoff that is decided anew is not written again. */
interface Posted {
  id?: string | undefined;
}

/** Answers its id. */
function postLetter(tx: CityTransaction, letter: NewBead): string {
  const mail = toMessage(tx.createBead(letter));
  const payload = { message: messageJson(mail) };
  tx.recordEvent({ type: 'mail.sent', actor: mail.from, subject: mail.id, message: mail.to, payload });
  return mail.id;
}

/** Whose life ends for a letter. One that is being stopped anyway is left to it. */
function endedBy(target: Target, { by }: HandoffRequest): SessionRecord | undefined {
  if (target.kind !== 'session') return undefined;
  if (by === 'session') return target.record;
  return isUp(target) && stopIntent(target.record) === undefined ? target.record : undefined;
}

/** A letter takes no drain back. */
function endReasonOf(record: SessionRecord | undefined): StopReason {
  return (record && drainOf(record)?.reason) ?? 'restart requested';
}

/** It lives before its start is complete, and what is written then does not last. */
function refuseUnsettled(record: SessionRecord): void {
  if (believedRunning(record) && !startIncomplete(record)) return;
  actionFor('creating', 'drain', { label: displayName(record) });
}

function refuseEnding(record: SessionRecord): void {
  const intent = stopIntent(record);
  if (intent === undefined || !believedRunning(record)) return;
  const label = displayName(record);
  throw new GcError('session-ending', `session ${label} is being stopped: ${intent}`, {
    next: `gc explain ${label}`,
  });
}

function isOfLife(record: SessionRecord, life: LifeRequest): boolean {
  return !life.instance_token || life.instance_token === record.instanceToken;
}

function refuseOtherLife(record: SessionRecord, life: LifeRequest): void {
  if (isOfLife(record, life)) return;
  const label = displayName(record);
  throw new GcError(
    'session-replaced',
    `session ${label} has been started again since: what an earlier life of it says is not taken`,
    { next: 'nothing: end this process' },
  );
}

/** What mail to a session carries. Source: Gas City session mailboxes. */
function addressOf(record: SessionRecord): string {
  return record.namedIdentity || record.alias || record.id;
}
