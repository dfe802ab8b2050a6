import { rfc3339 } from '../platform/clock.ts';
import { cleared, crashPatch } from './crash-policy.ts';
import type { SessionRecord } from './record.ts';
import { clearWakeBlockers, type MetadataPatch, reactivate, requestWake } from './transitions.ts';

/** `gc session suspend` holds a session for this long: for ever, but readable as a time. */
export const USER_HOLD_YEARS = 100;
const YEAR_MS = 365 * 86_400_000;

/**
 * Written before the process starts, so that whatever it does belongs to a life that is on record. The conversation
 * gets a new epoch when it begins anew. Source: Gas City's pre-wake commit.
 * @param isLost the conversation cannot be gone on with, whatever the record asks for
 */
export function preWakeCommit(
  record: SessionRecord,
  instanceToken: string,
  now: number,
  isLost = false,
): MetadataPatch {
  const newConversation =
    isLost || record.continuationResetPending || (record.wakeMode === 'fresh' && record.generation > 1);
  return {
    generation: String(record.generation + 1),
    instance_token: instanceToken,
    continuation_epoch: String(record.continuationEpoch + (newConversation ? 1 : 0)),
    continuation_reset_pending: '',
    detached_at: '',
    last_woke_at: rfc3339(now),
    sleep_intent: '',
    sleep_reason: record.sleepReason === 'idle-timeout' ? 'idle-timeout' : '',
  };
}

/** A person's hold: down until a person wakes it. */
export function holdForUser(now: number): MetadataPatch {
  return {
    state: 'suspended',
    held_until: rfc3339(now + USER_HOLD_YEARS * YEAR_MS),
    sleep_intent: 'user-hold',
    suspended_at: rfc3339(now),
  };
}

/**
 * A person's wake: every hold, strike and quarantine is forgotten, and a start is asked for at once, also from the
 * archive. One that lives already keeps running.
 */
export function wakeByPerson(record: SessionRecord, alive: boolean): MetadataPatch {
  const forgotten = crashPatch(cleared());
  if (alive) return { ...clearWakeBlockers(record.state, record.sleepReason), ...forgotten };
  return {
    ...(record.state === 'archived' ? reactivate(true) : {}),
    ...forgotten,
    ...requestWake('explicit'),
  };
}

/** The agent program itself said that it does not know this conversation. Its key stays listed in the record. */
export function forgetStaleKey(): MetadataPatch {
  return { session_key: '', started_config_hash: '', continuation_reset_pending: 'true' };
}

/** What closing takes away besides the state: nothing may hold or pin what is closed. */
export function releaseHolds(): MetadataPatch {
  return { pin_awake: '', held_until: '', sleep_intent: '', pending_create_claim: '' };
}

/** A closed session that was configured by name frees it: the name belongs to the identity, not to this record. */
export function releaseNamedIdentifiers(): MetadataPatch {
  return { alias: '', session_name: '', session_name_explicit: '' };
}

export type HealObservation = 'alive' | 'gone';

/**
 * Brings a stored state into line with what was seen. `unknown` observations never come here. Returns the patch, empty
 * when the record is right already, so that a quiet city writes nothing. Source: Gas City's heal rules.
 */
export function healState(
  record: SessionRecord,
  seen: HealObservation,
  facts: { readonly freshlyCreating: boolean; readonly resetContinuation: boolean },
): MetadataPatch {
  const target = healedState(record, seen, facts.freshlyCreating);
  const patch: Record<string, string> = {};
  if (target.state !== record.state && !(isAwake(target.state) && isAwake(record.state))) {
    patch['state'] = target.state;
  }
  if (target.sleepReason !== undefined && target.sleepReason !== record.sleepReason) {
    patch['sleep_reason'] = target.sleepReason;
  }
  if (facts.resetContinuation) Object.assign(patch, forgetStaleKey());
  return patch;
}

const isAwake = (state: string): boolean => state === 'active' || state === 'awake';

function healedState(
  record: SessionRecord,
  seen: HealObservation,
  freshlyCreating: boolean,
): { readonly state: string; readonly sleepReason?: string } {
  if (seen === 'alive') return { state: 'awake' };
  if (record.state === 'drained') return { state: 'asleep', sleepReason: 'drained' };
  if (record.pendingCreateClaim) return { state: 'creating' };
  if (record.state === 'creating' && freshlyCreating) return { state: 'creating' };
  return { state: 'asleep' };
}
