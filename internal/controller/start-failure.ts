import { shortDuration } from '../platform/duration.ts';
import { GcError, messageOf } from '../platform/errors.ts';
import {
  DiedDuringStartupError,
  describeExit,
  RuntimeUnavailableError,
  SessionExistsError,
  SessionInitializingError,
  SessionNotFoundError,
  StartFailedError,
} from '../runtime/errors.ts';
import type { SessionRecord } from '../session/record.ts';
import { takeLimits } from './account-limits.ts';
import { type Ending, endingOf, type OwnDeath, ownEnding } from './endings.ts';
import type { ExecutorContext } from './executor.ts';
import type { Operation } from './operation.ts';
import { complains } from './plan-dead.ts';
import { isPoolManaged } from './pool-record.ts';
import { endingWrite, storedDecision } from './record-changes.ts';
import { startIncomplete } from './session-facts.ts';
import type { StartOutcome } from './start-operation.ts';

/** Lines of the screen that are kept as the reason of a start that did not become ready. */
const TIMED_OUT_LINES = 20;

/** What a failed start costs the session: nothing when it was not its fault. */
export async function commitStartFailure(
  context: ExecutorContext,
  operation: Operation,
  record: SessionRecord,
  error: unknown,
): Promise<StartOutcome> {
  if (isUndecided(context, operation, error)) return { kind: 'undecided', error };
  if (!(await isStillStarting(context, record))) return { kind: 'undecided', error };
  if (wasCutOff(error)) {
    await context.provider.stop(operation.sessionName, { instanceToken: record.instanceToken });
    const death = { cause: 'interrupted', exit: undefined, lastLines: '' } as const;
    await commitEnding(context, record, endingOf(record, death, context.ending()));
    return { kind: 'over', error };
  }
  if (error instanceof DiedDuringStartupError && isPoolManaged(record) && !complains(error.exit)) {
    // It may have done all its work meanwhile: the next pass decides that with a view of the work.
    context.memory.exits.set(operation.sessionName, { exit: error.exit, lastLines: error.lastLines });
    return { kind: 'over', error };
  }
  const death = await endedDeath(context, operation, record, error);
  await commitEnding(context, record, ownEnding(record, death, context.ending()));
  return { kind: 'failed', record, death, error };
}

/**
 * Whether the start is still what the record says. A controller that comes up beside a command takes up the command's start:
 * what that one thinks of it later means nothing for the session.
 */
export async function isStillStarting(
  { store }: Pick<ExecutorContext, 'store'>,
  record: SessionRecord,
): Promise<boolean> {
  const now = await store.get(record.id);
  if (now.revision === record.revision) return true;
  return !now.closed && now.instanceToken === record.instanceToken && startIncomplete(now);
}

/** A controller died in the middle of this start, which cannot be taken up: that is no fault of the agent. */
function wasCutOff(error: unknown): boolean {
  return error instanceof StartFailedError && error.code === 'prompt-uncertain';
}

async function commitEnding(context: ExecutorContext, record: SessionRecord, ending: Ending): Promise<void> {
  await context.db.commit({
    beads: [endingWrite(record, ending)],
    events: ending.events,
    decisions: ending.decisions.map(storedDecision),
    ...(ending.state ? { state: ending.state } : {}),
  });
  takeLimits(context.memory.accountLimits, ending.state);
}

/**
 * The name is taken, the runtime could not be asked or went as a whole, somebody called it off: the record stays in the
 * middle of its start, and the next look says what is there.
 */
function isUndecided(context: ExecutorContext, operation: Operation, error: unknown): boolean {
  const aborted = operation.aborted?.kind;
  return (
    aborted === 'cancelled' ||
    aborted === 'shutdown' ||
    context.lostDuring(operation) ||
    error instanceof RuntimeUnavailableError ||
    error instanceof SessionExistsError ||
    error instanceof SessionInitializingError ||
    error instanceof SessionNotFoundError
  );
}

/** Whatever half of it still lives is ended: half a start is none. What its screen showed last is the reason. */
async function endedDeath(
  context: ExecutorContext,
  operation: Operation,
  record: SessionRecord,
  error: unknown,
): Promise<OwnDeath> {
  if (error instanceof DiedDuringStartupError) {
    return {
      exit: error.exit,
      lastLines: error.lastLines,
      how: `${describeExit(error.exit)} during startup`,
    };
  }
  const name = operation.sessionName;
  // It may not have got as far as a screen.
  const shown = await context.provider.peek(name, TIMED_OUT_LINES).catch(() => '');
  const lastLines = shown || (error instanceof StartFailedError ? error.lastLines : '');
  // A back end that cannot even stop says less than what it said of the start, after which nothing is left anyway.
  await context.provider.stop(name, { instanceToken: record.instanceToken }).catch((cause: unknown) => {
    if (!(error instanceof StartFailedError)) throw cause;
  });
  const waited = shortDuration(context.time.lived() - operation.since);
  const how =
    operation.aborted?.kind === 'deadline' ? `not ready after ${waited}` : `start failed: ${withNext(error)}`;
  return { exit: undefined, lastLines, how };
}

/** What to do is said where the reason is read. What the agent printed stands below its message: it is among the last lines. */
function withNext(error: unknown): string {
  const [what = ''] = messageOf(error).split('\n');
  const next = error instanceof GcError ? error.next : undefined;
  return next === undefined ? what : `${what} (${next})`;
}
