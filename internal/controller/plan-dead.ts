import { readCrashState, startGate } from '../session/crash-policy.ts';
import type { SessionRecord } from '../session/record.ts';
import type { AwakeDecision, RestReason } from './awake-set.ts';
import type { Desired } from './model.ts';
import type { Death, PlanInput } from './plan.ts';
import type { PlanDraft } from './plan-draft.ts';
import { believedRunning, drainOf, type Sight, startIncomplete, stopIntent } from './session-facts.ts';

export interface DeadSession {
  readonly record: SessionRecord;
  readonly desired: Desired | undefined;
  readonly sight: Extract<Sight, { kind: 'exited' | 'absent' }>;
  readonly awake: AwakeDecision;
}

/** What to do about a session without a living process. */
export function planDead(input: PlanInput, draft: PlanDraft, session: DeadSession): void {
  const { record, awake } = session;
  if (believedRunning(record) || stopIntent(record)) planDeath(input, draft, session);
  else if (awake.wake) planStart(input, draft, session);
  else planRest(draft, record, awake.reason);
}

function planDeath(input: PlanInput, draft: PlanDraft, session: DeadSession): void {
  const { record } = session;
  const death = deathOf(record, endOf(input, session));
  if (death) draft.change({ kind: 'ended', record, death });
  else draft.vanished.push(record);
}

/** `undefined`: nothing about the record says why, and nobody saw how. */
function deathOf(record: SessionRecord, end: Pick<Death, 'exit' | 'lastLines'>): Death | undefined {
  const intent = stopIntent(record);
  const drain = drainOf(record);
  if (intent) return { ...end, cause: 'intended', reason: intent };
  if (drain) return { ...end, cause: 'drained', reason: drain.reason };
  if (end.exit) return { ...end, cause: 'by-itself' };
  if (startIncomplete(record)) return { ...end, cause: 'interrupted' };
  return undefined;
}

/** What the dead screen still says, else what the runtime reported when it happened. */
function endOf(input: PlanInput, session: DeadSession): Pick<Death, 'exit' | 'lastLines'> {
  const { sight, record } = session;
  if (sight.kind === 'exited') return { exit: sight.exit, lastLines: sight.lastLines };
  const seen = input.exits.get(record.sessionName);
  return seen ?? { exit: undefined, lastLines: '' };
}

function planStart(input: PlanInput, draft: PlanDraft, session: DeadSession): void {
  const { record, desired, awake } = session;
  if (input.stopping || !desired) return;
  if (desired.resolution === 'unresolvable') {
    draft.note(record, 'refused', desired.problem.message, { code: desired.problem.code });
    return;
  }
  const gate = startGate(readCrashState(record.metadata, input.now), input.now);
  if (gate.kind !== 'open') {
    draft.wakeAtWall(gate.nextTryAt);
    draft.note(record, 'wait', `${gate.kind}: ${gate.reason}`, {
      next_try_at: new Date(gate.nextTryAt).toISOString(),
    });
    return;
  }
  draft.candidates.push({ record, desired, why: awake.reason });
}

function planRest(draft: PlanDraft, record: SessionRecord, reason: RestReason): void {
  if (reason !== 'orphaned') {
    draft.note(record, 'rest', reason);
    return;
  }
  draft.change({ kind: 'retire', record });
  draft.changeBecause(record, 'close', 'its agent is not in the config any more');
}
