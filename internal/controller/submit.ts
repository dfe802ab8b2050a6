import { GcError } from '../platform/errors.ts';
import { InteractionUnsupportedError } from '../runtime/errors.ts';
import { canWaitForIdle } from '../runtime/provider.ts';
import { displayName } from '../session/display.ts';
import type { SessionRecord } from '../session/record.ts';
import type { CityApi, NudgeRequest } from './city-api.ts';
import type { CityEngine } from './city-engine.ts';
import type { DrainVerbs } from './drain-verbs.ts';
import { interruptSession } from './interrupt.ts';
import type { SessionVerbs } from './session-verbs.ts';
import type { SubmitIntent, SubmitReply, SubmitRequest } from './upkeep-api.ts';
import { requireAction, type Target } from './verb-context.ts';

/** How long the sender stands by while the agent is at work; then the message waits in the queue. */
const STAND_BY_MS = 30_000;
/** An interrupted agent comes to rest within this, or is told all the same. Source: Gas City. */
const REST_AFTER_INTERRUPT_MS = 15_000;

export interface SubmitDesk {
  readonly engine: CityEngine;
  readonly verbs: SessionVerbs;
  readonly actor: () => string;
  /** A controller of this process starts what sleeps, and delivers what waits. */
  readonly controlled: boolean;
  readonly drains: Pick<DrainVerbs, 'undrain'>;
  readonly api: Pick<CityApi, 'nudge' | 'questions'>;
}

/** Source: Gas City's intents; the spelling with `-` is that of its command line. @throws GcError `invalid-intent` */
export function submitIntent(word: string | undefined): SubmitIntent {
  switch (word ?? '') {
    case '':
    case 'default':
      return 'default';
    case 'follow_up':
    case 'follow-up':
      return 'follow_up';
    case 'interrupt_now':
    case 'interrupt-now':
      return 'interrupt_now';
    default:
      throw new GcError(
        'invalid-intent',
        `invalid submit intent ${JSON.stringify((word ?? '').slice(0, 40))} (want default, follow_up, or interrupt_now)`,
      );
  }
}

/**
 * Says something to an agent: for its next turn, after this turn, or instead of it. What it returns is committed.
 * @throws GcError `invalid-intent`, `pending-interaction`, why the session cannot be told anything
 */
export async function submitMessage(
  desk: SubmitDesk,
  target: string,
  request: SubmitRequest,
): Promise<SubmitReply> {
  const intent = submitIntent(request.intent);
  refuseEmpty(target, request.message);
  const found = await desk.verbs.target(target);
  const action = requireAction(found, 'submit');
  const isLive = found.kind === 'session' && (action === 'use-runtime' || action === 'cancel-drain');
  if (isLive && intent !== 'interrupt_now') await refusePending(desk, found.record);
  if (action === 'cancel-drain') await desk.drains.undrain(target);
  if (isLive && intent === 'follow_up') return tell(desk, target, { request, intent, delivery: 'queue' });
  if (isLive && intent === 'interrupt_now') {
    const interrupted = await endTurn(desk, target, found.record);
    return tell(desk, target, { request, intent, delivery: 'immediate', interrupted });
  }
  if (!isLive && startsFirst(desk, found)) await desk.verbs.ready(target, 'submit');
  return tell(desk, target, { request, intent, delivery: 'wait-idle' });
}

interface Telling {
  readonly request: SubmitRequest;
  readonly intent: SubmitIntent;
  readonly delivery: NonNullable<NudgeRequest['delivery']>;
  readonly interrupted?: boolean;
}

async function tell(desk: SubmitDesk, target: string, telling: Telling): Promise<SubmitReply> {
  const { request, intent, delivery, interrupted = false } = telling;
  const { message: text, id, sender } = request;
  const { session, outcome } = await desk.api.nudge(target, {
    text,
    wait_idle_ms: delivery === 'wait-idle' ? STAND_BY_MS : 0,
    delivery,
    ...(id === undefined ? {} : { id }),
    ...(sender === undefined ? {} : { sender }),
  });
  const told = await desk.verbs.target(target);
  const recordId = told.kind === 'session' ? told.record.id : '';
  return { id: recordId, session, intent, queued: outcome.kind === 'queued', interrupted, outcome };
}

function refuseEmpty(target: string, message: string): void {
  if (message.trim() !== '') return;
  throw new GcError('nudge-empty', 'the message is empty: nothing was sent', {
    next: `gc session submit ${target} "text"`,
  });
}

/** What is typed into an open question answers it. Where it cannot be told, the delivery looks again. */
async function refusePending({ api }: SubmitDesk, record: SessionRecord): Promise<void> {
  const [open] = (await api.questions(record.id)).items;
  if (!open) return;
  const label = displayName(record);
  throw new GcError('pending-interaction', `session ${label} has a pending interaction: ${open.prompt}`, {
    next: `gc session pending ${label}`,
  });
}

/** The inbox starts what sleeps by itself, where somebody keeps it; everything else is brought up before. */
function startsFirst({ controlled }: SubmitDesk, found: Target): boolean {
  if (found.kind === 'reserved') return !controlled;
  return found.state !== 'creating' && !(controlled && found.state === 'asleep');
}

/** Whether a turn was ended. One that does not come to rest in time is told all the same. */
async function endTurn(desk: SubmitDesk, target: string, record: SessionRecord): Promise<boolean> {
  const { engine, verbs, actor } = desk;
  try {
    await interruptSession({ engine, verbs, actor: actor() }, target);
  } catch (error) {
    if (error instanceof GcError && error.code === 'session-idle') return false;
    throw error;
  }
  const { provider } = engine.parts;
  if (canWaitForIdle(provider)) {
    await provider.waitForIdle(record.sessionName, REST_AFTER_INTERRUPT_MS).catch((error: unknown) => {
      if (!(error instanceof InteractionUnsupportedError)) throw error;
    });
  }
  return true;
}
