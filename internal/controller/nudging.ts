import { GcError, unreachable } from '../platform/errors.ts';
import type { NudgeOutcome } from '../runtime/provider.ts';

/** An outcome that is not "delivered" is an error with its way out: nothing waits in a queue. */
export function requireDelivered(label: string, outcome: NudgeOutcome): NudgeOutcome {
  switch (outcome.kind) {
    case 'delivered':
      return outcome;
    case 'no-session':
      throw new GcError('session-not-active', `session ${label} is not active`, {
        next: `gc session wake ${label}`,
      });
    case 'empty':
      throw new GcError('nudge-empty', 'the message is empty: nothing was sent', {
        next: `gc nudge ${label} "text"`,
      });
    case 'busy':
      throw new GcError('session-busy', `session ${label} is busy: ${outcome.detail}; nothing was sent`, {
        next: `try again later, or look with gc session peek ${label}`,
      });
    case 'unsubmitted':
      throw new GcError('nudge-unsubmitted', `session ${label} did not take the message: ${outcome.detail}`, {
        next: `the text may stand in its input box: gc session attach ${label}`,
      });
    case 'failed':
      throw new GcError('nudge-failed', `session ${label} could not be nudged: ${outcome.detail}`, {
        next: `gc session peek ${label}`,
      });
    default:
      return unreachable(outcome);
  }
}
