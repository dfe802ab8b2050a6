import { overAt } from '../session/account-limit.ts';
import { readCrashState, STABLE_UPTIME_MS, startGate } from '../session/crash-policy.ts';
import type { SessionRecord } from '../session/record.ts';
import type { AwakeDecision, RestReason } from './awake-set.ts';
import type { Desired } from './model.ts';
import type { Death, PlanInput } from './plan.ts';
import type { PlanDraft } from './plan-draft.ts';
import { isPoolManaged } from './pool-record.ts';
import {
  asksForRestart,
  believedRunning,
  drainOf,
  endOfDrain,
  type Sight,
  saysDone,
  startIncomplete,
  stopIntent,
} from './session-facts.ts';

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
  else planRest(input, draft, session, awake.reason);
}

function planDeath(input: PlanInput, draft: PlanDraft, session: DeadSession): void {
  const { record } = session;
  const end = endOf(input, session);
  const death = deathOf(record, end);
  if (death?.cause === 'by-itself' && isFinished(input, record, end.exit)) {
    draft.change({ kind: 'ended', record, death: { ...end, cause: 'finished' } });
  } else if (death) draft.change({ kind: 'ended', record, death });
  else draft.vanished.push(record);
}

/** `undefined`: nothing about the record says why, and nobody saw how. */
function deathOf(record: SessionRecord, end: Pick<Death, 'exit' | 'lastLines'>): Death | undefined {
  const intent = stopIntent(record);
  const drain = drainOf(record);
  if (intent) return { ...end, cause: 'intended', reason: intent };
  if (saysDone(record)) return { ...end, cause: 'intended', reason: endOfDrain(drain) };
  if (!drain && asksForRestart(record)) return { ...end, cause: 'intended', reason: 'restart requested' };
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

/**
 * A pool's session that left without a complaint and with nothing in its hands has done its work: that is no crash. When
 * there is more of it, some must have been taken meanwhile, or the life was long where that cannot be seen: one that only
 * comes and goes backs off.
 */
export function isFinished(
  input: Pick<PlanInput, 'demand' | 'now'>,
  record: SessionRecord,
  exit: Death['exit'],
): boolean {
  const { wanted, busy, progressAt, opaque } = input.demand;
  if (!isPoolManaged(record) || complains(exit) || busy.has(record.sessionName)) return false;
  if (!wanted.has(record.sessionName)) return true;
  const noted = record.lastWokeAt ?? record.createdAt;
  // Still to come: it began before the clock was set back.
  const beganAt = noted > input.now ? 0 : noted;
  if (opaque.has(record.template) && input.now - beganAt >= STABLE_UPTIME_MS) return true;
  const progress = progressAt.get(record.template);
  return progress !== undefined && progress >= beganAt;
}

/** An agent that takes its own terminal away leaves no exit code, and no complaint. */
export function complains(exit: Death['exit']): boolean {
  if (exit === undefined) return false;
  const wasEnded = exit.code === undefined && exit.reason !== undefined;
  return wasEnded || exit.signal !== undefined || (exit.code ?? 0) !== 0;
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
  const limit = input.accountWaits?.get(record.sessionName);
  if (limit) {
    draft.wakeAtWall(overAt(limit));
    draft.note(record, 'wait', `usage limit of its account, seen in ${limit.session}`, {
      account: limit.account,
      until: new Date(limit.until).toISOString(),
      said: limit.text,
    });
    return;
  }
  draft.candidates.push({ record, desired, why: awake.reason });
}

function planRest(input: PlanInput, draft: PlanDraft, session: DeadSession, reason: RestReason): void {
  const { record, desired } = session;
  const isPools = desired?.kind === 'pool' || isPoolManaged(record);
  if (reason === 'orphaned') {
    draft.change({ kind: 'retire', record, reason: 'orphaned' });
    draft.changeBecause(record, 'close', 'its agent is not in the config any more');
  } else if (isPools && isOver(input, record, reason)) {
    draft.change({ kind: 'retire', record, reason: 'scaled down' });
    draft.changeBecause(record, 'close', `its pool does not need it: ${reason}`);
  } else draft.note(record, 'rest', reason);
}

/** A worker that is done is not used again: the next one gets a record, and a conversation, of its own. */
function isOver(input: PlanInput, record: SessionRecord, reason: RestReason): boolean {
  if (reason === 'drained') return true;
  const { busy, unanswered } = input.demand;
  if (busy.has(record.sessionName)) return false;
  return reason === 'suspended' || (reason === 'no-wake-reason' && !unanswered?.has(record.template));
}
