import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import type { SessionRecord } from '../session/record.ts';
import { endingOf } from './endings.ts';
import type { ExecutorContext } from './executor.ts';
import type { Action } from './plan.ts';
import { endingWrite, storedDecision } from './record-changes.ts';
import { STOP_INTENT_KEY, stopIntent } from './session-facts.ts';

export type StopAction = Extract<Action, { kind: 'stop' }>;

/** Between TERM and KILL. */
export const STOP_GRACE_MS = 5_000;

/** Records that the end is meant, ends the session, records that it ended. */
export async function runStop(context: ExecutorContext, action: StopAction): Promise<void> {
  const { record, sessionName, reason, instanceToken } = action;
  if (record && stopIntent(record) !== reason)
    await context.store.apply(record.id, { [STOP_INTENT_KEY]: reason });
  const token = instanceToken === '' ? {} : { instanceToken };
  await context.provider.stop(sessionName, { graceMs: STOP_GRACE_MS, ...token });
  if (record) await recordStopped(context, record.id, reason);
}

/** From the record as it is now: a person may have asked for something else meanwhile. */
export async function recordStopped(
  context: Pick<ExecutorContext, 'db' | 'store' | 'ending'>,
  recordId: string,
  reason: StopAction['reason'],
): Promise<SessionRecord> {
  const record = await context.store.get(recordId);
  const meant = stopIntent(record) ?? reason;
  const ending = endingOf(
    record,
    { cause: 'intended', reason: meant, exit: undefined, lastLines: '' },
    context.ending(),
  );
  await context.db.commit({
    beads: [endingWrite(record, ending)],
    events: ending.events.map((event) => ({ ...event, actor: CONTROLLER_ACTOR })),
    decisions: ending.decisions.map(storedDecision),
  });
  return context.store.get(recordId);
}
