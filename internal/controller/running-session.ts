import type { Observation } from '../runtime/provider.ts';
import type { SessionRecord } from '../session/record.ts';
import type { AwakeDecision, AwakeFacts } from './awake-set.ts';
import type { Desired, StopReason } from './model.ts';
import type { PlanInput } from './plan.ts';
import type { PlanDraft } from './plan-draft.ts';
import { isUnattended } from './sleep-policy.ts';

export interface RunningSession {
  readonly record: SessionRecord;
  readonly desired: Desired | undefined;
  readonly observation: Observation;
  readonly awake: AwakeDecision;
  /** What the decision was made from. */
  readonly facts: AwakeFacts;
}

/** Work in the hands of a worker is finished first, whatever became of its pool in the config. */
export function keepsForWork(input: PlanInput, { record, desired, awake }: RunningSession): boolean {
  if (!input.demand.busy.has(record.sessionName)) return false;
  if (!['orphaned', 'no-wake-reason', 'drained'].includes(awake.reason)) return false;
  return desired === undefined || desired.kind === 'pool' || desired.kind === 'dependency';
}

/** Where silence alone proves nothing: somebody may sit at it. */
export function isAttended({ facts }: RunningSession): boolean {
  return facts.sleep !== undefined && !isUnattended(facts.sleep.request);
}

/**
 * Output after the idle moment means that it works again. The moment is lived time, the activity wall time: one that is
 * still to come is from before the clock was set back, and says nothing.
 */
export function activeSince(input: PlanInput, observation: Observation, idleLived: number): boolean {
  const { lastActivity } = observation;
  if (lastActivity === undefined || lastActivity > input.now + IDLE_SLACK_MS) return false;
  const idleWall = input.now - (input.lived - idleLived);
  return lastActivity > idleWall + IDLE_SLACK_MS;
}

/** Activity times are rounded to seconds by some providers. */
const IDLE_SLACK_MS = 1_000;

export interface StopVerdict {
  readonly reason: StopReason;
  readonly why: string;
}

export function stop(draft: PlanDraft, session: RunningSession, verdict: StopVerdict): void {
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
