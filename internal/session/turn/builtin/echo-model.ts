import { textMessage, textOf } from '../../../protocol/events.ts';
import { ModelResultSchema } from '../../../protocol/generated/agentsessions/v1/harness_pb.ts';
import { create } from '../../../protocol/protobuf.ts';
import type { ModelProvider } from '../harness.ts';

/** Answers `echo:` and the text of the last message, without a network. Source: agentsessions.v1 built-in model. */
export const echoModel: ModelProvider = {
  streams: false,
  complete: async ({ messages }) =>
    create(ModelResultSchema, { message: textMessage('assistant', `echo:${textOf(messages.at(-1))}`) }),
};
