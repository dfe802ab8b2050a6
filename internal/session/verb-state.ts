import { readCrashState, type StartGate, startGate } from './crash-policy.ts';
import type { Lifecycle } from './lifecycle-projection.ts';
import type { SessionRecord } from './record.ts';

/**
 * The states that decide what a person may do with a session. One word each, from the record, its projection and the
 * crash policy; the first that fits, most binding first.
 */
export type VerbState =
  /** Configured by name, without a record yet. */
  | 'reserved'
  | 'creating'
  | 'running'
  | 'draining'
  /** Down, and nothing holds it: it runs as soon as somebody needs it. */
  | 'asleep'
  /** A person said so, with `gc session suspend`. */
  | 'suspended'
  | 'wait-hold'
  | 'backing-off'
  | 'quarantined'
  | 'usage-limit'
  | 'missing-config'
  | 'identity-conflict'
  | 'duplicate'
  | 'archived-eligible'
  | 'archived'
  | 'closing'
  | 'closed'
  /** Written by a later version. */
  | 'foreign';

export const VERB_STATES: readonly VerbState[] = [
  'reserved',
  'creating',
  'running',
  'draining',
  'asleep',
  'suspended',
  'wait-hold',
  'backing-off',
  'quarantined',
  'usage-limit',
  'missing-config',
  'identity-conflict',
  'duplicate',
  'archived-eligible',
  'archived',
  'closing',
  'closed',
  'foreign',
];

export function verbState(record: SessionRecord | undefined, lifecycle: Lifecycle, now: number): VerbState {
  if (!record) return 'reserved';
  return finalState(lifecycle) ?? liveState(lifecycle) ?? blockedState(record, lifecycle, now) ?? 'asleep';
}

function finalState(lifecycle: Lifecycle): VerbState | undefined {
  if (lifecycle.compat === 'closed' || lifecycle.compat === 'closing') return lifecycle.compat;
  if (lifecycle.compat === 'foreign') return 'foreign';
  if (lifecycle.compat !== 'archived') return undefined;
  return lifecycle.continuityEligible ? 'archived-eligible' : 'archived';
}

function liveState(lifecycle: Lifecycle): VerbState | undefined {
  if (lifecycle.compat === 'draining' && lifecycle.runtime.kind !== 'missing') return 'draining';
  return lifecycle.runtime.kind === 'alive' ? 'running' : undefined;
}

function blockedState(record: SessionRecord, lifecycle: Lifecycle, now: number): VerbState | undefined {
  const blocked = new Set(lifecycle.blockers);
  if (blocked.has('missing-config')) return 'missing-config';
  if (blocked.has('duplicate-canonical')) return 'duplicate';
  if (blocked.has('identity-conflict')) return 'identity-conflict';
  if (blocked.has('held') || record.state === 'suspended') return 'suspended';
  const gate = gateState(startGate(readCrashState(record.metadata, now), now));
  if (gate) return gate;
  if (blocked.has('quarantined')) return 'quarantined';
  if (blocked.has('wait-hold')) return 'wait-hold';
  return lifecycle.compat === 'creating' || lifecycle.causes.includes('pending-create')
    ? 'creating'
    : undefined;
}

function gateState(gate: StartGate): VerbState | undefined {
  return gate.kind === 'open' ? undefined : gate.kind;
}
