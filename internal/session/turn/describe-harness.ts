import { messageOf } from '../../platform/errors.ts';
import {
  type HarnessDescriptor,
  Resumability,
} from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import { HarnessUnavailableError } from './harness-errors.ts';
import { type TurnContext, TurnError } from './turn.ts';
import { untilAborted } from './until-aborted.ts';

/** Milliseconds that a harness has to describe itself. Source: agentsessions.v1 admission. */
export const DESCRIBE_TIMEOUT_MS = 10_000;

/**
 * Asks a harness what it is, and does not wait for ever.
 * @throws HarnessUnavailableError when it does not answer in time, TurnError `canceled` when the signal aborts first; its own
 *   error when it answers with one
 */
export async function describeHarness(
  { harness, harnessName: name, clock }: Pick<TurnContext, 'harness' | 'harnessName' | 'clock'>,
  signal: AbortSignal,
): Promise<HarnessDescriptor> {
  if (signal.aborted) throw canceled(signal);
  const done = new AbortController();
  const late = new HarnessUnavailableError(
    JSON.stringify(name),
    `did not describe itself within ${DESCRIBE_TIMEOUT_MS / 1_000} s`,
  );
  const limit = clock.sleep(DESCRIBE_TIMEOUT_MS, done.signal).then(
    () => done.abort(late),
    () => undefined,
  );
  const either = AbortSignal.any([signal, done.signal]);
  try {
    return await untilAborted(harness.describe(either), either);
  } catch (error) {
    if (signal.aborted) throw canceled(signal);
    if (done.signal.aborted) throw late;
    throw error;
  } finally {
    done.abort();
    await limit;
  }
}

/** A harness whose state is not in the log but in its memory. */
export function needsMemory(descriptor: HarnessDescriptor): boolean {
  return descriptor.capabilities?.resumability === Resumability.REQUIRES_MEMORY_SNAPSHOT;
}

export function canceled(signal: AbortSignal): TurnError {
  return new TurnError('canceled', `canceled: ${messageOf(signal.reason)}`, {
    cause: signal.reason,
    next: 'resume the session to go on with the turn',
  });
}
