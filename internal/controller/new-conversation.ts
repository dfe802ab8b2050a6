import { CONTROLLER_ACTOR } from '../events/event-types.ts';
import { displayName } from '../session/display.ts';
import { NEW_CONVERSATION_KEY } from '../session/journal/facts.ts';
import type { SessionRecord } from '../session/record.ts';
import type { Effects } from '../session/session-store.ts';
import type { ResolvedDesired } from './model.ts';
import { type Conversation, canResume, forgets } from './start-config.ts';

/**
 * Why a conversation that should go on begins anew; `''` when it goes on, when a new one is what was asked for, and for
 * programs that are given no keys.
 */
export function whyAnew(desired: ResolvedDesired, record: SessionRecord, next: Conversation): string {
  const isNamed = next.key !== '' || desired.transport === 'acp';
  if (!next.first || !isNamed || desired.wakeMode !== 'resume' || !canResume(desired)) return '';
  const known = record.metadata[NEW_CONVERSATION_KEY] ?? '';
  if (known !== '' || record.continuationResetPending) return known;
  if (record.sessionKey !== '' && forgets(desired, record))
    return `its program cannot go on with conversation ${record.sessionKey}`;
  const isLost =
    record.startedConfigHash !== '' && record.sessionKey === '' && record.provider === desired.provider;
  return isLost ? 'the key of the one before is not on record' : '';
}

/** Nobody may have to find out by its answers that an agent remembers nothing. */
export function tellAnew(record: SessionRecord, why: string): Effects {
  if (why === '') return {};
  const message = `begins a new conversation: ${why}`;
  return {
    events: [{ type: 'session.updated', actor: CONTROLLER_ACTOR, subject: displayName(record), message }],
    decisions: [{ what: 'new conversation', why, inputs: {} }],
  };
}
