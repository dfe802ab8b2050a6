import type { NudgeRow } from '../beads/sqlite/inbox-table.ts';
import type { NewEvent } from '../events/event.ts';
import { CONTROLLER_ACTOR } from '../events/event-types.ts';

/** What is told of an outcome; nothing when the sender is told anyway. Messages themselves are never in events. */
export function outcomeEvent(row: NudgeRow, told: boolean): NewEvent | undefined {
  switch (row.state) {
    case 'accepted':
      return told ? undefined : eventOf('nudge.delivered', row, row.lastError || 'it took it');
    case 'expired':
      return eventOf('nudge.expired', row, row.lastError);
    case 'dead':
      return eventOf('nudge.dead', row, row.lastError);
    case 'queued':
    case 'leased':
    case 'typed':
    case 'refused':
      return undefined;
  }
}

/** Its sender was told that it waits. */
export function queuedEvent(row: NudgeRow, why: string): NewEvent {
  return { ...eventOf('nudge.queued', row, why), actor: row.sender };
}

function eventOf(type: string, row: NudgeRow, message: string): NewEvent {
  const { id, sender, source, attempts } = row;
  return {
    type,
    actor: CONTROLLER_ACTOR,
    subject: row.agent,
    message,
    payload: { id, sender, source, attempts, session_name: row.sessionName },
  };
}
