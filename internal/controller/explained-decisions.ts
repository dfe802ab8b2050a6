import { DECISIONS_EXPLAINED, type DecisionLog, type LoggedDecision } from '../session/decision-log.ts';
import { STALE_LOOK } from './session-facts.ts';

/** As many as are kept of a session. */
const DECISIONS_KEPT = 50;

/**
 * The last decisions about a session, oldest first. That a look was older than what was just done holds for one pass
 * after every start and stop, and answers nobody's question: `gc trace` has it.
 */
export async function explainedDecisions(
  log: Pick<DecisionLog, 'last'>,
  sessionId: string,
): Promise<readonly LoggedDecision[]> {
  const kept = await log.last(sessionId, DECISIONS_KEPT);
  return kept
    .filter(({ what, why }) => what !== 'nothing' || !why.endsWith(STALE_LOOK))
    .slice(-DECISIONS_EXPLAINED);
}
