import type { SessionRecord } from '../session/record.ts';
import { maySleep } from './awake-set.ts';
import { driftOf } from './drift.ts';
import type { DrainReason } from './model.ts';
import type { Action, PlanInput } from './plan.ts';
import type { PlanDraft } from './plan-draft.ts';
import { activeSince, isAttended, keepsForWork, type RunningSession, stop } from './running-session.ts';
import { type Drain, drainOf, isAttached, saysDone, stopIntent } from './session-facts.ts';

/** Waits for idle, or for the agent to say that it is done, at most as long as the drain may take; longer while a person is attached. */
export function planDraining(
  input: PlanInput,
  draft: PlanDraft,
  session: RunningSession,
  drain: Drain,
): void {
  const { record, observation } = session;
  if (takenBack(input, draft, session, drain)) return;
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
  } else if (input.now >= deadline && drain.reason === 'idle' && isAttended(session)) {
    const why = 'it was at work when it was to sleep';
    draft.change({ kind: 'cancel-drain', record, why });
    draft.changeBecause(record, 'keep', why);
  } else if (input.now >= deadline) {
    stop(draft, session, { reason: drain.reason, why: 'not idle in time' });
  } else {
    draft.wakeAtWall(deadline);
    draft.act(drainAction(record, drain, deadline - input.now));
  }
}

/** While its idleness is waited for: what asks for it again does not wait for the end of that. */
export function planDrainUnderWay(input: PlanInput, draft: PlanDraft, session: RunningSession): void {
  const { record, observation } = session;
  const drain = drainOf(record);
  if (!drain || stopIntent(record) || saysDone(record, observation.meta)) return;
  // Output alone is what the wait for idleness is about.
  if (drain.reason === 'idle' && maySleep(session.facts)) return;
  takenBack(input, draft, session, drain);
}

function takenBack(input: PlanInput, draft: PlanDraft, session: RunningSession, drain: Drain): boolean {
  const { record } = session;
  const why = cancelReason(input, session, drain);
  if (why === undefined) return false;
  draft.change({ kind: 'cancel-drain', record, why });
  draft.changeBecause(record, 'keep', why);
  return true;
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

/** Drains that work which is taken meanwhile takes back. */
const FOR_WANT_OF_WORK: ReadonlySet<DrainReason> = new Set(['no-wake-reason', 'idle', 'orphaned']);

function drainAction(record: SessionRecord, drain: Drain, idleWithinMs: number): Action {
  const { sessionName } = record;
  return { kind: 'drain', sessionName, record, reason: drain.reason, since: drain.since, idleWithinMs };
}

function cancelReason(input: PlanInput, session: RunningSession, drain: Drain): string | undefined {
  const { awake, record, desired } = session;
  if (FOR_WANT_OF_WORK.has(drain.reason) && keepsForWork(input, session)) return 'it has work in its hands';
  if (!awake.wake || drain.reason === 'drained by a person') return undefined;
  if (drain.reason !== 'config-drift') return `wanted again: ${awake.reason}`;
  if (desired?.resolution !== 'resolved') return undefined;
  return driftOf(record, desired).kind === 'core' ? undefined : 'the config is again what it runs with';
}

function drainTimeoutMs(input: PlanInput, session: RunningSession, drain: Drain): number {
  if (drain.reason === 'config-drift') return input.driftDrainTimeoutMs;
  if (drain.reason === 'idle' && isAttended(session)) return IDLE_DRAIN_MS;
  return session.desired?.drainTimeoutMs ?? DEFAULT_DRAIN_TIMEOUT_MS;
}

/** A session that was just seen idle goes to sleep within this time, or not at all. */
const IDLE_DRAIN_MS = 15_000;

/** Of a session whose agent is not in the config any more. Source: Gas City's default drain timeout. */
const DEFAULT_DRAIN_TIMEOUT_MS = 300_000;
