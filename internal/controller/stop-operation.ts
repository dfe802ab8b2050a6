import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import { InteractionUnsupportedError } from '../runtime/errors.ts';
import { canInteract } from '../runtime/provider.ts';
import type { SessionRecord } from '../session/record.ts';
import { endingOf } from './endings.ts';
import type { ExecutorContext } from './executor.ts';
import type { Action } from './plan.ts';
import { endingWrite, storedDecision } from './record-changes.ts';
import { STOP_INTENT_KEY, stopIntent } from './session-facts.ts';

export type StopAction = Extract<Action, { kind: 'stop' }>;

/** Between TERM and KILL. */
export const STOP_GRACE_MS = 5_000;

/** Records that the end is meant, unless the record says something else by now; ends the session, records that it ended. */
export async function runStop(context: ExecutorContext, action: StopAction): Promise<void> {
  const { record, sessionName, reason, detail, instanceToken } = action;
  if (record && reason === 'idle-timeout' && (await asksPerson(context, record))) return;
  if (record && stopIntent(record) !== reason)
    await context.store.apply(
      record.id,
      { [STOP_INTENT_KEY]: reason },
      { expectedRevision: record.revision },
    );
  const lastLines = reason === 'no agent in it' ? await lastScreen(context, sessionName) : '';
  const token = instanceToken === '' ? {} : { instanceToken };
  await context.provider.stop(sessionName, { graceMs: STOP_GRACE_MS, ...token });
  if (record) await recordStopped(context, record.id, reason, { detail, lastLines });
}

/** What an agent that left its terminal said last: it tells why, and whether it is a limit or a stale conversation. */
async function lastScreen({ provider }: ExecutorContext, name: string): Promise<string> {
  // Advice only: the session is ended whatever its screen says.
  return provider.peek(name, LAST_SCREEN_LINES).catch(() => '');
}

const LAST_SCREEN_LINES = 50;

/**
 * Silence is no fault of an agent that waits for a person's answer: that is looked up only when it would cost a life.
 * The same question holds until the screen moves.
 */
async function asksPerson(context: ExecutorContext, record: SessionRecord): Promise<boolean> {
  const { provider, memory, clock, db } = context;
  if (!canInteract(provider) || stopIntent(record) === 'idle-timeout') return false;
  const asOf = clock.now();
  const pending = await provider.pending(record.sessionName).catch((error: unknown) => {
    if (error instanceof InteractionUnsupportedError) return undefined;
    throw error;
  });
  if (!pending) return false;
  memory.asksSince.set(record.sessionName, asOf);
  const inputs = { asks: pending.prompt ?? '' };
  await db.commit({
    decisions: [{ sessionId: record.id, what: 'keep', why: 'it waits for a person', inputs }],
  });
  return true;
}

/** From the record as it is now: a person may have asked for something else meanwhile. */
export async function recordStopped(
  context: Pick<ExecutorContext, 'db' | 'store' | 'ending'>,
  recordId: string,
  reason: StopAction['reason'],
  seen: { readonly detail?: string | undefined; readonly lastLines: string } = { lastLines: '' },
): Promise<SessionRecord> {
  const record = await context.store.get(recordId);
  const meant = stopIntent(record) ?? reason;
  const ending = endingOf(
    record,
    { cause: 'intended', reason: meant, exit: undefined, ...(meant === reason ? seen : { lastLines: '' }) },
    context.ending(),
  );
  await context.db.commit({
    beads: [endingWrite(record, ending)],
    events: ending.events.map((event) => ({ ...event, actor: CONTROLLER_ACTOR })),
    decisions: ending.decisions.map(storedDecision),
  });
  return context.store.get(recordId);
}
