import type { NewDecision } from '../../beads/sqlite/decision-table.ts';
import type { NewEvent } from '../../events/event.ts';
import { CONTROLLER_ACTOR } from '../../events/event-types.ts';
import { rfc3339 } from '../../platform/clock.ts';
import { displayName } from '../display.ts';
import type { SessionRecord } from '../record.ts';
import {
  type CityFact,
  type Evidence,
  type Exit,
  type LifeFact,
  LOG_UID_KEY,
  NEW_CONVERSATION_KEY,
  STOP_BY_KEY,
} from './facts.ts';
import { shortDigest } from './kept-text.ts';

/** What else stands in the transaction that changed a record. */
export interface Cause {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly events: readonly NewEvent[];
  readonly decisions: readonly NewDecision[];
}

/** What a change of a record tells its log. */
export interface RecordFacts {
  readonly facts: readonly CityFact[];
  /** A new life begins: older writers are refused from now on. */
  readonly newIncarnation: boolean;
  /** The life is over: what its conversation still has to say comes before. */
  readonly lifeOver: boolean;
}

/** Keys of a record that the controller keeps beside the published ones. */
const STOP_INTENT = 'stop_intent';
const WAITS_FOR = 'waits_for';
const LAST_EXIT = 'last_exit';

/**
 * The facts in a change of a session's record. Where the record stands says what happened; the events and decisions of
 * the same transaction say why and by whom. Pure.
 */
export function recordFacts(
  before: SessionRecord | undefined,
  after: SessionRecord,
  cause: Cause,
): RecordFacts {
  const change = new Change(before, after, cause);
  return { facts: change.facts(), newIncarnation: change.begins, lifeOver: change.ends };
}

class Change {
  readonly #before: SessionRecord | undefined;
  readonly #after: SessionRecord;
  readonly #cause: Cause;
  readonly #facts: CityFact[] = [];
  /** A new life is on record. */
  readonly begins: boolean;
  /** The life that was on record is over. */
  readonly ends: boolean;

  constructor(before: SessionRecord | undefined, after: SessionRecord, cause: Cause) {
    this.#before = before;
    this.#after = after;
    this.#cause = cause;
    const isOther = before !== undefined && before.instanceToken !== after.instanceToken;
    this.begins = before ? isOther : after.stateReason === 'adopted';
    this.ends = before?.lastWokeAt !== undefined && after.lastWokeAt === undefined;
  }

  facts(): readonly CityFact[] {
    this.#identity();
    this.#beginning();
    if (this.ends) this.#ending();
    else this.#meant();
    this.#drain();
    this.#rest();
    this.#closing();
    return this.#facts;
  }

  #identity(): void {
    const { id, sessionName, agentName, template, origin, workDir } = this.#after;
    const before = this.#before;
    if (!before?.metadata[LOG_UID_KEY]) {
      const born = before ? this.#after.createdAt : this.#cause.now;
      this.#add(
        {
          kind: 'created',
          record: id,
          session_name: sessionName,
          agent: agentName || template,
          template,
          origin: origin || 'manual',
          work_dir: workDir,
        },
        { at: rfc3339(born) },
      );
      return;
    }
    const name = displayName(this.#after);
    const isRenamed = displayName(before) !== name && !this.#after.closed;
    const isTitled = before.title !== this.#after.title;
    if (!isRenamed && !isTitled) return;
    const actor = this.#event('session.updated')?.actor;
    this.#add(
      {
        kind: 'renamed',
        ...(isTitled ? { title: this.#after.title } : {}),
        ...(isRenamed ? { name } : {}),
      },
      actor === undefined ? {} : { actor },
    );
  }

  #beginning(): void {
    const after = this.#after;
    const { generation } = after;
    const instance = shortDigest(after.instanceToken);
    const anew = after.metadata[NEW_CONVERSATION_KEY] ?? '';
    if (this.begins && after.state === 'creating') {
      this.#add({
        kind: 'starting',
        generation,
        instance,
        provider: after.provider,
        command_sha256: shortDigest(after.command),
        work_dir: after.workDir,
        ...(after.sessionKey === '' ? {} : { conversation: after.sessionKey }),
        continuation_epoch: after.continuationEpoch,
        ...(anew === '' ? {} : { new_conversation: anew }),
        reason: after.stateReason || 'its record asks for it',
      });
    } else if (this.begins) {
      const reason = this.#event('session.updated')?.message ?? 'it lives under this name';
      this.#add({ kind: 'adopted', generation, instance, reason }, { evidence: 'runtime' });
    }
    const question = after.metadata[WAITS_FOR] ?? '';
    if (question !== '' && question !== this.#before?.metadata[WAITS_FOR]) {
      this.#add({ kind: 'asks', question }, { evidence: 'screen' });
    }
    if (this.#before?.state === 'creating' && after.state === 'active') {
      const reason = this.#event('session.woke')?.message ?? 'it lives';
      this.#add({ kind: 'started', generation, reason }, { evidence: 'runtime' });
    }
  }

  #ending(): void {
    const before = this.#before;
    if (!before) return;
    const { generation } = before;
    const exitText = this.#after.metadata[LAST_EXIT] ?? '';
    const crashed = this.#event('session.crashed');
    if (crashed && exitText !== '') {
      this.#add(this.#crash(generation, exitText), { evidence: 'runtime' });
      return;
    }
    const lost = this.#cause.events.find((event) => event.type === 'provider.lost');
    if (lost) {
      this.#add({ kind: 'lost', generation, reason: lost.message ?? '' }, { evidence: 'runtime' });
      return;
    }
    const reason = this.#decision('ended')?.why ?? this.#event('session.stopped')?.message ?? '';
    const meant = before.metadata[STOP_INTENT] ?? '';
    const drain = before.state === 'draining' ? before.stateReason : '';
    const meantCause = meant || drain || reason || 'its record says so';
    const actor = before.metadata[STOP_BY_KEY];
    this.#add(
      {
        kind: this.#endName(meantCause, drain !== ''),
        generation,
        cause: meantCause,
        reason: reason || meantCause,
      },
      { evidence: 'runtime', ...(actor ? { actor } : {}) },
    );
  }

  #endName(cause: string, drained: boolean): 'stopped' | 'killed' | 'drained' {
    if (cause === 'killed by a person') return 'killed';
    return drained || this.#after.state === 'drained' ? 'drained' : 'stopped';
  }

  #crash(generation: number, exitText: string): LifeFact {
    const { exit, lastLines } = readExit(exitText);
    const nextTry = payloadText(this.#event('session.crashed'), 'next_try_at');
    const key = this.#before?.sessionKey ?? '';
    return {
      kind: 'crashed',
      generation,
      reason: this.#decision('ended')?.why ?? 'it ended by itself',
      ...(exit ? { exit } : {}),
      ...(lastLines === '' ? {} : { last_lines: lastLines }),
      ...(nextTry === undefined ? {} : { next_try_at: nextTry }),
      ...(key !== '' && this.#after.sessionKey === '' ? { conversation_dropped: key } : {}),
    };
  }

  #meant(): void {
    const cause = this.#after.metadata[STOP_INTENT] ?? '';
    if (cause === '' || cause === this.#before?.metadata[STOP_INTENT]) return;
    const actor = this.#after.metadata[STOP_BY_KEY];
    this.#add({ kind: 'stopping', cause }, actor ? { actor } : {});
  }

  #drain(): void {
    const before = this.#before;
    const isDraining = this.#after.state === 'draining';
    if (isDraining && before?.state !== 'draining') {
      const event = this.#event('session.draining');
      const cause = this.#after.stateReason;
      const reason = event?.message ?? cause;
      const told = event ? { actor: event.actor } : {};
      if (cause === 'config-drift') this.#add({ kind: 'drifted', reason }, told);
      this.#add({ kind: 'draining', cause, reason }, told);
    } else if (before?.state === 'draining' && !isDraining && !this.ends && !this.#after.closed) {
      const event = this.#event('session.undrained') ?? this.#event('session.released');
      this.#add(
        { kind: 'undrained', reason: event?.message ?? 'taken back' },
        event ? { actor: event.actor } : {},
      );
    }
  }

  /** What keeps it down, and what takes that away. */
  #rest(): void {
    const before = this.#before;
    const after = this.#after;
    if (!before) return;
    if (after.state === 'suspended' && before.state !== 'suspended') {
      const actor = before.metadata[STOP_BY_KEY] || this.#event('session.suspended')?.actor;
      this.#add({ kind: 'suspended', reason: 'by a person' }, actor ? { actor } : {});
    }
    if (after.state === 'quarantined' && before.state !== 'quarantined') {
      const reason = this.#event('session.quarantined')?.message ?? 'it ended too often';
      this.#add({ kind: 'quarantined', until: after.metadata['quarantined_until'] ?? '', reason });
    }
    if (this.ends || this.begins || after.closed) return;
    const released = this.#event('session.released');
    const isAsked = after.pendingCreateClaim && !before.pendingCreateClaim;
    if (!released && !isAsked) return;
    const event = released ?? this.#event('session.updated');
    const reason = released?.message ?? (after.stateReason || 'its record asks for it');
    const fact: LifeFact =
      before.state === 'suspended'
        ? { kind: 'resumed', reason }
        : { kind: 'woken', from: before.state || 'asleep', reason };
    this.#add(fact, event ? { actor: event.actor } : {});
  }

  #closing(): void {
    const before = this.#before;
    if (!before || before.closed === this.#after.closed) return;
    if (!this.#after.closed) {
      this.#add({ kind: 'reopened', reason: this.#after.stateReason || 'asked for again' });
      return;
    }
    const actor = before.metadata[STOP_BY_KEY] || this.#event('session.stopped')?.actor;
    this.#add(
      { kind: 'closed', reason: this.#after.metadata['close_reason'] || 'closed' },
      actor ? { actor } : {},
    );
  }

  /** The event of that type about this session. */
  #event(type: string): NewEvent | undefined {
    const names = new Set([displayName(this.#after), this.#after.sessionName, this.#after.id]);
    if (this.#before) names.add(displayName(this.#before));
    return this.#cause.events.find((event) => event.type === type && names.has(event.subject ?? ''));
  }

  #decision(what: string): NewDecision | undefined {
    return this.#cause.decisions.find(
      (decision) => decision.sessionId === this.#after.id && decision.what === what,
    );
  }

  #add(fact: LifeFact, told: { at?: string; actor?: string; evidence?: Evidence } = {}): void {
    const { at = rfc3339(this.#cause.now), actor = CONTROLLER_ACTOR, evidence = 'record' } = told;
    this.#facts.push({ ...fact, at, actor, evidence });
  }
}

function readExit(text: string): { readonly exit: Exit | undefined; readonly lastLines: string } {
  const value = parsed(text);
  const { code, signal, last_lines: lines } = value;
  const exit: Exit = {
    ...(typeof code === 'number' ? { code } : {}),
    ...(typeof signal === 'string' ? { signal } : {}),
  };
  const isKnown = exit.code !== undefined || exit.signal !== undefined;
  return { exit: isKnown ? exit : undefined, lastLines: typeof lines === 'string' ? lines : '' };
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
  } catch {
    return {}; // written by something else: nothing is known of the exit
  }
}

function payloadText(event: NewEvent | undefined, key: string): string | undefined {
  const payload = event?.payload;
  if (typeof payload !== 'object' || payload === null) return undefined;
  const value = (payload as Readonly<Record<string, unknown>>)[key];
  return typeof value === 'string' ? value : undefined;
}
