import { textMessage, textOf } from '../../../protocol/events.ts';
import { ModelCallSchema } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import {
  HarnessDescriptorSchema,
  Resumability,
} from '../../../protocol/generated/agentsessions/v1/harness_pb.ts';
import { create } from '../../../protocol/protobuf.ts';
import type { Harness } from '../harness.ts';

/** The name under which it asks, which every model provider here answers to. */
export const ECHO_MODEL = 'echo';

/** Asks the model once, with the text of the last input. Source: agentsessions.v1 echo harness. */
export const echoHarness: Harness = {
  observes: false,
  describe: async () =>
    create(HarnessDescriptorSchema, {
      id: 'echo',
      version: '1',
      models: [ECHO_MODEL],
      capabilities: { resumability: Resumability.STATELESS_REPLAY, forkSafe: true },
    }),
  run: async ({ inputs }, sink) => {
    const messages = [textMessage('user', textOf(inputs.at(-1)))];
    await sink.model(create(ModelCallSchema, { model: ECHO_MODEL, messages }));
  },
};
