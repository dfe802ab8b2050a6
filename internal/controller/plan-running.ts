import type { Observation } from '../runtime/provider.ts';
import type { SessionRecord } from '../session/record.ts';
import { type AwakeDecision, idleSleepAt, type RestReason } from './awake-set.ts';
import { type Drift, driftOf } from './drift.ts';
import { isSilentTooLong } from './idle-timeout.ts';
import type { Desired, DrainReason, StopReason } from './model.ts';
import type { Action, PlanInput } from './plan.ts';
import type { PlanDraft } from './plan-draft.ts';
import {
  asksForRestart,
  type Drain,
  drainOf,
  endOfDrain,
  isAttached,
  lacksAgent,
  ownershipOf,
  saysDone,
  startIncomplete,
  stopIntent,
  WAITS_FOR_KEY,
} from './session-facts.ts';

/** How long the expected programs must be missing: a shell that is about to run the agent again is no leftover. */
export const AGENT_MISSING_GRACE_MS = 3_000;

export interface RunningSession {
  readonly record: SessionRecord;
  readonly desired: Desired | undefined;
  readonly observation: Observation;
  readonly awake: AwakeDecision;
}

/** What to do about a session that runs. */
export function planRunning(input: PlanInput, draft: PlanDraft, session: RunningSession): void {
  const { record, observation, awake } = session;
  if (ownershipOf(record, observation.meta) === 'another life') {
    const token = observation.meta['GC_INSTANCE_TOKEN'] ?? '';
    draft.change({ kind: 'take-over', record, token });
    draft.changeBecause(record, 'adopt', 'another life of this session is the one that lives');
    return;
  }
  const verdict = stopVerdict(input, draft, session);
  const drain = drainOf(record);
  if (verdict) stop(draft, session, verdict);
  else if (startIncomplete(record)) planContinuation(input, draft, session);
  else if (drain) planDraining(input, draft, session, drain);
  else if (awake.wake) planWanted(draft, session);
  else {
    draft.change({
      kind: 'begin-drain',
      record,
      reason: drainReason(awake.reason),
      detail: awake.reason,
    });
    draft.changeBecause(record, 'drain', awake.reason, { attached: isAttached(observation) });
  }
}

interface StopVerdict {
  readonly reason: StopReason;
  readonly why: string;
}

/** Reasons to stop it without waiting for idle. */
function stopVerdict(input: PlanInput, draft: PlanDraft, session: RunningSession): StopVerdict | undefined {
  const { record, observation, awake } = session;
  const intent = stopIntent(record);
  if (intent) return { reason: intent, why: 'decided before, not yet done' };
  const said = saidByAgent(record, observation);
  if (said) return said;
  if (startIncomplete(record) && !canContinue(input, session)) {
    return { reason: 'start interrupted', why: 'its start was never completed: it may lack its prompt' };
  }
  if (missesAgent(input, draft, session)) {
    const seen = (observation.processNames ?? []).join(', ') || 'nothing';
    return { reason: 'no agent in it', why: `it runs ${seen}, none of the expected programs` };
  }
  if (!awake.wake && awake.reason === 'user-hold')
    return { reason: 'suspended by a person', why: 'it is suspended' };
  const silence = awake.wake ? isSilentTooLong(input, draft, session) : undefined;
  return silence === undefined ? undefined : { reason: 'idle-timeout', why: silence };
}

/** In a drain, a wish for a new life is an answer to it: what follows is what the drain is for. */
function saidByAgent(record: SessionRecord, { meta }: Observation): StopVerdict | undefined {
  const isDone = saysDone(record, meta);
  const restarts = asksForRestart(record, meta);
  if (!isDone && !restarts) return undefined;
  const drain = drainOf(record);
  if (restarts && !drain) return { reason: 'restart requested', why: 'a new life was asked for' };
  return { reason: endOfDrain(drain), why: 'the agent said that it is done' };
}

function canContinue(input: PlanInput, session: RunningSession): boolean {
  return input.canContinueStart && session.awake.wake && session.desired?.resolution === 'resolved';
}

/** A start that asks a person something goes on when its screen has moved since. */
function planContinuation(input: PlanInput, draft: PlanDraft, session: RunningSession): void {
  const { record, desired, observation } = session;
  if (desired?.resolution !== 'resolved') return;
  const askedAt = input.askedAt.get(record.sessionName);
  const question = record.metadata[WAITS_FOR_KEY] ?? '';
  if (question !== '' && askedAt !== undefined) {
    draft.note(record, 'wait', `a person must answer: ${question}`);
    if (observation.lastActivity !== undefined && observation.lastActivity < askedAt) return;
    const next = askedAt + ASK_AGAIN_MS;
    if (input.now < next) {
      draft.wakeAtWall(next);
      return;
    }
  }
  draft.act({ kind: 'continue-start', sessionName: record.sessionName, record, desired });
  if (question === '') draft.actBecause(record, 'continue', 'its start was interrupted in the middle');
}

/** A question that is drawn again and again is not taken up more often. */
const ASK_AGAIN_MS = 2_000;

function planWanted(draft: PlanDraft, session: RunningSession): void {
  const { record, desired, observation, awake } = session;
  if (awake.wake && awake.reason === 'on-demand:running') {
    const sleepsAt = idleSleepAt({ record, desired, lastActivity: observation.lastActivity });
    if (sleepsAt !== undefined) draft.wakeAtWall(sleepsAt);
  }
  if (record.state !== 'active' && record.state !== 'awake') {
    draft.change({ kind: 'settle-active', record });
    draft.changeBecause(record, 'keep', 'it runs and is to run', { recorded: record.state });
    return;
  }
  if (record.lastWokeAt === undefined) {
    draft.change({ kind: 'settle-active', record });
    return;
  }
  if (desired?.resolution !== 'resolved') return;
  const drift = driftOf(record, desired);
  switch (drift.kind) {
    case 'none':
      return;
    case 'note-live':
      draft.change({ kind: 'note-live', record, desired });
      return;
    case 'live':
      draft.act({ kind: 'apply-live', sessionName: record.sessionName, record, desired });
      draft.actBecause(record, 're-apply live', 'only session_live changed');
      return;
    case 'core': {
      const detail = driftDetail(drift);
      draft.change({ kind: 'begin-drain', record, reason: 'config-drift', detail });
      draft.changeBecause(record, 'drain', `config drift: ${detail}`, {
        started_with: record.startedConfigHash.slice(0, 12),
        wanted: desired.coreHash.slice(0, 12),
      });
    }
  }
}

/** Waits for idle, or for the agent to say that it is done, at most as long as the drain may take; longer while a person is attached. */
function planDraining(input: PlanInput, draft: PlanDraft, session: RunningSession, drain: Drain): void {
  const { record, observation } = session;
  const cancel = cancelReason(session, drain);
  if (cancel) {
    draft.change({ kind: 'cancel-drain', record, why: cancel });
    draft.changeBecause(record, 'keep', cancel);
    return;
  }
  if (isAttached(observation)) {
    draft.note(record, 'wait', `${drain.reason}: a person is attached`);
    return;
  }
  const deadline = drain.since + drainTimeoutMs(input, session, drain);
  if (drain.reason === 'drained by a person') {
    planAskedEnd(input, draft, session, { drain, deadline });
    return;
  }
  const idle = input.idleSince.get(record.sessionName);
  if (idle !== undefined && !activeSince(input, observation, idle)) {
    stop(draft, session, { reason: drain.reason, why: 'idle' });
  } else if (input.now >= deadline) {
    stop(draft, session, { reason: drain.reason, why: 'not idle in time' });
  } else {
    draft.wakeAtWall(deadline);
    draft.act(drainAction(record, drain, deadline - input.now));
  }
}

/** The agent is told once; then it has its time, idle or not. */
function planAskedEnd(
  input: PlanInput,
  draft: PlanDraft,
  session: RunningSession,
  { drain, deadline }: { readonly drain: Drain; readonly deadline: number },
): void {
  const { record } = session;
  if (input.now >= deadline) {
    stop(draft, session, { reason: drain.reason, why: 'it did not say in time that it is done' });
    return;
  }
  draft.wakeAtWall(deadline);
  if (input.drainTold.get(record.sessionName) !== drain.since) draft.act(drainAction(record, drain, 0));
  draft.note(record, 'wait', `${drain.reason}: until the agent says that it is done`, {
    at_the_latest: new Date(deadline).toISOString(),
  });
}

function drainAction(record: SessionRecord, drain: Drain, idleWithinMs: number): Action {
  const { sessionName } = record;
  return { kind: 'drain', sessionName, record, reason: drain.reason, since: drain.since, idleWithinMs };
}

function cancelReason(session: RunningSession, drain: Drain): string | undefined {
  const { awake, record, desired } = session;
  if (!awake.wake || drain.reason === 'drained by a person') return undefined;
  if (drain.reason !== 'config-drift') return `wanted again: ${awake.reason}`;
  if (desired?.resolution !== 'resolved') return undefined;
  return driftOf(record, desired).kind === 'core' ? undefined : 'the config is again what it runs with';
}

function drainTimeoutMs(input: PlanInput, session: RunningSession, drain: Drain): number {
  if (drain.reason === 'config-drift') return input.driftDrainTimeoutMs;
  return session.desired?.drainTimeoutMs ?? DEFAULT_DRAIN_TIMEOUT_MS;
}

/** Of a session whose agent is not in the config any more. Source: Gas City's default drain timeout. */
export const DEFAULT_DRAIN_TIMEOUT_MS = 300_000;

/** Output after the idle moment means that it works again. The moment is lived time, the activity wall time. */
function activeSince(input: PlanInput, observation: Observation, idleLived: number): boolean {
  if (observation.lastActivity === undefined) return false;
  const idleWall = input.now - (input.lived - idleLived);
  return observation.lastActivity > idleWall + IDLE_SLACK_MS;
}

/** Activity times are rounded to seconds by some providers. */
const IDLE_SLACK_MS = 1_000;

function stop(draft: PlanDraft, session: RunningSession, verdict: StopVerdict): void {
  const { record, observation } = session;
  draft.act({
    kind: 'stop',
    sessionName: record.sessionName,
    record,
    reason: verdict.reason,
    detail: verdict.why,
    instanceToken: observation.meta['GC_INSTANCE_TOKEN'] ?? record.instanceToken,
  });
  draft.actBecause(record, 'stop', verdict.reason, { because: verdict.why });
}

function missesAgent(input: PlanInput, draft: PlanDraft, session: RunningSession): boolean {
  const { record, desired, observation } = session;
  if (desired?.resolution !== 'resolved' || drainOf(record) || startIncomplete(record)) return false;
  if (!lacksAgent(observation, desired.config.processNames)) return false;
  const since = input.agentMissingSince.get(record.sessionName) ?? input.lived;
  if (input.lived - since >= AGENT_MISSING_GRACE_MS) return true;
  draft.wakeAtLived(since + AGENT_MISSING_GRACE_MS);
  return false;
}

function drainReason(reason: RestReason): DrainReason {
  switch (reason) {
    case 'orphaned':
      return 'orphaned';
    case 'suspended':
      return 'suspended';
    case 'held':
    case 'user-hold':
    case 'wait-hold':
    case 'quarantined':
      return 'held';
    case 'drained':
    case 'idle-sleep':
    case 'no-wake-reason':
      return 'no-wake-reason';
  }
}

function driftDetail(drift: Extract<Drift, { kind: 'core' }>): string {
  return drift.fields.join(', ');
}
