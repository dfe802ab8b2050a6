import type { NewDecision } from '../beads/sqlite/decision-table.ts';
import type { InteractionRow } from '../beads/sqlite/interaction-table.ts';
import type { NewEvent } from '../events/event.ts';
import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import { visibleText } from '../platform/visible-text.ts';
import { interactionId } from './interactions.ts';

const SHOWN_CHARS = 200;

/** What is asked, in one line; that there is more of it shows. */
export function questionLine({
  prompt,
  kind,
  tool,
}: Pick<InteractionRow, 'prompt' | 'kind' | 'tool'>): string {
  return firstLine(prompt || tool || kind);
}

/** The first line that says something, for a place that has room for one. */
export function firstLine(text: string): string {
  const [line = '', ...more] = visibleText(text)
    .split('\n')
    .filter((each) => each.trim() !== '');
  const shown = [...line.trim()].slice(0, SHOWN_CHARS).join('');
  return more.length > 0 || shown !== line.trim() ? `${shown} …` : shown;
}

/** What a change of a question is told as: an event for whoever follows, a decision for `explain` and the session's log. */
export interface Told {
  readonly event: NewEvent;
  readonly decision: NewDecision;
}

/** Words of `Told.decision.what` that the session's log knows. */
export const ASKED = 'asked';
export const ANSWERED = 'answered';
export const ANSWER_ENDED = 'answer-ended';

export function askedTold(row: InteractionRow): Told {
  const message = `asks ${interactionId(row)}: ${questionLine(row)}`;
  return told(row, ASKED, CONTROLLER_ACTOR, message, message);
}

/** Decided: by whom, and what. */
export function answeredTold(row: InteractionRow): Told {
  const said = row.choice.slice(0, SHOWN_CHARS);
  const actor = row.byKind === 'user' ? row.byId : CONTROLLER_ACTOR;
  return told(
    row,
    ANSWERED,
    actor,
    `answered "${questionLine(row)}": ${said}`,
    `${deciderText(row)} answered "${questionLine(row)}": ${said}`,
  );
}

/** Over: the agent has the answer, or there is nothing to answer any more. `undefined`: nobody needs to be told. */
export function endedTold(row: InteractionRow): Told {
  const id = interactionId(row);
  const message = row.state === 'applied' ? `${id}: it has its answer` : `${id} is over: ${row.error}`;
  return told(row, ANSWER_ENDED, CONTROLLER_ACTOR, message, message);
}

function told(row: InteractionRow, what: string, actor: string, message: string, why: string): Told {
  const { state, fingerprint, verdict, cause, source } = row;
  const id = interactionId(row);
  return {
    event: {
      type: 'session.updated',
      actor,
      subject: row.session,
      message,
      payload: { interaction: id, state, session_id: row.sessionId, ...(verdict === '' ? {} : { verdict }) },
    },
    decision: {
      sessionId: row.sessionId,
      what,
      why,
      inputs: {
        interaction: id,
        request_id: fingerprint,
        state,
        source,
        ...(row.tool === '' ? {} : { tool: row.tool }),
        ...(verdict === '' ? {} : { verdict, cause, by: row.byId }),
        ...(row.error === '' ? {} : { error: row.error }),
      },
    },
  };
}

/** `human`, `rule r3`, `the time limit`. */
export function deciderText({ byKind, byId, cause }: InteractionRow): string {
  if (byKind === 'rule') return `rule ${byId}`;
  if (cause === 'expired') return 'its time limit';
  return byId || 'gc';
}
