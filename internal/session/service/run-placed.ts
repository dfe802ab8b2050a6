import { codeOf, GcError, messageOf } from '../../platform/errors.ts';
import { lifecycle } from '../../protocol/events.ts';
import { type Event, Lifecycle_Kind } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { LogConflictError } from '../log/errors.ts';
import type { AppendOptions } from '../log/session-log.ts';
import { type CancelContext, cancelTurn } from '../turn/cancel-turn.ts';
import { approvalRequest } from '../turn/live-effects.ts';
import type { LogView } from '../turn/log-view.ts';
import { resumeTurn } from '../turn/resume-turn.ts';
import { runTurn } from '../turn/run-turn.ts';
import {
  type Invocation,
  type TurnContext,
  TurnError,
  type TurnObserver,
  type TurnOutcome,
} from '../turn/turn.ts';
import { refuseWhenInterrupted } from './error-table.ts';
import { type HostContext, knownRow, refuseDeleted } from './host-context.ts';
import { unfinishedHarness } from './log-facts.ts';
import { admit, type Placement, snapshotOf } from './placement.ts';
import { type RunningTurn, TurnCanceled } from './session-guard.ts';

export interface NewTurn {
  readonly uid: string;
  readonly placement: Placement;
  readonly invocation: Invocation;
  readonly observer: TurnObserver;
}

/**
 * A turn with new inputs. The caller's place in the log is checked before a new incarnation begins, so that a call which
 * comes too late disturbs nobody.
 * Source: agentsessions.v1 execution through placement.
 */
export async function runPlaced(
  context: HostContext,
  { uid, placement, invocation, observer }: NewTurn,
  signal: AbortSignal,
): Promise<'completed' | 'parked'> {
  return await context.guard.holdForTurn(uid, signal, async (turn, ending) => {
    refuseDeleted(await knownRow(context, uid));
    const { blockingApproval } = await context.facts.now(uid);
    if (blockingApproval !== undefined) throw approvalBlocked(uid);
    await admit(placement, context.clock, ending);
    const place = { uid, placement, observer, turn, signal: ending };
    const fence = await fenceAt(context, uid, invocation.expected);
    const outcome = await underFence(context, place, fence, (prepared) =>
      runTurn(prepared, invocation, ending),
    );
    return outcome.kind === 'parked' ? 'parked' : 'completed';
  });
}

export interface Recovery {
  readonly uid: string;
  /** Where the log must stand; absent: wherever it stands. */
  readonly expected?: number;
  readonly observer: TurnObserver;
}

/** `paused`: a person has yet to answer, nothing was run. `parked`: the turn went on and came to another question. */
export type Recovered = 'paused' | 'parked' | 'resumed';

/**
 * Goes on with the last turn of a session, or only says that the session is back when there is nothing to go on with.
 * Source: agentsessions.v1 Resume.
 */
export async function recoverPlaced(
  context: HostContext,
  { uid, expected, observer }: Recovery,
  signal: AbortSignal,
): Promise<Recovered> {
  return await context.guard.holdForTurn(uid, signal, async (turn, ending) => {
    const row = await knownRow(context, uid);
    refuseDeleted(row);
    const found = await context.facts.now(uid);
    if (expected !== undefined && expected !== found.lastSeq) {
      throw new LogConflictError(uid, expected, found.lastSeq);
    }
    const placement = context.roster.recorded(row.harness, unfinishedHarness(found));
    const paused = await pausedAt(context, uid, found, observer);
    if (paused) return 'paused';
    turn.executionId = found.latest?.end === undefined ? found.latest?.id : undefined;
    const place = { uid, placement, observer, turn, signal: ending };
    const closing = { uid, log: context.store, clock: context.clock, observer };
    await admit(placement, context.clock, ending).catch((error) => failed(closing, place, false, error));
    const fence = await fenceAt(context, uid, found.lastSeq);
    const outcome = await underFence(context, place, fence, (prepared) => resumeTurn(prepared, ending));
    if (outcome.kind === 'parked') return 'parked';
    await appendSeen(context, place, lifecycle(Lifecycle_Kind.LIFECYCLE_RESUME), { fence });
    return 'resumed';
  });
}

export function approvalBlocked(uid: string): TurnError {
  return new TurnError('approval-blocked', `session ${uid} waits for the end of a call that needs approval`, {
    next: 'answer pending_approval of the session with Approve, then call Resume',
  });
}

/** Whether a person has to answer first. A question that a crash kept from being asked is asked now. */
async function pausedAt(
  context: HostContext,
  uid: string,
  found: LogView,
  observer: TurnObserver,
): Promise<boolean> {
  const gate = found.openApproval;
  if (gate === undefined) return false;
  if (gate.inherited) {
    throw new TurnError(
      'approval-unavailable',
      `session ${uid} inherited a call that waits for approval where it was made`,
      { next: 'call Exec with new inputs, or fork at a record before that call' },
    );
  }
  if (gate.state === 'decided') return false;
  if (gate.state === 'called') {
    const options = { expected: found.lastSeq, newIncarnation: true };
    await appendSeen(context, { uid, observer }, approvalRequest(gate.executionId, gate.call.id), options);
  }
  return true;
}

interface Place {
  readonly uid: string;
  readonly placement: Placement;
  readonly observer: TurnObserver;
  readonly turn: RunningTurn;
  readonly signal: AbortSignal;
}

/** @throws LogConflictError before a new incarnation begins */
async function fenceAt({ store }: HostContext, uid: string, expected: number): Promise<number> {
  const { seq } = await store.head(uid);
  if (seq !== expected) throw new LogConflictError(uid, expected, seq);
  return await store.newFence(uid);
}

async function underFence(
  context: HostContext,
  place: Place,
  fence: number,
  work: (prepared: TurnContext) => Promise<TurnOutcome>,
): Promise<TurnOutcome> {
  const recorded = { any: false };
  const prepared = turnContext(context, place, fence, recorded);
  const outcome = await work(prepared).catch((error) => failed(prepared, place, recorded.any, error));
  if (outcome.kind === 'parked') await appendSeen(context, place, suspendRecord(place.uid), { fence });
  return outcome;
}

/** What a turn that did not end is answered with. One that was ended on request is closed in the log first. */
async function failed(
  closing: CancelContext,
  { turn, signal }: Place,
  anyRecorded: boolean,
  error: unknown,
): Promise<never> {
  const endedBy = turn.endedBy();
  if (endedBy instanceof TurnCanceled && turn.executionId !== undefined) {
    const { kind } = await cancelTurn(closing, endedBy.reason, turn.executionId);
    if (kind !== 'canceled') throw error;
  }
  if (endedBy !== undefined) throw endedBy;
  if (!anyRecorded) refuseWhenInterrupted(signal);
  throw anyRecorded ? midTurn(error) : error;
}

/** Failures that mean the same in the middle of a turn as before it; all others are the turn's own. */
const ALWAYS_THE_SAME: ReadonlySet<string> = new Set([
  'log-conflict',
  'stale-fence',
  'session-deleted',
  'log-corrupt',
  'store-full',
  'store-busy',
  'store-removed',
  'store-corrupt',
]);

function midTurn(error: unknown): unknown {
  if (error instanceof TurnError || ALWAYS_THE_SAME.has(codeOf(error) ?? '')) return error;
  const next = error instanceof GcError ? error.next : undefined;
  return new TurnError('harness-failed', messageOf(error), {
    cause: error,
    ...(next === undefined ? {} : { next }),
  });
}

export function suspendRecord(uid: string): Event {
  return lifecycle(Lifecycle_Kind.LIFECYCLE_SUSPEND, snapshotOf(uid));
}

function turnContext(
  context: HostContext,
  { uid, placement, observer, turn }: Place,
  fence: number,
  recorded: { any: boolean },
): TurnContext {
  const { turnLog, facts, model, tools, blobs, clock, ids } = context;
  return {
    uid,
    log: turnLog,
    viewUpTo: (seq) => facts.upTo(uid, seq),
    harness: placement.harness,
    harnessName: placement.name,
    model,
    ...(tools === undefined ? {} : { tools }),
    ...(blobs === undefined ? {} : { blobs }),
    observer: {
      record: (record) => {
        recorded.any = true;
        if (record.event.executionId !== '') turn.executionId = record.event.executionId;
        observer.record(record);
      },
      delta: (executionId, chunk, done) => observer.delta(executionId, chunk, done),
    },
    fence,
    clock,
    ids,
  };
}

async function appendSeen(
  { store }: HostContext,
  { uid, observer }: Pick<Place, 'uid' | 'observer'>,
  record: Event,
  options: AppendOptions,
): Promise<void> {
  for (const each of await store.append(uid, [record], options)) observer.record(each);
}
