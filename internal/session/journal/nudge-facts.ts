import type { NudgeRow, NudgeState } from '../../beads/sqlite/inbox-table.ts';
import type { NudgeChange } from '../../beads/sqlite/witness.ts';
import { CONTROLLER_ACTOR } from '../../events/event-types.ts';
import { rfc3339 } from '../../platform/clock.ts';
import { PROVEN_BY_HOOK, PROVEN_BY_TRANSCRIPT, UNCONFIRMED } from '../inbox.ts';
import type { CityFact, Evidence, NudgeFact } from './facts.ts';
import { keptText } from './kept-text.ts';

/** A fact with the source that makes it unique in its log. */
export interface SourcedFact {
  readonly source: string;
  readonly fact: CityFact;
}

/**
 * What a change of a message tells the log of its session. What was said is told when it comes in and, in case the session
 * had no log then, again under the same source before it is typed. Pure.
 */
export function nudgeFacts({ before, after }: NudgeChange, now: number): readonly SourcedFact[] {
  if (!before) return [said(after)];
  if (before.state === after.state) return [];
  const receipt = receiptOf(before.state, after);
  if (!receipt) return [];
  const { fact, evidence } = receipt;
  const told: SourcedFact = {
    source: `nudge:${after.id}:${after.state}:${after.fence}`,
    fact: { ...fact, at: rfc3339(now), actor: CONTROLLER_ACTOR, evidence },
  };
  return after.state === 'typed' ? [said(after), told] : [told];
}

function said(row: NudgeRow): SourcedFact {
  const { id, source, delivery, message, sender, createdMs } = row;
  return {
    source: `nudge:${id}`,
    fact: {
      kind: 'nudged',
      id,
      source,
      delivery,
      ...keptText(message),
      at: rfc3339(createdMs),
      actor: sender,
      evidence: 'record',
    },
  };
}

interface Receipt {
  readonly fact: NudgeFact;
  readonly evidence: Evidence;
}

function receiptOf(was: NudgeState, row: NudgeRow): Receipt | undefined {
  const { id, attempts, lastError: reason } = row;
  switch (row.state) {
    case 'typed':
      return {
        // What the screen showed before is noted where it is typed there; a hook needs no such note.
        fact: { kind: 'typed', id, attempt: attempts, way: row.evidence === '' ? 'hook' : 'terminal' },
        evidence: 'record',
      };
    case 'accepted':
      return {
        fact: { kind: 'accepted', id, attempts, ...(reason === '' ? {} : { reason }) },
        evidence: evidenceOf(reason),
      };
    case 'queued':
      return was === 'typed' ? { fact: { kind: 'returned', id, reason }, evidence: 'screen' } : undefined;
    case 'refused':
    case 'expired':
    case 'dead':
      return { fact: { kind: row.state, id, attempts, reason }, evidence: 'record' };
    case 'leased':
      return undefined;
  }
}

/** What showed that it was taken. A delivery without a note was seen on the screen. */
function evidenceOf(note: string): Evidence {
  if (note === PROVEN_BY_HOOK) return 'hook';
  if (note === PROVEN_BY_TRANSCRIPT) return 'transcript';
  return note === UNCONFIRMED ? 'none' : 'screen';
}
