import type { Observation } from '../runtime/provider.ts';
import type { SessionRecord } from '../session/record.ts';
import { type AwakeDecision, type AwakeFacts, decideAwake } from './awake-set.ts';
import type { Desired } from './model.ts';
import { neededTemplates } from './needed-templates.ts';
import type { Plan, PlanInput } from './plan.ts';
import { planDead } from './plan-dead.ts';
import { PlanDraft } from './plan-draft.ts';
import { planDrainUnderWay } from './plan-draining.ts';
import { planProbes } from './plan-idle.ts';
import { planRunning } from './plan-running.ts';
import { planStarts } from './plan-starts.ts';
import { planVanished } from './plan-vanished.ts';
import { isAttached, type Sight, sightOf } from './session-facts.ts';
import { notedCapability, sleepPolicy } from './sleep-policy.ts';

/**
 * Decides what to write and to do next. Pure: the same input gives the same plan, whatever led to it, so lost, doubled
 * or reordered notifications change nothing but time. Nothing is started or stopped on an unknown observation, and one
 * session has at most one operation.
 */
export function plan(input: PlanInput): Plan {
  const draft = new PlanDraft(input);
  const needed = neededIn(input);
  const recorded = new Set<string>();
  for (const record of input.records) {
    recorded.add(record.sessionName);
    planRecord(input, draft, record, needed);
  }
  planUnrecorded(input, draft, recorded, needed);
  planVanished(input, draft);
  planProbes(input, draft);
  planStarts(input, draft);
  return draft.finish();
}

function planRecord(
  input: PlanInput,
  draft: PlanDraft,
  record: SessionRecord,
  needed: ReadonlySet<string>,
): void {
  const name = record.sessionName;
  if (name === '') return;
  const sight = sightOf(input, name);
  if (isUp(input, record, sight)) draft.up.add(record.template);
  const operation = input.operations.get(name);
  if (operation) {
    if (operation.kind === 'drain') planUnderWay(input, draft, record, { sight, needed });
    return;
  }
  if (retryLater(input, draft, name)) return;
  if (clearExpiredHold(input, draft, record)) return;
  const desired = input.desired.get(name);
  const facts = awakeFacts(input, record, desired, sight, needed);
  const awake = decideAwake(facts);
  watchTimers(input, draft, record);
  switch (sight.kind) {
    case 'unknown':
      draft.note(record, 'nothing', `could not tell whether it runs: ${sight.reason}`, {
        wanted: awake.wake,
      });
      return;
    case 'running':
      planRunning(input, draft, { record, desired, observation: sight.observation, awake, facts });
      return;
    case 'exited':
    case 'absent':
      planDead(input, draft, { record, desired, sight, awake });
  }
}

function planUnderWay(
  input: PlanInput,
  draft: PlanDraft,
  record: SessionRecord,
  { sight, needed }: { readonly sight: Sight; readonly needed: ReadonlySet<string> },
): void {
  if (sight.kind !== 'running') return;
  const desired = input.desired.get(record.sessionName);
  const facts = awakeFacts(input, record, desired, sight, needed);
  const { observation } = sight;
  planDrainUnderWay(input, draft, { record, desired, observation, awake: decideAwake(facts), facts });
}

/** Its dependents may start: its own start was completed, and nobody is ending it. */
function isUp(input: PlanInput, record: SessionRecord, sight: Sight): boolean {
  if (sight.kind !== 'running' || (record.state !== 'active' && record.state !== 'awake')) return false;
  const operation = input.operations.get(record.sessionName);
  return operation === undefined || operation.kind === 'apply-live' || operation.kind === 'probe-idle';
}

/** Whether the session should be awake, by what the plan may look at. */
export function awakeOf(
  input: PlanInput,
  record: SessionRecord,
  desired: Desired | undefined,
  sight: Sight,
  needed: ReadonlySet<string>,
): AwakeDecision {
  return decideAwake(awakeFacts(input, record, desired, sight, needed));
}

function awakeFacts(
  input: PlanInput,
  record: SessionRecord,
  desired: Desired | undefined,
  sight: Sight,
  needed: ReadonlySet<string>,
): AwakeFacts {
  const name = record.sessionName;
  const running = sight.kind === 'running';
  const told = running ? undefined : notedCapability(record);
  const capability = told ?? input.sleepCapabilities.get(name) ?? 'disabled';
  return {
    now: input.now,
    record,
    desired,
    running,
    attached: sight.kind === 'running' && isAttached(sight.observation),
    // What a life that is over asked, nobody can answer any more.
    pending: sight.kind !== 'absent' && sight.kind !== 'exited' && input.pending.has(name),
    waitReady: input.readyWaits.has(record.id),
    needed: needed.has(record.template),
    demanded: input.demand.wanted.has(name),
    called: input.demand.called.has(name),
    sleep: desired?.sleep && sleepPolicy(desired.sleep, capability),
    lastActivity: sight.kind === 'running' ? sight.observation.lastActivity : undefined,
    steadySince: input.steadySince,
  };
}

const NOBODY: ReadonlySet<string> = new Set();

/**
 * Templates that sessions which are to be awake depend on. One that rests after crashes still wants what it depends on:
 * it comes back.
 */
export function neededIn(input: PlanInput): ReadonlySet<string> {
  const records = new Map(input.records.map((record) => [record.sessionName, record]));
  return neededTemplates(input.desired.values(), (desired) => {
    const record = records.get(desired.sessionName);
    if (!record) return desired.mode === 'always' || input.demand.wanted.has(desired.sessionName);
    const awake = awakeOf(input, record, desired, sightOf(input, desired.sessionName), NOBODY);
    return awake.wake || awake.reason === 'quarantined';
  });
}

function clearExpiredHold(input: PlanInput, draft: PlanDraft, record: SessionRecord): boolean {
  if (record.heldUntil === undefined || input.now < record.heldUntil) return false;
  draft.change({ kind: 'clear-hold', record });
  draft.changeBecause(record, 'release', 'the hold is over');
  return true;
}

function watchTimers(input: PlanInput, draft: PlanDraft, record: SessionRecord): void {
  for (const until of [record.quarantinedUntil, record.heldUntil]) {
    if (until !== undefined && until > input.now) draft.wakeAtWall(until);
  }
}

/** Wanted sessions without a record get one; so do living ones. */
function planUnrecorded(
  input: PlanInput,
  draft: PlanDraft,
  recorded: ReadonlySet<string>,
  needed: ReadonlySet<string>,
): void {
  const adopted = new Set<string>();
  if (input.survey?.survey.kind === 'seen') {
    for (const [name, observation] of input.survey.survey.sessions) {
      if (recorded.has(name) || input.operations.has(name)) continue;
      planUnrecordedSession(input, draft, observation, adopted);
    }
  }
  if (input.stopping) return;
  for (const desired of input.desired.values()) {
    if (recorded.has(desired.sessionName) || adopted.has(desired.sessionName) || desired.suspended) continue;
    if (stands(input, desired, needed)) draft.change({ kind: 'materialize', desired });
  }
}

/** It is to have a record, whoever asks for it. */
function stands(input: PlanInput, desired: Desired, needed: ReadonlySet<string>): boolean {
  if (desired.mode === 'always' || input.demand.wanted.has(desired.sessionName)) return true;
  const isCovered = desired.kind === 'named' || desired.kind === 'dependency';
  return isCovered && needed.has(desired.template);
}

function planUnrecordedSession(
  input: PlanInput,
  draft: PlanDraft,
  observation: Observation,
  adopted: Set<string>,
): void {
  const { name, meta } = observation;
  const sight = sightOf(input, name);
  if (sight.kind === 'running') {
    adopted.add(name);
    draft.change({ kind: 'adopt', sessionName: name, meta, desired: input.desired.get(name) });
  } else if (sight.kind === 'exited' && !retryLater(input, draft, name)) {
    const instanceToken = meta['GC_INSTANCE_TOKEN'] ?? '';
    draft.act({
      kind: 'stop',
      sessionName: name,
      record: undefined,
      reason: 'leftover',
      instanceToken,
    });
  }
}

function retryLater(input: PlanInput, draft: PlanDraft, name: string): boolean {
  const retryAt = input.retryAt.get(name);
  if (retryAt === undefined || input.lived >= retryAt) return false;
  draft.wakeAtLived(retryAt);
  return true;
}
