import type { SubmitReply } from '../../../internal/controller/upkeep-api.ts';
import { onePlainLine } from './plain.ts';
import { shellWord } from './words.ts';

/** The line about what was submitted, without its line end. Source of the beginnings: Gas City; scripts match them. */
export function submittedText(reply: SubmitReply, forPerson: boolean): string {
  const { session, intent, outcome } = reply;
  const what = intent === 'follow_up' ? 'follow-up' : 'message';
  if (outcome.kind === 'queued') {
    const line = `Queued ${what} for ${session}`;
    if (!forPerson) return line;
    return `${line}: ${onePlainLine(outcome.why)}    gc nudge status ${shellWord(session)}`;
  }
  if (reply.interrupted) return `Interrupted and submitted to ${session}`;
  return intent === 'follow_up' ? `Submitted follow-up to ${session}` : `Submitted to ${session}`;
}
