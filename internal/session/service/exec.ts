import type { Clock } from '../../platform/clock.ts';
import type { ExecRequest, ExecUpdate } from '../../protocol/generated/agentsessions/v1/session_pb.ts';
import { UnknownLogError } from '../log/errors.ts';
import type { SessionRow } from '../log/session-log.ts';
import type { LogView } from '../turn/log-view.ts';
import { TurnError } from '../turn/turn.ts';
import { refuseCitySession } from './city-sessions.ts';
import { createSession } from './create-session.ts';
import { refuseWhenInterrupted } from './error-table.ts';
import { ExecFrames, sessionFrame } from './exec-frames.ts';
import { type HostContext, refuseDeleted } from './host-context.ts';
import { unfinishedGate, unfinishedHarness } from './log-facts.ts';
import type { Placement } from './placement.ts';
import { approvalBlocked, type Recovered, recoverPlaced, runPlaced } from './run-placed.ts';
import { currentSession } from './session-view.ts';
import { ServiceError } from './sessions-host.ts';

const MS_PER_SECOND = 1000;
/** The longest that one timer can wait. */
const TIMER_LIMIT_MS = 2 ** 31 - 1;

type Plan =
  | { readonly kind: 'turn'; readonly uid: string; readonly placement: Placement }
  | { readonly kind: 'recovery'; readonly uid: string };

/**
 * One turn, told as it is committed: the session first, then records and deltas; the session again when the turn waits for
 * a person or was one to go on with. Whoever stops reading ends the turn.
 * Source: agentsessions.v1 Exec.
 */
export async function* exec(
  context: HostContext,
  request: ExecRequest,
  signal: AbortSignal,
): AsyncGenerator<ExecUpdate> {
  refuseWhenInterrupted(signal);
  const { store, clock } = context;
  const plan = await planOf(context, request);
  const { uid } = plan;
  const headBefore = (await store.head(uid)).seq;
  yield sessionFrame(await currentSession(context, uid));

  const left = new AbortController();
  const deadline = new AbortController();
  const ending = AbortSignal.any([signal, left.signal, deadline.signal]);
  armDeadline(clock, request.deadlineUnix, deadline, left.signal);
  const frames = new ExecFrames(store, uid, headBefore);
  const turn = carryOut(context, plan, request, headBefore, frames, ending);
  turn
    .then(() => store.head(uid))
    .then(
      ({ seq }) => frames.over(seq),
      () => frames.over(headBefore),
    );
  try {
    yield* frames.updates();
    if ((await turn) !== 'completed') yield sessionFrame(await currentSession(context, uid));
  } finally {
    left.abort(new ServiceError('CANCELLED', 'the caller went away'));
    await turn.catch(() => undefined);
  }
}

async function carryOut(
  context: HostContext,
  plan: Plan,
  request: ExecRequest,
  headBefore: number,
  observer: ExecFrames,
  signal: AbortSignal,
): Promise<'completed' | Recovered> {
  const { uid } = plan;
  const { inputs, config, resumeFromSeq, expectedLastSeq } = request;
  const asked = expectedLastSeq === undefined ? undefined : Number(expectedLastSeq);
  if (plan.kind === 'recovery') {
    const expected = asked === undefined ? {} : { expected: asked };
    return await recoverPlaced(context, { uid, observer, ...expected }, signal);
  }
  const invocation = { inputs, config, resumeFromSeq, expected: asked ?? headBefore };
  return await runPlaced(context, { uid, placement: plan.placement, invocation, observer }, signal);
}

async function planOf(context: HostContext, request: ExecRequest): Promise<Plan> {
  const { store, roster } = context;
  if (request.session === '') {
    const { uid, harness } = await createSession(context, { harness: request.harness });
    return { kind: 'turn', uid, placement: roster.resolve(harness) };
  }
  const row = await store.get(request.session);
  if (row === undefined) {
    if (request.harness !== '') roster.resolve(request.harness);
    throw new UnknownLogError(request.session);
  }
  refuseDeleted(row);
  refuseCitySession(row);
  return await planExisting(context, row, request);
}

async function planExisting(
  { facts, roster }: HostContext,
  row: SessionRow,
  { inputs, harness }: ExecRequest,
): Promise<Plan> {
  const { uid } = row;
  const found = await facts.now(uid);
  if (unfinishedGate(found) !== undefined && inputs.length === 0) {
    refuseOtherHarness(found, harness);
    return { kind: 'recovery', uid };
  }
  if (found.blockingApproval !== undefined) throw approvalBlocked(uid);
  return { kind: 'turn', uid, placement: roster.route(row.harness, harness) };
}

/** What a turn was begun with goes on with it. */
function refuseOtherHarness(found: LogView, wanted: string): void {
  const recorded = unfinishedHarness(found);
  if (wanted === '' || recorded === '' || wanted === recorded) return;
  throw new TurnError(
    'harness-mismatch',
    `the turn was begun by harness ${JSON.stringify(recorded)} and cannot go on with ${JSON.stringify(wanted)}`,
    { next: 'leave harness empty' },
  );
}

/** @param unix seconds since the epoch; 0 = no deadline */
function armDeadline(clock: Clock, unix: bigint, deadline: AbortController, disarmed: AbortSignal): void {
  if (unix <= 0n) return;
  const at = Number(unix) * MS_PER_SECOND;
  const wait = async (): Promise<void> => {
    for (let left = at - clock.now(); left > 0; left = at - clock.now()) {
      await clock.sleep(Math.min(left, TIMER_LIMIT_MS), disarmed);
    }
    deadline.abort(new ServiceError('DEADLINE_EXCEEDED', 'the deadline of the turn has passed'));
  };
  wait().catch(() => undefined);
}
