import type { BeadWrite, CityChange } from '../beads/sqlite/city-database.ts';
import type { NewEvent } from '../events/event.ts';
import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import { rfc3339 } from '../platform/clock.ts';
import { displayName } from '../session/display.ts';
import { drainMark, drainOver } from '../session/drain-marks.ts';
import type { SessionRecord } from '../session/record.ts';
import { releaseHolds, releaseNamedIdentifiers } from '../session/start-transitions.ts';
import { beginDrain, clearExpiredHold, close, type MetadataPatch } from '../session/transitions.ts';
import { adopt, createRecord, type NewRecordContext } from './adoption.ts';
import { type EndingContext, endingOf, lostPatch } from './endings.ts';
import type { Change, Decision } from './plan.ts';
import { fallingAsleep } from './sleep-policy.ts';

export interface ChangeContext extends EndingContext, NewRecordContext {}

/** What planned changes write: one transaction for all of them, their events and their decisions. */
export function cityChangeOf(
  changes: readonly Change[],
  decisions: readonly Decision[],
  context: ChangeContext,
): CityChange {
  const parts = changes.map((change) => partOf(change, context));
  return {
    beads: parts.flatMap((part) => part.beads),
    events: parts.flatMap((part) => part.events ?? []),
    decisions: [...decisions, ...parts.flatMap((part) => part.decisions ?? [])].map(storedDecision),
    state: Object.assign({}, ...parts.map((part) => part.state)),
  };
}

export function storedDecision(decision: Decision) {
  const { recordId, what, why, inputs, lines } = decision;
  return { sessionId: recordId, what, why, inputs, ...(lines && lines.length > 0 ? { lines } : {}) };
}

interface Part {
  readonly beads: readonly BeadWrite[];
  readonly events?: readonly NewEvent[];
  readonly decisions?: readonly Decision[];
  readonly state?: Readonly<Record<string, string>>;
}

function partOf(change: Change, context: ChangeContext): Part {
  const { now } = context;
  switch (change.kind) {
    case 'materialize':
      return { beads: [createRecord(change.desired, context, { state: 'asleep' })] };
    case 'adopt':
      return adopt(change, context);
    case 'take-over':
      return {
        beads: [
          patch(change.record, {
            ...activeAgain(change.record, now),
            ...drainOver(),
            instance_token: change.token,
          }),
        ],
      };
    case 'ended': {
      const ending = endingOf(change.record, change.death, context);
      return { ...ending, beads: [endingWrite(change.record, ending)] };
    }
    case 'lost':
      return lostPart(change, now);
    case 'settle-active':
      return { beads: [patch(change.record, activeAgain(change.record, now))] };
    case 'begin-drain':
      return {
        beads: [
          patch(change.record, {
            ...beginDrain(change.reason, now),
            ...drainMark(change.record),
            ...(change.reason === 'idle' ? fallingAsleep() : {}),
          }),
        ],
        events: [event('session.draining', change.record, drainMessage(change.reason, change.detail))],
      };
    case 'cancel-drain':
      return {
        beads: [patch(change.record, { ...activeAgain(change.record, now), ...drainOver() })],
        events: [event('session.undrained', change.record, change.why)],
      };
    case 'retire':
      return {
        beads: [retire(change.record, change.reason, now)],
        // Its end was told when it came; this is the end of the record.
        events: [event('session.updated', change.record, `closed: ${change.reason}`)],
      };
    case 'note-sleep':
      return { beads: [patch(change.record, change.notes)] };
    case 'note-live':
      return { beads: [patch(change.record, liveHashes(change.desired.liveHash))] };
    case 'clear-hold':
      return { beads: [patch(change.record, clearExpiredHold(change.record.sleepReason))] };
  }
}

export function liveHashes(liveHash: string): MetadataPatch {
  return { live_hash: liveHash, started_live_hash: liveHash };
}

export function endingWrite(
  record: SessionRecord,
  ending: { metadata: MetadataPatch; close: boolean },
): BeadWrite {
  return ending.close
    ? { kind: 'close', id: record.id, metadata: ending.metadata }
    : patch(record, ending.metadata);
}

function patch(record: SessionRecord, metadata: MetadataPatch): BeadWrite {
  return { kind: 'update', id: record.id, patch: { metadata }, expectedRevision: record.revision };
}

function event(type: string, record: SessionRecord, message: string): NewEvent {
  return { type, actor: CONTROLLER_ACTOR, subject: displayName(record), message };
}

function activeAgain(record: SessionRecord, now: number): MetadataPatch {
  return {
    state: 'active',
    state_reason: '',
    sleep_reason: '',
    pending_create_claim: '',
    last_woke_at: rfc3339(record.lastWokeAt ?? now),
  };
}

function drainMessage(reason: string, detail: string): string {
  if (reason === 'config-drift') return `config drift detected: ${detail}`;
  return reason === detail ? reason : `${reason}: ${detail}`;
}

function retire(record: SessionRecord, reason: string, now: number): BeadWrite {
  const names = record.namedIdentity === '' ? {} : releaseNamedIdentifiers();
  return {
    kind: 'close',
    id: record.id,
    metadata: { ...releaseHolds(), ...close(reason, now), ...names },
  };
}

function lostPart(change: Extract<Change, { kind: 'lost' }>, now: number): Part {
  return {
    beads: change.records.map((record) => patch(record, lostPatch(record, now))),
    events: [
      {
        type: 'provider.lost',
        actor: CONTROLLER_ACTOR,
        message: change.what,
        payload: { sessions: change.records.map(displayName) },
      },
    ],
  };
}
