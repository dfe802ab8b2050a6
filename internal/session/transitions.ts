import { rfc3339 } from '../platform/clock.ts';

/**
 * Changes of a session record, each with its exact set of keys; an empty value clears a key. Every patch can be applied
 * twice. Source: Gas City's session transition patches. Times are milliseconds since the epoch.
 */
export type MetadataPatch = Readonly<Record<string, string>>;

const flag = (value: boolean): string => (value ? 'true' : 'false');
const CLEAR_COUNTERS = { wake_attempts: '0', churn_count: '0' } as const;
const FORGET_CONVERSATION = {
  session_key: '',
  started_config_hash: '',
  continuation_reset_pending: 'true',
} as const;

/** Asks for a start; the controller carries it out. */
export function requestWake(reason: string): MetadataPatch {
  return {
    state: 'creating',
    state_reason: reason,
    pending_create_claim: 'true',
    held_until: '',
    quarantined_until: '',
    sleep_reason: '',
    wait_hold: '',
    sleep_intent: '',
    ...CLEAR_COUNTERS,
  };
}

const REASONS_CLEARED_BY_WAKE = new Set(['user-hold', 'wait-hold', 'quarantine', 'context-churn', 'drained']);

/** Takes away everything that keeps a session down, without asking for a start. */
export function clearWakeBlockers(state: string, sleepReason: string): MetadataPatch {
  return {
    held_until: '',
    quarantined_until: '',
    wait_hold: '',
    sleep_intent: '',
    ...CLEAR_COUNTERS,
    ...(state === 'suspended' || state === 'drained' ? { state: 'asleep' } : {}),
    ...(REASONS_CLEARED_BY_WAKE.has(sleepReason) ? { sleep_reason: '' } : {}),
  };
}

export function clearExpiredHold(sleepReason: string): MetadataPatch {
  return { held_until: '', ...(sleepReason === 'user-hold' ? { sleep_reason: '' } : {}) };
}

export function clearExpiredQuarantine(sleepReason: string): MetadataPatch {
  const caused = sleepReason === 'quarantine' || sleepReason === 'context-churn';
  return { quarantined_until: '', ...CLEAR_COUNTERS, ...(caused ? { sleep_reason: '' } : {}) };
}

export function confirmStarted(now: number): MetadataPatch {
  return {
    state: 'active',
    state_reason: 'creation_complete',
    creation_complete_at: rfc3339(now),
    pending_create_claim: '',
    sleep_reason: '',
  };
}

/**
 * A person's reset of a session that is down: its next life begins a new conversation, and no strike keeps that life from
 * coming. What holds it down stays. Source: Gas City's restart request, without taking a start back that was asked for.
 */
export function resetAtRest(state: string, sleepReason: string): MetadataPatch {
  return {
    started_config_hash: '',
    restart_requested: '',
    continuation_reset_pending: 'true',
    ...clearExpiredQuarantine(sleepReason),
    ...(state === 'quarantined' ? { state: 'asleep' } : {}),
  };
}

/** Source: Gas City: a pin keeps a session up while nothing holds it down; it takes no hold away. */
export function pinned(isPinned: boolean): MetadataPatch {
  return { pin_awake: isPinned ? 'true' : '' };
}

export interface StartedFingerprints {
  readonly coreHash: string;
  readonly liveHash: string;
  /** Field name to the first 16 hex digits of its hash. */
  readonly breakdown?: Readonly<Record<string, string>>;
}

export interface CommitStartedOptions {
  /** The record leaves its state for `active`. */
  readonly confirm: boolean;
  readonly now?: number;
  readonly clearSleepReason: boolean;
  readonly clearPendingCreateClaim: boolean;
}

/** What a finished start writes, in one go. */
export function commitStarted(hashes: StartedFingerprints, options: CommitStartedOptions): MetadataPatch {
  return {
    started_config_hash: hashes.coreHash,
    live_hash: hashes.liveHash,
    started_live_hash: hashes.liveHash,
    ...(hashes.breakdown ? { core_hash_breakdown: JSON.stringify(hashes.breakdown) } : {}),
    ...(options.confirm ? { state: 'active', state_reason: 'creation_complete' } : {}),
    ...(options.now === undefined ? {} : { creation_complete_at: rfc3339(options.now) }),
    ...(options.clearSleepReason ? { sleep_reason: '' } : {}),
    ...(options.clearPendingCreateClaim ? { pending_create_claim: '' } : {}),
  };
}

export function beginDrain(reason: string, now: number): MetadataPatch {
  return { state: 'draining', state_reason: reason, drain_at: rfc3339(now) };
}

export function sleep(reason: string, now: number): MetadataPatch {
  return {
    state: 'asleep',
    sleep_reason: reason,
    slept_at: rfc3339(now),
    last_woke_at: '',
    pending_create_claim: '',
    sleep_intent: '',
  };
}

export function acknowledgeDrain(fresh: boolean): MetadataPatch {
  return {
    state: 'drained',
    last_woke_at: '',
    pending_create_claim: '',
    ...(fresh ? FORGET_CONVERSATION : {}),
  };
}

export function completeDrain(reason: string, fresh: boolean, now: number): MetadataPatch {
  return { ...sleep(reason, now), ...(fresh ? FORGET_CONVERSATION : {}) };
}

/** A requested restart begins a new conversation under `key`; `''` where the agent program takes no key. */
export function restartRequest(key: string): MetadataPatch {
  return {
    restart_requested: '',
    started_config_hash: '',
    last_woke_at: '',
    pending_create_claim: '',
    continuation_reset_pending: 'true',
    ...(key ? { session_key: key } : {}),
  };
}

export function configDriftReset(next: 'creating' | 'asleep', key: string): MetadataPatch {
  return {
    state: next,
    started_config_hash: '',
    started_live_hash: '',
    live_hash: '',
    last_woke_at: '',
    restart_requested: '',
    continuation_reset_pending: 'true',
    pending_create_claim: next === 'creating' ? 'true' : '',
    ...(key ? { session_key: key } : {}),
  };
}

export function archive(reason: string, eligible: boolean, now: number): MetadataPatch {
  return {
    state: 'archived',
    state_reason: reason,
    archived_at: rfc3339(now),
    continuity_eligible: flag(eligible),
    pending_create_claim: '',
  };
}

/** Written in the same transaction that closes the bead. */
export function close(reason: string, now: number): MetadataPatch {
  return { state: reason, close_reason: reason, closed_at: rfc3339(now), synced_at: rfc3339(now) };
}

/** Frees every name that the session held. */
export function retireNamed(reason: string, identity: string, now: number): MetadataPatch {
  return {
    ...archive(reason, false, now),
    alias: '',
    session_name: '',
    session_name_explicit: '',
    held_until: '',
    quarantined_until: '',
    wait_hold: '',
    sleep_intent: '',
    sleep_reason: '',
    synced_at: rfc3339(now),
    retired_named_identity: identity,
  };
}

export function quarantine(until: number, cycle: number): MetadataPatch {
  return {
    state: 'quarantined',
    state_reason: 'crash-loop',
    quarantined_until: rfc3339(until),
    quarantine_cycle: String(cycle),
    last_woke_at: '',
  };
}

/** Back from the archive or a quarantine. How often it was quarantined is kept. */
export function reactivate(eligible: boolean): MetadataPatch {
  return {
    state: 'asleep',
    state_reason: 'reactivated',
    continuity_eligible: flag(eligible),
    pending_create_claim: '',
    quarantined_until: '',
    archived_at: '',
    crash_count: '0',
  };
}
