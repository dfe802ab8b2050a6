import type { SessionRecord } from '../session/record.ts';
import type { Desired } from './model.ts';
import { detachedAt, isUnattended, type SleepPolicy, sleepsUnder } from './sleep-policy.ts';

export interface AwakeFacts {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly record: SessionRecord;
  readonly desired: Desired | undefined;
  readonly running: boolean;
  readonly attached: boolean;
  /** The agent asks something that a person must answer. */
  readonly pending: boolean;
  /** One of its waits is over, and it was not told yet. */
  readonly waitReady: boolean;
  /** A session that is to be awake depends on this one's template. */
  readonly needed: boolean;
  /** To be up because of work, or as one of the floor of its pool. */
  readonly demanded: boolean;
  /** Work itself asks for it. */
  readonly called: boolean;
  /** `undefined`: nothing is said of its sleep. */
  readonly sleep: SleepPolicy | undefined;
  /** Milliseconds since the epoch; `undefined`: the runtime cannot tell. */
  readonly lastActivity: number | undefined;
  /** When the machine last stood still or its clock was set, milliseconds since the epoch. */
  readonly steadySince?: number | undefined;
}

export type AwakeDecision =
  | { readonly wake: true; readonly reason: WakeReason }
  | { readonly wake: false; readonly reason: RestReason };

export type WakeReason =
  | 'pending-create'
  | 'wait-ready'
  | 'named-always'
  | 'manual'
  | 'dependency'
  | 'scaled:demand'
  | 'work'
  | 'attached'
  | 'pending'
  | 'on-demand:running'
  | 'pin';

export type RestReason =
  | 'held'
  | 'quarantined'
  | 'user-hold'
  | 'wait-hold'
  | 'suspended'
  | 'orphaned'
  | 'drained'
  | 'idle-sleep'
  | 'no-wake-reason';

/**
 * Whether a session should be awake, and why. Whether it can start now (dependencies, back-off, slots) is decided later.
 * What keeps it down comes first, then what wakes it, then whether it may sleep for being idle.
 * Source: Gas City's awake set; that work in hands, or waiting, keeps awake whoever it calls is ours.
 */
export function decideAwake(facts: AwakeFacts): AwakeDecision {
  const { record, desired, now } = facts;
  if (record.state === 'suspended') return rest('user-hold');
  if (record.heldUntil !== undefined && now < record.heldUntil) return rest('held');
  if (record.quarantinedUntil !== undefined && now < record.quarantinedUntil) return rest('quarantined');
  if (desired === undefined) return rest('orphaned');
  if (desired.suspended) return rest('suspended');
  const drained = isDrained(record);
  if (record.pendingCreateClaim && !drained) return wake('pending-create');
  if (facts.waitReady) return wake('wait-ready');
  if (record.waitHold) return rest('wait-hold');
  const cause = causeOf(facts, desired, drained);
  if (cause === undefined) return rest(drained ? 'drained' : 'no-wake-reason');
  return maySleep(facts) && sleepsForIdleness(facts) ? rest('idle-sleep') : wake(cause);
}

/** It said that it is done, or a person let it go. */
function isDrained(record: SessionRecord): boolean {
  return record.state === 'drained' || (record.state === 'asleep' && record.sleepReason === 'drained');
}

function causeOf(facts: AwakeFacts, desired: Desired, drained: boolean): WakeReason | undefined {
  const isCalled = desired.mode === 'on_demand' && facts.demanded;
  const standing = drained && !isCalled ? undefined : standingReason(facts, desired);
  if (standing) return standing;
  if (facts.attached) return 'attached';
  if (facts.pending) return 'pending';
  if (drained) return undefined;
  const staysUp =
    desired.mode === 'on_demand' && facts.running && facts.record.sleepReason !== 'idle-timeout';
  if (staysUp) return 'on-demand:running';
  return isPinned(facts.record) ? 'pin' : undefined;
}

function standingReason(facts: AwakeFacts, desired: Desired): WakeReason | undefined {
  if (desired.kind === 'named' && desired.mode === 'always' && !facts.record.dependencyOnly)
    return 'named-always';
  if (desired.kind === 'manual') return facts.called ? 'work' : 'manual';
  if (desired.kind === 'pool') return facts.demanded ? 'scaled:demand' : undefined;
  if (desired.mode === 'on_demand' && facts.demanded) return 'work';
  return facts.needed ? 'dependency' : undefined;
}

function isPinned(record: SessionRecord): boolean {
  return record.pinAwake && !record.dependencyOnly;
}

/** Nobody needs it now: its silence is the only thing that counts. */
export function maySleep(facts: AwakeFacts): boolean {
  const { record, desired, sleep } = facts;
  if (!desired || sleep?.afterMs === undefined) return false;
  if (facts.attached || facts.pending || facts.called || isPinned(record)) return false;
  if (desired.kind !== 'pool') return !facts.needed;
  return !facts.demanded || !isUnattended(sleep.request);
}

/** Source: Gas City: not after a stop by `idle_timeout`; once asleep, for as long as the policy is the same. */
function sleepsForIdleness(facts: AwakeFacts): boolean {
  const { record, sleep, running, now } = facts;
  if (sleep?.afterMs === undefined || record.sleepReason === 'idle-timeout') return false;
  if (sleep.afterMs === 0) return true;
  if (!running) return sleepsUnder(record, sleep);
  const at = idleSleepAt(facts);
  return at !== undefined && now >= at;
}

/**
 * When its silence is long enough to sleep, milliseconds since the epoch: after the last output, the last person who left,
 * and its own start, because what was shown before is another life's. `undefined`: never, or its silence cannot be told.
 */
export function idleSleepAt(
  facts: Pick<AwakeFacts, 'now' | 'record' | 'sleep' | 'lastActivity' | 'steadySince'>,
): number | undefined {
  const { record, sleep, lastActivity } = facts;
  if (sleep?.afterMs === undefined || lastActivity === undefined) return undefined;
  return silentFrom(facts, [lastActivity, record.lastWokeAt, detachedAt(record)]) + sleep.afterMs;
}

/** Clocks of other machines may be ahead by so much. */
const CLOCK_SKEW_MS = 60_000;

/**
 * The last of these moments, milliseconds since the epoch. Nobody was silent while the machine stood still or its clock
 * was set forward, and what is far from being past is from before the clock was set back.
 */
export function silentFrom(
  { now, steadySince }: Pick<AwakeFacts, 'now' | 'steadySince'>,
  moments: readonly (number | undefined)[],
): number {
  const past = moments.map((moment = 0) => {
    if (moment <= now) return moment;
    return moment <= now + CLOCK_SKEW_MS ? now : (steadySince ?? now);
  });
  return Math.max(steadySince ?? 0, ...past);
}

function wake(reason: WakeReason): AwakeDecision {
  return { wake: true, reason };
}

function rest(reason: RestReason): AwakeDecision {
  return { wake: false, reason };
}
