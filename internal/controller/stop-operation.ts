import type { WorkView } from '../beads/work.ts';
import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import { InteractionUnsupportedError } from '../runtime/errors.ts';
import { canInteract } from '../runtime/provider.ts';
import type { SessionRecord } from '../session/record.ts';
import { endingOf } from './endings.ts';
import type { ExecutorContext } from './executor.ts';
import type { StopReason } from './model.ts';
import { AbortReason } from './operation.ts';
import type { Action } from './plan.ts';
import { isHeldBack } from './pool-record.ts';
import { endingWrite, storedDecision } from './record-changes.ts';
import { STOP_INTENT_KEY, stopIntent } from './session-facts.ts';
import { RECORD_TYPES } from './work-facts.ts';

export type StopAction = Extract<Action, { kind: 'stop' }>;

/** Between TERM and KILL. */
export const STOP_GRACE_MS = 5_000;

/** Records that the end is meant, unless the record says something else by now; ends the session, records that it ended. */
export async function runStop(context: ExecutorContext, action: StopAction): Promise<void> {
  const { record, sessionName, reason, detail, instanceToken } = action;
  if (record && reason === 'idle-timeout' && (await asksPerson(context, record))) return;
  if (record && stopIntent(record) !== reason && !(await meanToStop(context, record, reason)))
    throw new AbortReason('cancelled');
  const lastLines = reason === 'no agent in it' ? await lastScreen(context, sessionName) : '';
  const token = instanceToken === '' ? {} : { instanceToken };
  await context.provider.stop(sessionName, { graceMs: STOP_GRACE_MS, ...token });
  if (record) await recordStopped(context, record.id, reason, { detail, lastLines });
}

/** Ends that nobody asked for: work that was taken a moment ago comes first. */
const FOR_WANT_OF_WORK: ReadonlySet<StopReason> = new Set(['no-wake-reason', 'idle', 'orphaned']);

/**
 * Writes down that the end is meant; `false`: it has work in its hands since it was decided. One transaction where work
 * is in the city's database; the last look before it where work is in a file.
 */
async function meanToStop(
  { db, work }: ExecutorContext,
  record: SessionRecord,
  reason: StopReason,
): Promise<boolean> {
  const works = (view: Pick<WorkView, 'list' | 'ready'>) =>
    FOR_WANT_OF_WORK.has(reason) && hasWork(view, record, reason);
  const inFile = work.kind === 'file' && (await work.look(works));
  return db.transaction((tx) => {
    if (inFile || (work.kind === 'database' && works(tx.beads))) {
      const why = `${reason}: it has taken work meanwhile`;
      tx.recordDecision({ sessionId: record.id, what: 'keep', why, inputs: {} });
      return false;
    }
    tx.beads.update(record.id, { metadata: { [STOP_INTENT_KEY]: reason } }, record.revision);
    return true;
  });
}

/** A worker of a pool is kept for work that has yet to become ready, too: it is the only one that will do it. */
function hasWork(view: Pick<WorkView, 'list' | 'ready'>, record: SessionRecord, reason: StopReason): boolean {
  if (isHeldBack(record)) return false;
  const names = [record.id, record.sessionName, record.alias, record.namedIdentity];
  const comesBack = record.namedIdentity !== '' || record.origin === 'manual' || reason === 'idle';
  return [...new Set(names)]
    .filter((name) => name !== '')
    .some((assignee) => {
      const query = { assignee, notTypes: RECORD_TYPES, limit: 1 };
      if (view.list({ ...query, status: 'in_progress' }).length > 0) return true;
      const open = comesBack ? view.ready(query) : view.list({ ...query, status: 'open' });
      return open.length > 0;
    });
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
