import type { SessionRecord } from './record.ts';

/**
 * What a session record means, together with what is known of its runtime and of the configuration. Pure; the answer
 * holds for one moment. Source: Gas City's lifecycle projection.
 */
export interface LifecycleInput {
  /** `undefined`: an identity of the configuration that has no record yet. */
  readonly record: SessionRecord | undefined;
  readonly runtime: RuntimeFact;
  readonly attached: boolean;
  /** The agent waits for an answer. */
  readonly pending: boolean;
  readonly named: NamedFacts | undefined;
  /** Why it should run, as far as the caller knows. */
  readonly causes: readonly WakeCause[];
  /** The template is no longer in the configuration. */
  readonly missingConfig: boolean;
  /** Another record holds the same identity and wins. */
  readonly duplicateCanonical: boolean;
  /** Without a cause it should stay what it is, asleep, and not be taken down. */
  readonly preserve: boolean;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** A record that is `creating` for longer is stale, milliseconds; 0 or less: never. */
  readonly creatingStaleMs: number;
}

/** `unknown`: it could not be told. Nothing destructive may follow from it. */
export type RuntimeFact = 'alive' | 'gone' | 'unknown';

export interface NamedFacts {
  readonly identity: string;
  readonly configured: boolean;
  /** Another live session sits on the identity's name. */
  readonly conflict: boolean;
}

export type WakeCause =
  | 'pending-create'
  | 'pin'
  | 'attached'
  | 'pending'
  | 'named-always'
  | 'work'
  | 'scale-demand'
  | 'explicit';

export type CompatState =
  | 'none'
  | 'creating'
  | 'active'
  | 'asleep'
  | 'suspended'
  | 'draining'
  | 'archived'
  | 'quarantined'
  | 'orphaned'
  | 'closing'
  | 'closed'
  /** A state that a later version wrote: left alone. */
  | 'foreign';

export type IdentityFact =
  | 'none'
  | 'concrete'
  | 'canonical'
  | 'historical'
  | 'conflict'
  | 'reserved-unmaterialized';

export type RuntimeProjection =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'alive'; readonly state: 'awake' }
  | { readonly kind: 'missing'; readonly state: '' | 'asleep' }
  | { readonly kind: 'start-requested'; readonly state: 'creating' }
  | { readonly kind: 'fresh-creating'; readonly state: 'creating' }
  | { readonly kind: 'stale-creating'; readonly state: 'asleep' };

export type Blocker =
  | 'missing-config'
  | 'identity-conflict'
  | 'duplicate-canonical'
  | 'held'
  | 'quarantined'
  | 'wait-hold';

export type DesiredProjection = 'running' | 'blocked' | 'asleep' | 'undesired';

export interface Lifecycle {
  /** The stored state, drained told apart from asleep. */
  readonly base: string;
  readonly compat: CompatState;
  readonly terminal: boolean;
  readonly continuityEligible: boolean;
  readonly identity: IdentityFact;
  readonly causes: readonly WakeCause[];
  readonly runtime: RuntimeProjection;
  /** The conversation ended against our will: the next start begins a new one. */
  readonly resetContinuation: boolean;
  readonly blockers: readonly Blocker[];
  readonly desired: DesiredProjection;
  readonly countsAgainstCapacity: boolean;
  /** The REASON of a list, `''` for none. */
  readonly displayReason: string;
  /** Why it cannot be woken: its state; `''` when it can. */
  readonly wakeConflict: string;
  readonly identityReleased: boolean;
}

/** A record that stays `creating` without a runtime for longer than this is stale. */
export const CREATING_STALE_MS = 60_000;

export function projectLifecycle(input: LifecycleInput): Lifecycle {
  const base = baseState(input.record);
  const compat = compatState(base);
  const terminal = compat === 'closed' || compat === 'closing';
  const continuityEligible = isContinuityEligible(input.record, compat);
  const causes = wakeCauses(input);
  const runtime = projectRuntime(input, compat, causes);
  const blockers = findBlockers(input, compat, causes);
  return {
    base,
    compat,
    terminal,
    continuityEligible,
    identity: identityFact(input, continuityEligible),
    causes,
    runtime,
    resetContinuation: resetsContinuation(input.record, compat, runtime),
    blockers,
    desired: desiredProjection(input, terminal, causes, blockers),
    countsAgainstCapacity: ['creating', 'active', 'draining', 'quarantined'].includes(compat),
    displayReason: displayReason(input, compat, terminal, continuityEligible),
    wakeConflict: wakeConflict(base, compat, continuityEligible),
    identityReleased: isIdentityReleased(input.record, continuityEligible),
  };
}

function baseState(record: SessionRecord | undefined): string {
  if (!record) return 'none';
  if (record.closed) return 'closed';
  if (record.state === 'asleep' && record.sleepReason === 'drained') return 'drained';
  if (record.state === 'awake') return 'active';
  return record.state;
}

const OWN_NAMES: ReadonlySet<string> = new Set<CompatState>([
  'none',
  'creating',
  'active',
  'suspended',
  'draining',
  'archived',
  'quarantined',
  'orphaned',
  'closing',
  'closed',
]);

function compatState(base: string): CompatState {
  if (base === 'drained' || base === 'stopped' || base === 'asleep') return 'asleep';
  if (base === '') return 'asleep';
  return OWN_NAMES.has(base) ? (base as CompatState) : 'foreign';
}

function isContinuityEligible(record: SessionRecord | undefined, compat: CompatState): boolean {
  if (!record || compat === 'none' || compat === 'closed' || compat === 'closing') return false;
  const stated = record.metadata['continuity_eligible'];
  if (stated === 'false') return false;
  return compat === 'archived' ? stated === 'true' : true;
}

function identityFact(input: LifecycleInput, eligible: boolean): IdentityFact {
  const { named, record } = input;
  const belongs = named !== undefined && record?.namedIdentity === named.identity;
  if (belongs) return eligible ? 'canonical' : 'historical';
  if (named?.configured && named.conflict) return 'conflict';
  if (named?.configured && !record) return 'reserved-unmaterialized';
  return record ? 'concrete' : 'none';
}

function wakeCauses(input: LifecycleInput): readonly WakeCause[] {
  const causes = new Set(input.causes);
  if (input.record?.pendingCreateClaim) causes.add('pending-create');
  if (input.record?.pinAwake) causes.add('pin');
  if (input.attached) causes.add('attached');
  if (input.pending) causes.add('pending');
  return [...causes];
}

function projectRuntime(
  input: LifecycleInput,
  compat: CompatState,
  causes: readonly WakeCause[],
): RuntimeProjection {
  if (input.runtime === 'unknown') return { kind: 'unknown' };
  if (input.runtime === 'alive') return { kind: 'alive', state: 'awake' };
  if (compat === 'none' || compat === 'closed' || compat === 'closing') return { kind: 'missing', state: '' };
  if (causes.includes('pending-create')) return { kind: 'start-requested', state: 'creating' };
  if (compat === 'creating') {
    return isFreshlyCreating(input)
      ? { kind: 'fresh-creating', state: 'creating' }
      : { kind: 'stale-creating', state: 'asleep' };
  }
  return { kind: 'missing', state: 'asleep' };
}

function isFreshlyCreating(input: LifecycleInput): boolean {
  if (input.creatingStaleMs <= 0) return true;
  const since = input.record?.createdAt ?? 0;
  return since !== 0 && input.now - since < input.creatingStaleMs;
}

/** Sleeping for one of these was meant: the conversation goes on where it ended. */
const INTENDED_SLEEP = new Set([
  'idle',
  'idle-timeout',
  'no-wake-reason',
  'config-drift',
  'drained',
  'user-hold',
  'wait-hold',
]);

function resetsContinuation(
  record: SessionRecord | undefined,
  compat: CompatState,
  runtime: RuntimeProjection,
): boolean {
  if (!record || (runtime.kind !== 'missing' && runtime.kind !== 'stale-creating')) return false;
  if (compat !== 'active' && compat !== 'creating') return false;
  if (record.sessionKey === '' && record.startedConfigHash === '') return false;
  return !INTENDED_SLEEP.has(record.sleepReason);
}

function findBlockers(
  input: LifecycleInput,
  compat: CompatState,
  causes: readonly WakeCause[],
): readonly Blocker[] {
  const { record, now } = input;
  const blockers: Blocker[] = [];
  if (input.missingConfig || compat === 'orphaned') blockers.push('missing-config');
  if (input.named?.configured && input.named.conflict) blockers.push('identity-conflict');
  if (input.duplicateCanonical) blockers.push('duplicate-canonical');
  if (record?.heldUntil !== undefined && now < record.heldUntil) blockers.push('held');
  if (record?.quarantinedUntil !== undefined && now < record.quarantinedUntil) blockers.push('quarantined');
  if (record?.waitHold && !causes.includes('pending-create')) blockers.push('wait-hold');
  return blockers;
}

function desiredProjection(
  input: LifecycleInput,
  terminal: boolean,
  causes: readonly WakeCause[],
  blockers: readonly Blocker[],
): DesiredProjection {
  if (terminal) return 'undesired';
  if (causes.length > 0) return blockers.length > 0 ? 'blocked' : 'running';
  return input.preserve ? 'asleep' : 'undesired';
}

function displayReason(
  input: LifecycleInput,
  compat: CompatState,
  terminal: boolean,
  eligible: boolean,
): string {
  const { record, now } = input;
  if (!record || terminal || (compat === 'archived' && !eligible)) return '';
  const held = record.heldUntil !== undefined && now < record.heldUntil;
  const quarantined = record.quarantinedUntil !== undefined && now < record.quarantinedUntil;
  const reason = record.sleepReason;
  const expired =
    ((reason === 'quarantine' || reason === 'context-churn') && !quarantined) ||
    (reason === 'user-hold' && !held);
  if (reason !== '' && !expired) return reason;
  if (quarantined) return 'quarantine';
  if (record.waitHold) return 'wait-hold';
  return held ? 'user-hold' : '';
}

function wakeConflict(base: string, compat: CompatState, eligible: boolean): string {
  if (compat === 'closed') return 'closed';
  if (compat === 'closing') return base;
  return compat === 'archived' && !eligible ? 'archived' : '';
}

function isIdentityReleased(record: SessionRecord | undefined, eligible: boolean): boolean {
  if (!record || eligible) return false;
  return record.alias === '' && record.sessionName === '' && !record.sessionNameExplicit;
}
