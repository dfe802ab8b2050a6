import { messageOf } from '../platform/errors.ts';
import { InteractionUnsupportedError, SessionNotFoundError } from '../runtime/errors.ts';
import { canWaitForIdle } from '../runtime/provider.ts';
import type { ExecutorContext } from './executor.ts';
import type { Operation } from './operation.ts';
import type { Action } from './plan.ts';

export type DrainAction = Extract<Action, { kind: 'drain' }>;

/** Agents poll this flag (`gc runtime drain-check`) and may finish early with `gc runtime drain-ack`. */
const DRAIN_FLAG = 'GC_DRAIN';
const DRAIN_REASON_FLAG = 'GC_DRAIN_REASON';
const DRAIN_GENERATION_FLAG = 'GC_DRAIN_GENERATION';

/** Where idleness cannot be told from a screen, this much silence stands for it. */
export const QUIET_MEANS_IDLE_MS = 10_000;

/** Tells the session that it is to end, then waits until it is idle or its time is over. Ends nothing by itself. */
export async function runDrain(
  context: ExecutorContext,
  operation: Operation,
  action: DrainAction,
): Promise<void> {
  const { provider, time, memory } = context;
  const name = action.sessionName;
  await provider.setMeta(name, DRAIN_REASON_FLAG, action.reason);
  await provider.setMeta(name, DRAIN_GENERATION_FLAG, String(action.record.generation));
  await provider.setMeta(name, DRAIN_FLAG, String(Math.floor(context.clock.now() / 1_000)));
  const idle = await waitForIdle(context, operation, action);
  if (idle) memory.idleSince.set(name, time.lived());
}

async function waitForIdle(
  context: ExecutorContext,
  operation: Operation,
  action: DrainAction,
): Promise<boolean> {
  const { provider } = context;
  if (!canWaitForIdle(provider)) return waitForQuiet(context, operation, action);
  try {
    return await provider.waitForIdle(action.sessionName, action.leftMs, operation.signal);
  } catch (error) {
    if (error instanceof InteractionUnsupportedError) return waitForQuiet(context, operation, action);
    // It ended while we waited: the next pass sees that.
    if (error instanceof SessionNotFoundError) return false;
    throw error;
  }
}

async function waitForQuiet(
  context: ExecutorContext,
  operation: Operation,
  action: DrainAction,
): Promise<boolean> {
  const { provider, time, clock } = context;
  const deadline = time.lived() + action.leftMs;
  while (time.lived() < deadline) {
    const last = await provider.getLastActivity(action.sessionName);
    if (last !== undefined && clock.now() - last >= QUIET_MEANS_IDLE_MS) return true;
    const pause = Math.min(deadline, time.lived() + QUIET_POLL_MS);
    await time.sleepUntil(pause, operation.signal);
  }
  return false;
}

const QUIET_POLL_MS = 1_000;

/** The drain was taken back: the session need not know of it any longer. Best effort, the flags are advice. */
export async function clearDrainFlags(
  context: Pick<ExecutorContext, 'provider'>,
  name: string,
): Promise<string[]> {
  const warnings: string[] = [];
  for (const flag of [DRAIN_FLAG, DRAIN_REASON_FLAG, DRAIN_GENERATION_FLAG]) {
    await context.provider.removeMeta(name, flag).catch((error: unknown) => {
      warnings.push(messageOf(error));
    });
  }
  return warnings;
}
