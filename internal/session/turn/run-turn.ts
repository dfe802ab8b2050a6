import { executionStart, input } from '../../protocol/events.ts';
import { newExecutionId } from '../../protocol/session-id.ts';
import { describeHarness } from './describe-harness.ts';
import { driveTurn } from './drive-turn.ts';
import { EffectLog } from './effect-log.ts';
import { historyUpTo } from './history.ts';
import { readLogView, readRecords } from './read-log-view.ts';
import { type Invocation, type TurnContext, TurnError, type TurnOutcome } from './turn.ts';

/**
 * Runs a new turn. Its start and all of its inputs are appended at once, where the caller expects the log to stand: until
 * then nothing is recorded, after it the turn can be gone on with whatever happens.
 * Source: agentsessions.v1 controller, live execution.
 * @throws TurnError; LogConflictError when the log stands elsewhere; StaleFenceError when the session was taken over;
 *   HarnessUnavailableError
 */
export async function runTurn(
  context: TurnContext,
  invocation: Invocation,
  signal: AbortSignal,
): Promise<TurnOutcome> {
  const { uid, log, ids } = context;
  const records = await readRecords(log, uid);
  const view = await (context.viewUpTo?.(records.length) ?? readLogView(log, uid, { to: records.length }));
  if (view.blockingApproval) throw approvalBlocked(uid, view.blockingApproval.call.tool);
  const descriptor = await describeHarness(context, signal);

  const { inputs, config, resumeFromSeq, expected } = invocation;
  const history = await historyUpTo(log, records, expected);
  const executionId = newExecutionId(ids);
  const start = executionStart(executionId, {
    inputCount: inputs.length,
    harness: context.harnessName || descriptor.id,
    harnessVersion: descriptor.version,
    resumeFromSeq,
    config,
  });
  const begun = await new EffectLog(context).append(
    [start, ...inputs.map((message) => input(executionId, message))],
    { expected },
  );
  return await driveTurn(
    context,
    {
      start: {
        session: uid,
        executionId,
        // As they are recorded: a resume gives the harness the same.
        inputs: begun.flatMap(({ event: { body } }) => (body.case === 'message' ? [body.value] : [])),
        config,
        resumeFromSeq,
        history,
        recorded: [],
      },
      executionId,
      descriptor,
      effects: [],
    },
    signal,
  );
}

function approvalBlocked(uid: string, tool: string): TurnError {
  return new TurnError(
    'approval-blocked',
    `${uid} has a call of ${JSON.stringify(tool)} that is not settled`,
    {
      next: 'approve or deny it and resume the session, or cancel the turn',
    },
  );
}
