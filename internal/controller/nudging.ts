import type { NudgeRow } from '../beads/sqlite/inbox-table.ts';
import { GcError, unreachable } from '../platform/errors.ts';
import type { NudgeOutcome } from '../runtime/provider.ts';
import { UNCERTAIN, UNCONFIRMED } from '../session/inbox.ts';
import type { NudgeReply } from './city-api.ts';

/** An outcome that is not "delivered" is an error with its way out. @throws GcError */
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
        next: `leave it in the queue: gc nudge ${label} "text", or look with gc session peek ${label}`,
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

/** What is told of a message whose end was written down. @throws GcError unless it was accepted */
export function endedReply(row: NudgeRow): NudgeReply {
  const { agent, lastError, lastAttemptMs, endedMs } = row;
  if (row.state === 'accepted') {
    const tookMs = Math.max(0, (endedMs ?? lastAttemptMs) - lastAttemptMs);
    return { session: agent, outcome: { kind: 'delivered', tookMs, verified: lastError !== UNCONFIRMED } };
  }
  const next = `gc session peek ${agent}`;
  if (lastError.startsWith(UNCERTAIN)) {
    throw new GcError(
      'nudge-uncertain',
      `session ${agent} may have the message: ${lastError.slice(UNCERTAIN.length)}; it is not typed again`,
      { next: `look before you repeat it: ${next}` },
    );
  }
  throw new GcError('nudge-failed', `session ${agent} did not get the message: ${lastError}`, { next });
}
