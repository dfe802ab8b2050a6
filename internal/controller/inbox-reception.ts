import type { NudgeDelivery } from '../beads/sqlite/inbox-table.ts';
import { displayName } from '../session/display.ts';
import { CREATING_STALE_MS, projectLifecycle } from '../session/lifecycle-projection.ts';
import type { SessionRecord } from '../session/record.ts';
import { type VerbState, verbState } from '../session/verb-state.ts';
import type { CityEngine } from './city-engine.ts';
import { requireAction, type Target } from './verb-context.ts';

/** How a message to a session is taken in. */
export type Reception =
  /** It is up, or comes up by itself: the message is given to it as soon as it can be. */
  | { readonly kind: 'deliver' }
  /** It is started for the message. */
  | { readonly kind: 'start' }
  /** The message waits until something else brings it up. */
  | { readonly kind: 'queue'; readonly why: string };

/** What keeps a session down without making a message to it senseless. */
const HELD: Partial<Readonly<Record<VerbState, string>>> = {
  suspended: 'it is suspended until gc session wake',
  'wait-hold': 'it sleeps until its wait is over',
  'backing-off': 'it ended and is tried again soon',
  quarantined: 'it is quarantined after ending too often',
  'usage-limit': 'its account reached a usage limit',
};

/** @throws GcError why such a message cannot even wait, or, sent `immediate`, cannot be given at once */
export function receptionOf(target: Target, delivery: NudgeDelivery, controlled: boolean): Reception {
  if (target.kind === 'reserved') {
    requireAction(target, 'nudge');
    if (delivery === 'immediate' || (delivery === 'wait-idle' && controlled)) return { kind: 'start' };
    return { kind: 'queue', why: controlled ? 'it is not up' : NO_CONTROLLER };
  }
  if (delivery === 'immediate') {
    return requireAction(target, 'nudge') === 'await-start' ? { kind: 'start' } : { kind: 'deliver' };
  }
  const { state } = target;
  if (target.sight.kind === 'unknown') {
    return { kind: 'queue', why: `it could not be looked at: ${target.sight.reason}` };
  }
  if (state === 'running' || state === 'draining') return { kind: 'deliver' };
  const held = HELD[state];
  if (held !== undefined) return { kind: 'queue', why: held };
  if (state !== 'asleep' && state !== 'creating') requireAction(target, 'nudge');
  if (!controlled) return { kind: 'queue', why: NO_CONTROLLER };
  if (state === 'creating') return { kind: 'deliver' };
  return delivery === 'queue' ? { kind: 'queue', why: 'it is asleep' } : { kind: 'start' };
}

const NO_CONTROLLER = 'the city is not running';

/** Down, and nothing but the lack of a reason keeps it there. */
export function standsAsleep(engine: CityEngine, record: SessionRecord): boolean {
  const now = engine.parts.clock.now();
  const lifecycle = projectLifecycle({
    record,
    runtime: 'gone',
    attached: false,
    pending: false,
    named: undefined,
    causes: [],
    missingConfig: !engine.city.agents.some((agent) => agent.qualifiedName === record.template),
    duplicateCanonical: false,
    preserve: true,
    now,
    creatingStaleMs: CREATING_STALE_MS,
  });
  return !record.closed && record.lastWokeAt === undefined && verbState(record, lifecycle, now) === 'asleep';
}

/** What identifies the receiver of a message. */
export function addressOf(target: Target, token: string) {
  if (target.kind === 'reserved') {
    return { agent: target.identity, sessionName: target.sessionName, boundSessionId: '', template: '' };
  }
  const { record } = target;
  return {
    agent: displayName(record),
    sessionName: record.sessionName,
    // An id names this very session, any other name whoever has it.
    boundSessionId: token === record.id ? record.id : '',
    // Nobody follows a session that was made by hand.
    template: record.origin === 'manual' ? '' : record.template,
  };
}
