import type { SessionRecord } from '../session/record.ts';
import type { Desired } from './model.ts';

export interface AwakeFacts {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly record: SessionRecord;
  readonly desired: Desired | undefined;
  readonly running: boolean;
  readonly attached: boolean;
  /** The agent asks something that a person must answer. */
  readonly pending: boolean;
  /** A session that is to be awake depends on this one's template. */
  readonly needed: boolean;
  /** Work asks for it. */
  readonly demanded: boolean;
  /** Milliseconds since the epoch; `undefined`: the runtime cannot tell. */
  readonly lastActivity: number | undefined;
}

export type AwakeDecision =
  | { readonly wake: true; readonly reason: WakeReason }
  | { readonly wake: false; readonly reason: RestReason };

export type WakeReason =
  | 'pending-create'
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
 * Source: Gas City's awake set, without work queries and waits.
 */
export function decideAwake(facts: AwakeFacts): AwakeDecision {
  const { record, desired, now } = facts;
  if (record.state === 'suspended') return rest('user-hold');
  if (record.heldUntil !== undefined && now < record.heldUntil) return rest('held');
  if (record.quarantinedUntil !== undefined && now < record.quarantinedUntil) return rest('quarantined');
  if (desired === undefined) return rest('orphaned');
  if (desired.suspended) return rest('suspended');

  const drained =
    record.state === 'drained' || (record.state === 'asleep' && record.sleepReason === 'drained');
  if (record.pendingCreateClaim && !drained) return wake('pending-create');
  if (record.waitHold) return rest('wait-hold');
  const isCalled = desired.mode === 'on_demand' && facts.demanded;
  const standing = drained && !isCalled ? undefined : standingReason(facts, desired);
  if (standing) return wake(standing);
  if (facts.attached) return wake('attached');
  if (facts.pending) return wake('pending');
  if (drained) return rest('drained');
  const staysUp = desired.mode === 'on_demand' && facts.running && record.sleepReason !== 'idle-timeout';
  const sleepsAt = staysUp ? idleSleepAt(facts) : undefined;
  const isIdle = sleepsAt !== undefined && now >= sleepsAt;
  if (staysUp && !isIdle) return wake('on-demand:running');
  if (record.pinAwake && !record.dependencyOnly) return wake('pin');
  return rest(isIdle ? 'idle-sleep' : 'no-wake-reason');
}

/**
 * When an on-demand session that nothing needs goes to sleep, milliseconds since the epoch. What was shown before it
 * woke is another life's. `undefined`: never, or its silence cannot be told.
 */
export function idleSleepAt(
  facts: Pick<AwakeFacts, 'record' | 'desired' | 'lastActivity'>,
): number | undefined {
  const { record, desired, lastActivity } = facts;
  if (desired?.idleSleepMs === undefined || lastActivity === undefined) return undefined;
  return Math.max(lastActivity, record.lastWokeAt ?? 0) + desired.idleSleepMs;
}

function standingReason(facts: AwakeFacts, desired: Desired): WakeReason | undefined {
  if (desired.kind === 'named' && desired.mode === 'always' && !facts.record.dependencyOnly)
    return 'named-always';
  if (desired.kind === 'manual') return 'manual';
  if (desired.kind === 'pool') return facts.demanded ? 'scaled:demand' : undefined;
  if (desired.mode === 'on_demand' && facts.demanded) return 'work';
  return facts.needed ? 'dependency' : undefined;
}

function wake(reason: WakeReason): AwakeDecision {
  return { wake: true, reason };
}

function rest(reason: RestReason): AwakeDecision {
  return { wake: false, reason };
}
