import { rfc3339 } from '../platform/clock.ts';
import type { AccountLimit } from '../session/account-limit.ts';
import {
  type ConversationGlance,
  contextPercent,
  oneLine,
} from '../session/transcript/conversation-glance.ts';
import type { SessionView } from './city-api.ts';

/** Why it gave up on its last turn is nearer to people than what it said before. */
export function saidLast(conversation: ConversationGlance | undefined): string {
  return oneLine(conversation?.failure?.text ?? '') || (conversation?.lastMessage ?? '');
}

export function conversationOf(glance: ConversationGlance | undefined): Pick<SessionView, 'conversation'> {
  if (!glance) return {};
  const { turn, lastMessage, lastMessageAt, model, contextTokens, contextWindow } = glance;
  const percent = contextPercent(glance);
  return {
    conversation: {
      turn,
      ...(lastMessage === '' ? {} : { last_message: lastMessage }),
      ...(lastMessageAt === 0 ? {} : { last_message_at: rfc3339(lastMessageAt) }),
      ...(glance.failure ? { failure: oneLine(glance.failure.text) } : {}),
      ...(model === '' ? {} : { model }),
      ...(contextTokens === undefined ? {} : { context_tokens: contextTokens }),
      ...(contextWindow === undefined ? {} : { context_window: contextWindow }),
      ...(percent === undefined ? {} : { context_percent: percent }),
    },
  };
}

/** `usage limit until 14:00`, in the machine's time zone. */
export function limitText(limit: AccountLimit | undefined): string {
  if (!limit?.stated) return 'usage limit';
  const at = new Date(limit.until);
  const two = (value: number): string => String(value).padStart(2, '0');
  return `usage limit until ${two(at.getHours())}:${two(at.getMinutes())}`;
}
