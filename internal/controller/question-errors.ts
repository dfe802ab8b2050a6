import type { InteractionRow } from '../beads/sqlite/interaction-table.ts';
import { shortDuration } from '../platform/duration.ts';
import { GcError } from '../platform/errors.ts';
import { deciderText } from '../session/interaction-events.ts';
import { interactionId } from '../session/interactions.ts';

const NEXT = { next: 'gc pending' };

/** Why it cannot be answered any more: somebody was first, its time is over, or nobody asks. */
export function overError(row: InteractionRow, now: number): GcError {
  const id = `${interactionId(row)} of ${row.session}`;
  const ago = shortDuration(now - (row.resolvedMs ?? row.endedMs ?? now));
  if (row.state === 'withdrawn') {
    return new GcError(
      'interaction-withdrawn',
      `${id} does not wait for an answer any more: ${row.error}`,
      NEXT,
    );
  }
  if (row.cause === 'expired') {
    return new GcError(
      'interaction-expired',
      `${id} had a time limit, which answered it ${ago} ago: ${row.choice}`,
      NEXT,
    );
  }
  return new GcError(
    'already-answered',
    `${id} was answered already: ${row.choice}, by ${deciderText(row)} ${ago} ago`,
    NEXT,
  );
}

/** Decided, and the agent did not get it. */
export function undeliveredError(row: InteractionRow): GcError {
  const id = `${interactionId(row)} of ${row.session}`;
  if (row.state === 'superseded') {
    return new GcError('interaction-withdrawn', `${id} was not answered: ${row.error}`, NEXT);
  }
  return new GcError('interaction-not-cleared', `${id} may not have got the answer: ${row.error}`, {
    next: `gc pending, gc session attach ${row.session}`,
  });
}

export function notFound(id: string): GcError {
  return new GcError(
    'interaction-not-found',
    `no question ${id} was asked in this city, or it is long over`,
    NEXT,
  );
}

export function foreign(row: InteractionRow, session: string): GcError {
  const id = interactionId(row);
  return new GcError('foreign-interaction', `${id} is a question of ${row.session}, not of ${session}`, {
    next: `gc session respond ${id} <choice>`,
  });
}

export function noPending(session: string): GcError {
  return new GcError('session-no-pending', `session ${session} has no pending interaction`, NEXT);
}

/** A provider's own id that is not the open question's. */
export function changed(session: string): GcError {
  return new GcError(
    'already-answered',
    `session ${session} does not ask that any more: it was answered already, or taken back`,
    NEXT,
  );
}
