import type { SessionRecord } from '../session/record.ts';

/** Keys of a pool session's record. Source: Gas City session bead metadata. */
const POOL_SLOT_KEY = 'pool_slot';
const POOL_MANAGED_KEY = 'pool_managed';

/** What the record of a slot's session says beside the common keys. */
export function poolMetadata(slot: number): Readonly<Record<string, string>> {
  return { [POOL_MANAGED_KEY]: 'true', [POOL_SLOT_KEY]: String(slot) };
}

/** The slot as it is written; 0: none is. */
export function stampedSlot(record: SessionRecord): number {
  const text = record.metadata[POOL_SLOT_KEY] ?? '';
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

/** It comes and goes with the demand, and never by itself. */
export function isPoolManaged(record: SessionRecord): boolean {
  return record.metadata[POOL_MANAGED_KEY] === 'true';
}

/** A person, or a wait, keeps it down: it has its number and is no supply. */
export function isHeldBack(record: SessionRecord): boolean {
  return record.state === 'suspended' || record.heldUntil !== undefined || record.waitHold;
}

/** Its process is there, or was asked for. */
export function isUpOrAsked(record: SessionRecord): boolean {
  return record.lastWokeAt !== undefined || record.pendingCreateClaim;
}
