import { messageOf } from '../platform/errors.ts';
import { InteractionUnsupportedError, SessionNotFoundError } from '../runtime/errors.ts';
import { canWaitForIdle } from '../runtime/provider.ts';
import type { SessionRecord } from '../session/record.ts';
import type { ExecutorContext } from './executor.ts';
import type { Operation } from './operation.ts';
import type { Action } from './plan.ts';
import {
  RUNTIME_DRAIN,
  RUNTIME_DRAIN_ACK,
  RUNTIME_DRAIN_ACK_SOURCE,
  RUNTIME_DRAIN_GENERATION,
  RUNTIME_DRAIN_REASON,
} from './session-facts.ts';

export type DrainAction = Extract<Action, { kind: 'drain' }>;

/** Where idleness cannot be told from a screen, this much silence stands for it. */
export const QUIET_MEANS_IDLE_MS = 10_000;

/** Tells the session that it is to end; may then wait until it is idle or its time is over. Ends nothing by itself. */
export async function runDrain(
  context: ExecutorContext,
  operation: Operation,
  action: DrainAction,
): Promise<void> {
  const { time, memory } = context;
  const name = action.sessionName;
  try {
    await setDrainFlags(context, action.record, action.reason);
    memory.drainTold.set(name, action.since);
    if (action.idleWithinMs === 0) return;
    const idle = await waitForIdle(context, operation, action);
    if (idle) memory.idleSince.set(name, time.lived());
  } catch (error) {
    // Something was said that ends the wait: the next pass acts on it at once.
    if (operation.aborted?.kind !== 'cancelled') throw error;
  }
}

/** How long one look for idleness may take: a screen without a known prompt has to stand still for two seconds. */
export const IDLE_PROBE_MS = 3_000;

/** Asks whether the agent is idle now, for a bounded moment. Nothing is said to it, and nothing ended. */
export async function runIdleProbe(
  context: ExecutorContext,
  operation: Operation,
  { sessionName }: Pick<DrainAction, 'sessionName'>,
): Promise<void> {
  const { time, memory } = context;
  const idle = await waitForIdle(context, operation, { sessionName, idleWithinMs: IDLE_PROBE_MS });
  memory.probedAt.set(sessionName, time.lived());
  if (idle) memory.idleSince.set(sessionName, time.lived());
  else memory.idleSince.delete(sessionName);
}

/** Agents poll for it with `gc runtime drain-check` and may finish early with `gc runtime drain-ack`. */
export async function setDrainFlags(
  { provider, clock }: Pick<ExecutorContext, 'provider' | 'clock'>,
  record: SessionRecord,
  reason: string,
): Promise<void> {
  const name = record.sessionName;
  await provider.setMeta(name, RUNTIME_DRAIN_REASON, reason);
  await provider.setMeta(name, RUNTIME_DRAIN_GENERATION, String(record.generation));
  await provider.setMeta(name, RUNTIME_DRAIN, String(Math.floor(clock.now() / 1_000)));
}

async function waitForIdle(
  context: ExecutorContext,
  operation: Operation,
  action: Pick<DrainAction, 'sessionName' | 'idleWithinMs'>,
): Promise<boolean> {
  const { provider } = context;
  if (!canWaitForIdle(provider)) return waitForQuiet(context, operation, action);
  try {
    return await provider.waitForIdle(action.sessionName, action.idleWithinMs, operation.signal);
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
  action: Pick<DrainAction, 'sessionName' | 'idleWithinMs'>,
): Promise<boolean> {
  const { provider, time, clock } = context;
  const deadline = time.lived() + action.idleWithinMs;
  while (time.lived() < deadline) {
    const last = await provider.getLastActivity(action.sessionName);
    if (last !== undefined && clock.now() - last >= QUIET_MEANS_IDLE_MS) return true;
    const pause = Math.min(deadline, time.lived() + QUIET_POLL_MS);
    await time.sleepUntil(pause, operation.signal);
  }
  return false;
}

const QUIET_POLL_MS = 1_000;

const DRAIN_FLAGS = [
  RUNTIME_DRAIN,
  RUNTIME_DRAIN_ACK,
  RUNTIME_DRAIN_ACK_SOURCE,
  RUNTIME_DRAIN_REASON,
  RUNTIME_DRAIN_GENERATION,
];

/** The drain was taken back: the session need not know of it any longer. Best effort, the flags are advice. */
export async function clearDrainFlags(
  context: Pick<ExecutorContext, 'provider'>,
  name: string,
): Promise<string[]> {
  const warnings: string[] = [];
  for (const flag of DRAIN_FLAGS) {
    await context.provider.removeMeta(name, flag).catch((error: unknown) => {
      warnings.push(messageOf(error));
    });
  }
  return warnings;
}
