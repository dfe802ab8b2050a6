import type { HarnessDescriptor } from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import type { ExecutionView } from './log-view.ts';
import { TurnError } from './turn.ts';

/**
 * Whether a turn can be run again from its records. A canceled one is not: it may have been cut anywhere.
 * Source: agentsessions.v1, validation of executions.
 * @throws TurnError `invalid-log`, `incomplete-invocation`
 */
export function checkInvocation(execution: ExecutionView): void {
  const { id, start, inputCount, end, damage } = execution;
  if (end?.state === 'CANCELED') return;
  if (damage !== undefined) throw new TurnError('invalid-log', `execution ${id}: ${damage}`);
  if (!start) return;
  const { inputCount: wanted } = start;
  if (wanted === undefined || wanted < 0n)
    throw new TurnError('invalid-log', `execution ${id} does not say how many inputs it has`);
  const missing = Number(wanted) - inputCount;
  if (missing === 0) return;
  if (missing > 0 && !end) {
    throw new TurnError(
      'incomplete-invocation',
      `execution ${id} was cut before all of its inputs were there`,
      {
        next: 'run a new turn with all inputs',
      },
    );
  }
  throw new TurnError('invalid-log', `execution ${id} has ${inputCount} inputs and says ${wanted}`);
}

/** @throws TurnError `harness-mismatch` */
export function checkHarnessName({ id, start }: ExecutionView, name: string): void {
  const recorded = start?.harness ?? '';
  if (recorded === '' || recorded === name) return;
  throw new TurnError(
    'harness-mismatch',
    `execution ${id} was run by ${quoted(recorded)}, not by ${quoted(name)}`,
  );
}

/** The version guards nothing when the log has none. @throws TurnError `harness-mismatch` */
export function checkHarness({ id, start }: ExecutionView, { version }: HarnessDescriptor): void {
  const recorded = start?.harnessVersion ?? '';
  if (recorded === '' || recorded === version) return;
  throw new TurnError(
    'harness-mismatch',
    `execution ${id} was run by version ${quoted(recorded)} of the harness, which is now ${quoted(version)}`,
    { next: 'serve that version again, or begin a new turn' },
  );
}

const quoted = (text: string): string => JSON.stringify(text);
