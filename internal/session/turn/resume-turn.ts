import { cityFactOf } from '../../protocol/events.ts';
import { type Event, EventKind, type ToolCall } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { HarnessDescriptor } from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { describeHarness } from './describe-harness.ts';
import { driveTurn } from './drive-turn.ts';
import { EffectLog } from './effect-log.ts';
import type { ApprovalDecision } from './gate-grammar.ts';
import { historyUpTo } from './history.ts';
import { checkHarness, checkHarnessName, checkInvocation } from './invocation.ts';
import { legacyExecutionId, legacyTurn } from './legacy-log.ts';
import { approvalRequest, LiveEffects, missingExecutor, parked } from './live-effects.ts';
import type { ApprovalState, ExecutionView, LogView } from './log-view.ts';
import { readWholeLog } from './read-log-view.ts';
import { type TurnContext, TurnError, type TurnOutcome } from './turn.ts';

/**
 * Goes on with the newest turn, when it has no end: the harness runs again, is served what it did before, and goes on from
 * where the record was cut. A call that waits for a person is left waiting.
 * Source: agentsessions.v1 controller, crash recovery and approval gate.
 * @throws TurnError; StaleFenceError when the session was taken over; HarnessUnavailableError
 */
export async function resumeTurn(context: TurnContext, signal: AbortSignal): Promise<TurnOutcome> {
  const { uid, log } = context;
  const { records, view } = await readWholeLog(log, uid, 'latest');
  const { latest, openApproval } = view;
  if (!latest) return await resumeLegacy(context, records, view, signal);
  if (latest.end) return { kind: 'nothing' };

  const { observes } = context.harness;
  checkInvocation(latest);
  // Whoever is served its history again relies on all of it; one that acts by itself only goes on.
  if (!observes) for (const execution of view.executions) if (execution.end) checkInvocation(execution);
  if (openApproval) {
    const waiting = await waitingFor(context, openApproval);
    if (waiting) return waiting;
  }
  checkHarnessName(latest, context.harnessName);
  if (!observes) checkIntent(context, cutCall(latest.effects), view.forkSeq);
  if (openApproval?.state === 'decided' && openApproval.decision.result.approved && !context.tools)
    throw missingExecutor(openApproval.call);
  const descriptor = await describeHarness(context, signal);
  checkHarness(latest, descriptor);

  if (observes && openApproval?.state === 'decided')
    return await resumeSettled(context, openApproval, openApproval, signal);
  return await resumeExecution(context, { records, execution: latest, descriptor }, signal);
}

interface Resumption {
  readonly records: readonly ChainedRecord[];
  readonly execution: ExecutionView;
  readonly descriptor: HarnessDescriptor;
}

async function resumeExecution(
  context: TurnContext,
  { records, execution, descriptor }: Resumption,
  signal: AbortSignal,
): Promise<TurnOutcome> {
  const { id: executionId, inputs, start, firstSeq, effects } = execution;
  const { observes } = context.harness;
  return await driveTurn(
    context,
    {
      start: {
        session: context.uid,
        executionId,
        inputs,
        config: start?.config ?? new Uint8Array(),
        resumeFromSeq: start?.resumeFromSeq ?? 0n,
        history: await historyUpTo(context.log, records, firstSeq - 1),
        recorded: observes ? recordedOf(records, execution) : [],
      },
      executionId,
      descriptor,
      effects,
    },
    signal,
  );
}

/** @returns the outcome when a person has to answer first; a question that was never asked is asked now */
async function waitingFor(context: TurnContext, gate: ApprovalState): Promise<TurnOutcome | undefined> {
  const { executionId, call } = gate;
  if (gate.inherited) {
    throw new TurnError(
      'approval-unavailable',
      `call ${call.id} waits in the session that this one was forked from`,
      {
        next: 'answer it there, or give this session new input',
      },
    );
  }
  switch (gate.state) {
    case 'called': {
      const request = await new EffectLog(context).appendOne(approvalRequest(executionId, call.id));
      return { kind: 'parked', ref: parked(executionId, call.id, request.seq).ref };
    }
    case 'undecided':
      return { kind: 'parked', ref: parked(executionId, call.id, gate.requestSeq).ref };
    default:
      return undefined;
  }
}

/** A harness that goes on by itself is told the outcome: what was decided is done before it runs. */
async function resumeSettled(
  context: TurnContext,
  { executionId, call }: ApprovalState,
  decided: { readonly requestSeq: number; readonly decision: ApprovalDecision },
  signal: AbortSignal,
): Promise<TurnOutcome> {
  const log = new EffectLog(context);
  const live = new LiveEffects({ context, executionId, log, signal, seal: () => undefined });
  await live.settle(call, decided.requestSeq, decided.decision);
  return await resumeTurn(context, signal);
}

/** What an execution recorded, without its start and inputs, and the facts of ours that stand between. */
function recordedOf(records: readonly ChainedRecord[], { id, firstSeq }: ExecutionView): readonly Event[] {
  const between = records.slice(firstSeq).map(({ event }) => event);
  return between.filter(
    (event) =>
      (event.executionId === id && event.kind !== EventKind.EVENT_INPUT) || cityFactOf(event) !== undefined,
  );
}

/** A call that the record ends with, without a result. */
function cutCall(
  effects: readonly ChainedRecord[],
): { readonly seq: number; readonly call: ToolCall } | undefined {
  const last = effects.at(-1);
  return last?.event.body.case === 'tool' ? { seq: last.seq, call: last.event.body.value } : undefined;
}

function checkIntent(
  context: TurnContext,
  cut: { readonly seq: number; readonly call: ToolCall } | undefined,
  forkSeq: number,
): void {
  if (!cut) return;
  if (cut.seq < forkSeq) {
    throw new TurnError(
      'inherited-intent',
      `record ${cut.seq} calls ${JSON.stringify(cut.call.tool)} without a result, in the session that this one was forked from`,
      { next: 'fork at or after the result, or give this session new input' },
    );
  }
  if (!context.tools) throw missingExecutor(cut.call);
}

async function resumeLegacy(
  context: TurnContext,
  records: readonly ChainedRecord[],
  { legacy, forkSeq }: LogView,
  signal: AbortSignal,
): Promise<TurnOutcome> {
  const turn = legacyTurn(legacy?.unfinished ?? []);
  if (!turn) return { kind: 'nothing' };
  if (!context.harness.observes) checkIntent(context, cutCall(turn.effects), forkSeq);
  const descriptor = await describeHarness(context, signal);
  const { anchor, inputs, effects } = turn;
  return await driveTurn(
    context,
    {
      start: {
        session: context.uid,
        executionId: legacyExecutionId(context.uid, anchor),
        inputs,
        config: new Uint8Array(),
        resumeFromSeq: 0n,
        history: await historyUpTo(context.log, records, anchor.seq - 1),
        recorded: context.harness.observes ? effects.map(({ event }) => event) : [],
      },
      executionId: '',
      descriptor,
      effects,
    },
    signal,
  );
}
