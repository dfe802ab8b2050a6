import type { Bead, NewBead } from '../beads/store.ts';
import { parseRfc3339, rfc3339 } from '../platform/clock.ts';
import { countOf } from './record-codec.ts';
import { isOver, type Wait, type WaitState, waitKind } from './waits.ts';

/** Type and labels of the bead that is a wait. Source: Gas City. */
export const WAIT_BEAD_TYPE = 'gate';
export const WAIT_BEAD_LABEL = 'gc:wait';
const OLD_WAIT_BEAD_TYPE = 'wait';

export const waitSessionLabel = (sessionId: string): string => `session:${sessionId}`;

export function isWaitBead(bead: Bead): boolean {
  const isOfType = bead.issue_type === WAIT_BEAD_TYPE || bead.issue_type === OLD_WAIT_BEAD_TYPE;
  return isOfType && bead.labels.includes(WAIT_BEAD_LABEL);
}

const STATES: readonly string[] = ['pending', 'ready', 'closed', 'canceled', 'expired', 'failed'];

/** A typed look at a wait's bead. One that somebody else's hands closed is over, whatever its state says. */
export function toWait(bead: Bead): Wait {
  const text = (key: string): string => bead.metadata[key] ?? '';
  return {
    id: bead.id,
    revision: bead.revision,
    sessionId: text('session_id'),
    sessionName: text('session_name'),
    state: stateOf(bead, text('state')),
    note: bead.description,
    beads: idsIn(text('dep_ids')),
    sessions: idsIn(text('dep_session_ids')),
    until: parseRfc3339(text('until')),
    untilMoves: text('until_moves') === 'true',
    mode: text('dep_mode') === 'any' ? 'any' : 'all',
    sleeps: text('sleep') === 'true',
    epoch: text('registered_epoch'),
    attempt: Math.max(1, countOf(text('delivery_attempt'))),
    createdBy: text('created_by_session'),
    createdAt: parseRfc3339(text('created_at') || bead.created_at) ?? 0,
    expiresAt: parseRfc3339(text('expires_at')),
    nudgeId: text('nudge_id'),
    lastError: text('last_error'),
    retriedFrom: text('retried_from_wait'),
  };
}

function stateOf(bead: Bead, text: string): WaitState {
  const state = STATES.includes(text) ? (text as WaitState) : 'pending';
  return bead.status === 'closed' && !isOver(state) ? 'canceled' : state;
}

const idsIn = (text: string): readonly string[] =>
  text
    .split(',')
    .map((id) => id.trim())
    .filter((id) => id !== '');

/** A wait before it has an id. */
export type WaitDraft = Omit<Wait, 'id' | 'revision' | 'nudgeId' | 'lastError'>;

/** @param title of the session */
export function newWaitBead(wait: WaitDraft, title: string): NewBead {
  const fields: Readonly<Record<string, string>> = {
    session_id: wait.sessionId,
    session_name: wait.sessionName,
    kind: waitKind(wait),
    state: wait.state,
    dep_ids: wait.beads.join(','),
    dep_session_ids: wait.sessions.join(','),
    dep_mode: wait.mode,
    until: preciseTime(wait.until),
    until_moves: wait.untilMoves ? 'true' : '',
    sleep: wait.sleeps ? 'true' : '',
    registered_epoch: wait.epoch,
    delivery_attempt: String(wait.attempt),
    created_by_session: wait.createdBy,
    created_at: rfc3339(wait.createdAt),
    ready_at: wait.state === 'ready' ? rfc3339(wait.createdAt) : '',
    expires_at: preciseTime(wait.expiresAt),
    retried_from_wait: wait.retriedFrom,
  };
  return {
    title: `wait:${title}`,
    issue_type: WAIT_BEAD_TYPE,
    description: wait.note,
    labels: [WAIT_BEAD_LABEL, waitSessionLabel(wait.sessionId)],
    metadata: Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== '')),
  };
}

/** RFC 3339 with milliseconds: a short wait is not cut by up to a second. */
export function preciseTime(at: number | undefined): string {
  return at === undefined ? '' : new Date(at).toISOString();
}
