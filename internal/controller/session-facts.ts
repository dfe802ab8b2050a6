import { parseRfc3339 } from '../platform/clock.ts';
import { type ExitInfo, type Observation, type Unseen, unseenAnswer } from '../runtime/provider.ts';
import { DRAIN_AT_KEY, isAcknowledged, isDrainOfThisLife, isRestartAsked } from '../session/drain-marks.ts';
import type { SessionRecord } from '../session/record.ts';
import { type DrainReason, isDrainReason, isStopReason, type StopReason } from './model.ts';
import type { PlanInput } from './plan.ts';

/** What is known about one session name now. */
export type Sight =
  | { readonly kind: 'running'; readonly observation: Observation }
  /** It ended; its dead screen is still there. */
  | { readonly kind: 'exited'; readonly exit: ExitInfo; readonly lastLines: string }
  | { readonly kind: 'absent' }
  /** Nothing destructive and no start follows from this. */
  | { readonly kind: 'unknown'; readonly reason: string };

/** Metadata keys of ours on a session record, beside the published ones. */
export const STOP_INTENT_KEY = 'stop_intent';

/** The question that a start left for a person; `''` when it left none. */
export const WAITS_FOR_KEY = 'waits_for';

/**
 * Drains are shown in the runtime too, for scripts that look there. Our commands write what an agent says into the record
 * alone; a script may write it here. Some runtimes keep such marks longer than the life they were meant for.
 */
export const RUNTIME_DRAIN = 'GC_DRAIN';
export const RUNTIME_DRAIN_REASON = 'GC_DRAIN_REASON';
export const RUNTIME_DRAIN_GENERATION = 'GC_DRAIN_GENERATION';
export const RUNTIME_DRAIN_ACK = 'GC_DRAIN_ACK';
export const RUNTIME_DRAIN_ACK_SOURCE = 'GC_DRAIN_ACK_SOURCE';
export const RUNTIME_RESTART_REQUESTED = 'GC_RESTART_REQUESTED';

/** Why nothing is known about a session of which something was just done. */
export const STALE_LOOK = 'looked at before the last effect';

export function sightOf(input: Pick<PlanInput, 'survey' | 'effects'>, name: string): Sight {
  const { survey } = input;
  if (!survey) return { kind: 'unknown', reason: 'nothing observed yet' };
  const effectAt = input.effects.get(name);
  if (effectAt !== undefined && survey.order < effectAt) return { kind: 'unknown', reason: STALE_LOOK };
  switch (survey.survey.kind) {
    case 'seen': {
      const found = survey.survey.sessions.get(name);
      return found ? sightOfObservation(found) : sightOfUnseen(unseenAnswer(survey.survey, name));
    }
    default:
      return sightOfUnseen(survey.survey);
  }
}

function sightOfUnseen(answer: Unseen | undefined): Sight {
  return answer?.kind === 'unknown' ? { kind: 'unknown', reason: answer.reason } : { kind: 'absent' };
}

function sightOfObservation(observation: Observation): Sight {
  const { liveness } = observation;
  switch (liveness.kind) {
    case 'running':
      return { kind: 'running', observation };
    case 'exited':
      return { kind: 'exited', exit: liveness.exit, lastLines: liveness.lastLines };
    case 'unknown':
      return { kind: 'unknown', reason: liveness.reason };
  }
}

/** The record says that a process should be there. */
export function believedRunning(record: SessionRecord): boolean {
  if (record.lastWokeAt === undefined) return false;
  return (
    record.state === 'active' ||
    record.state === 'awake' ||
    record.state === 'creating' ||
    record.state === 'draining'
  );
}

/** Its start was asked for or begun, and its completion was never recorded. */
export function startIncomplete(record: SessionRecord): boolean {
  return record.state === 'creating';
}

/** A stop was decided and recorded; what happens to the process from then on was meant. */
export function stopIntent(record: SessionRecord): StopReason | undefined {
  const reason = record.metadata[STOP_INTENT_KEY];
  return isStopReason(reason) ? reason : undefined;
}

export interface Drain {
  readonly reason: DrainReason;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

export function drainOf(record: SessionRecord): Drain | undefined {
  if (record.state !== 'draining' || !isDrainOfThisLife(record)) return undefined;
  return {
    reason: isDrainReason(record.stateReason) ? record.stateReason : 'no-wake-reason',
    since: parseRfc3339(record.metadata[DRAIN_AT_KEY]) ?? record.lastWokeAt ?? record.createdAt,
  };
}

type RuntimeMeta = Readonly<Record<string, string>>;

/** The agent of this life said that it is done. */
export function saysDone(record: SessionRecord, meta: RuntimeMeta = {}): boolean {
  if (isAcknowledged(record)) return true;
  const generation = meta[RUNTIME_DRAIN_GENERATION];
  return meta[RUNTIME_DRAIN_ACK] === '1' && (!generation || generation === String(record.generation));
}

/** A new life was asked for in this one. */
export function asksForRestart(record: SessionRecord, meta: RuntimeMeta = {}): boolean {
  if (isRestartAsked(record)) return true;
  const asked = meta[RUNTIME_RESTART_REQUESTED] ?? '';
  if (asked === '') return false;
  // Seconds since the epoch: what was asked before this life began is done.
  return !/^\d{9,}$/.test(asked) || Number(asked) >= Math.floor((record.lastWokeAt ?? 0) / 1_000);
}

/** What a session ends with when its agent says that it is done. */
export function endOfDrain(drain: Drain | undefined): StopReason {
  if (!drain || drain.reason === 'drained by a person') return 'drain acknowledged by agent';
  return drain.reason;
}

export type Ownership = 'this life' | 'another life';

/** Whether what lives under the record's name is the life that the record names. An unreadable mark is no mismatch. */
export function ownershipOf(record: SessionRecord, meta: Readonly<Record<string, string>>): Ownership {
  const token = meta['GC_INSTANCE_TOKEN'] ?? '';
  if (token === '') return 'this life';
  return token === record.instanceToken ? 'this life' : 'another life';
}

/** A terminal of ours without the agent in it: the shell lives, none of the expected programs does. */
export function lacksAgent(observation: Observation, expected: readonly string[]): boolean {
  if (expected.length === 0 || observation.processNames === undefined) return false;
  const present = new Set(observation.processNames);
  return !expected.some((name) => present.has(name));
}

export function isAttached(observation: Observation): boolean {
  return (observation.attached ?? 0) > 0;
}
