import type { NudgeReply } from '../../../internal/controller/city-api.ts';
import { shortDuration } from '../../../internal/platform/duration.ts';
import { GcError, unreachable } from '../../../internal/platform/errors.ts';
import { shellWord } from './words.ts';

/**
 * The line about a nudge that arrived. Into a pipe it starts with `Nudged <session>`, which scripts match.
 * @throws GcError for every outcome that is not a delivery
 */
export function nudgeText(reply: NudgeReply, forPerson: boolean): string {
  const { session, outcome } = reply;
  const name = shellWord(session);
  switch (outcome.kind) {
    case 'delivered': {
      const took = shortDuration(outcome.tookMs);
      if (outcome.verified) {
        return forPerson ? `${session} took it (submitted in ${took})\n` : `Nudged ${session}\n`;
      }
      return forPerson
        ? `sent to ${session} in ${took}; nothing on its screen confirms that it was taken    gc session peek ${name}\n`
        : `Nudged ${session} (not confirmed by its screen)\n`;
    }
    case 'no-session':
      throw new GcError('session-not-running', `session "${session}" is not running`, {
        next: `gc session wake ${name}`,
      });
    case 'empty':
      throw new GcError('empty-message', 'the message is empty; nothing was sent');
    case 'busy':
      throw new GcError('agent-busy', `${session} is busy: ${outcome.detail}; nothing was typed`, {
        next: `gc nudge ${name} --wait 10m ..., or gc session nudge ${name} --delivery immediate ...`,
      });
    case 'unsubmitted':
      throw new GcError(
        'nudge-unsubmitted',
        `the text sits unsubmitted in the composer of ${session}: ${outcome.detail}`,
        { next: `gc session attach ${name}` },
      );
    case 'failed':
      throw new GcError('nudge-failed', `${session} did not get it: ${outcome.detail}`, {
        next: `gc session peek ${name}`,
      });
    default:
      return unreachable(outcome);
  }
}
