import type { SubmitIntent, SubmitReply, SubmitRequest } from '../../../internal/controller/upkeep-api.ts';
import { commandActor } from '../../../internal/events/event-types.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { isNamePattern } from '../../../internal/session/name-pattern.ts';
import { type Input, UsageError } from '../cli/input.ts';
import type { CommandRun } from '../cli/spec.ts';
import type { Context } from '../context.ts';
import { submittedText } from '../output/submit-text.ts';
import { onSessions } from './session-each.ts';

/** A request whose controller went away is made again with the same id: it is the same message. */
const REPEATS = 5;
const REPEAT_PAUSE_MS = 300;

export const runSessionSubmit: CommandRun = async (context, input) => {
  const intent = intentIn(input);
  const message = await messageIn(context, input.rest('message'));
  const token = input.arg('session');
  // Each receiver of a pattern gets a message of its own.
  const one = isNamePattern(token) ? undefined : newId();
  return onSessions<SubmitReply>(context, token, {
    done: 'told',
    act: (api, target) => {
      const request = { message, intent, id: one ?? newId(), sender: commandActor(context.env) };
      return repeated(context, () => api.upkeep.submit(target, request));
    },
    line: (reply) => submittedText(reply, context.out.isTTY),
    data: (reply) => reply,
  });
};

const newId = (): string => `nudge-${systemIds.hex(6)}`;

function intentIn(input: Input): SubmitIntent {
  const word = input.text('intent') ?? 'default';
  switch (word) {
    case 'default':
    case 'follow_up':
    case 'interrupt_now':
      return word;
    case 'follow-up':
      return 'follow_up';
    case 'interrupt-now':
      return 'interrupt_now';
    default:
      throw new UsageError(`invalid submit intent "${word}" (want default, follow_up, or interrupt_now)`);
  }
}

/** The words as one message; a single `-` is all of stdin, without its last line end. */
async function messageIn(context: Context, words: readonly string[]): Promise<SubmitRequest['message']> {
  const text = words.length === 1 && words[0] === '-' ? await context.readStdin() : words.join(' ');
  const message = text.replace(/\r?\n$/, '');
  if (message.trim() === '') throw new UsageError('the message is empty; nothing was sent');
  return message;
}

async function repeated<T>(context: Context, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const isLost = error instanceof GcError && error.code === 'controller-lost';
      if (!isLost || attempt === REPEATS) throw error;
    }
    await context.clock.sleep(REPEAT_PAUSE_MS, context.signal);
  }
}
