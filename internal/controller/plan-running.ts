import type { Observation } from '../runtime/provider.ts';
import type { SessionRecord } from '../session/record.ts';
import { idleSleepAt, maySleep, type RestReason } from './awake-set.ts';
import { type Drift, driftOf } from './drift.ts';
import { isSilentTooLong } from './idle-timeout.ts';
import type { DrainReason, ResolvedDesired } from './model.ts';
import type { PlanInput } from './plan.ts';
import type { PlanDraft } from './plan-draft.ts';
import { planDraining } from './plan-draining.ts';
import {
  activeSince,
  isAttended,
  keepsForWork,
  type RunningSession,
  type StopVerdict,
  stop,
} from './running-session.ts';
import {
  asksForRestart,
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
import { sleepNotes } from './sleep-policy.ts';

/** How long the expected programs must be missing: a shell that is about to run the agent again is no leftover. */
export const AGENT_MISSING_GRACE_MS = 3_000;

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
  else if (awake.wake) planWanted(input, draft, session);
  else if (keepsForWork(input, session))
    draft.note(record, 'keep', `${awake.reason}: it has work in its hands`);
  else if (awake.reason === 'idle-sleep') planIdleSleep(input, draft, session);
  else beginDrain(draft, session, awake.reason);
}

function beginDrain(draft: PlanDraft, session: RunningSession, why: RestReason): void {
  const { record, observation } = session;
  draft.change({ kind: 'begin-drain', record, reason: drainReason(why), detail: why });
  draft.changeBecause(record, 'drain', why, { attached: isAttached(observation) });
}

/** A person's own session is asked first whether it is idle, on the quiet; one that nobody sits at is let go. */
function planIdleSleep(input: PlanInput, draft: PlanDraft, session: RunningSession): void {
  const { record, observation } = session;
  if (noteSleep(draft, session)) return;
  const idle = input.idleSince.get(record.sessionName);
  if (isAttended(session) && (idle === undefined || activeSince(input, observation, idle)))
    draft.probes.push(record);
  else beginDrain(draft, session, 'idle-sleep');
}

/** Whether its record had to be brought up to date first. */
function noteSleep(draft: PlanDraft, { record, observation, facts }: RunningSession): boolean {
  if (!facts.sleep) return false;
  const notes = sleepNotes(record, facts.sleep, { attached: isAttached(observation), now: facts.now });
  if (Object.keys(notes).length === 0) return false;
  draft.change({ kind: 'note-sleep', record, notes });
  return true;
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

function planWanted(input: PlanInput, draft: PlanDraft, session: RunningSession): void {
  const { record, desired, facts } = session;
  if (maySleep(facts)) {
    const sleepsAt = idleSleepAt(facts);
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
  if (noteSleep(draft, session)) return;
  if (desired?.resolution !== 'resolved') return;
  planDrift(input, draft, { record, desired });
}

function planDrift(
  input: PlanInput,
  draft: PlanDraft,
  { record, desired }: { readonly record: SessionRecord; readonly desired: ResolvedDesired },
): void {
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
      if (desired.kind === 'pool' && input.demand.busy.has(record.sessionName)) {
        draft.note(record, 'wait', `config drift: ${detail}; until its work is done`);
        return;
      }
      draft.change({ kind: 'begin-drain', record, reason: 'config-drift', detail });
      draft.changeBecause(record, 'drain', `config drift: ${detail}`, {
        started_with: record.startedConfigHash.slice(0, 12),
        wanted: desired.coreHash.slice(0, 12),
      });
    }
  }
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
    case 'quarantined':
      return 'held';
    case 'wait-hold':
      return 'wait-hold';
    case 'idle-sleep':
      return 'idle';
    case 'drained':
    case 'no-wake-reason':
      return 'no-wake-reason';
  }
}

function driftDetail(drift: Extract<Drift, { kind: 'core' }>): string {
  return drift.fields.join(', ');
}
