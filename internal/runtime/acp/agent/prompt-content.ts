import { messageOf } from '../../../platform/errors.ts';
import { fieldsOf } from '../../../platform/fields.ts';
import type { WireAcpBlock } from '../../host/protocol.ts';
import { answeredError } from './connection.ts';
import { sayError } from './failures.ts';
import { oneLine } from './plain-text.ts';

const STOP_CHARS = 2_000;

/** A part of a prompt in the protocol's form. */
export function toContent(block: WireAcpBlock): object {
  return block.type === 'text'
    ? { type: 'text', text: block.text }
    : { type: 'resource_link', uri: block.uri, name: block.name };
}

/** How a turn ended, by the agent's answer. */
export function stopOf(answer: unknown): string {
  const { stopReason } = fieldsOf(answer);
  if (typeof stopReason === 'string') return oneLine(stopReason, STOP_CHARS);
  return 'error: it ended the turn without a reason';
}

/** How a turn ended that got no answer. Agents that were told to cancel may answer with any error. */
export function stopOfError(error: unknown, cancelled: boolean): string {
  const answered = answeredError(error);
  if (answered && cancelled) return 'cancelled';
  return `error: ${oneLine(answered ? sayError(answered) : messageOf(error), STOP_CHARS)}`;
}
