import { messageOf } from '../../../platform/errors.ts';
import { textMessage } from '../../../protocol/events.ts';
import {
  type Event,
  EventKind,
  type Message,
  ModelCallSchema,
} from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import {
  HarnessDescriptorSchema,
  Resumability,
} from '../../../protocol/generated/agentsessions/v1/harness_pb.ts';
import { create } from '../../../protocol/protobuf.ts';
import type { Harness } from '../harness.ts';
import { TurnError } from '../turn.ts';

/**
 * Asks the model once, with the whole conversation: what was said before in this session, then the inputs. The config of a
 * turn may be a JSON object with `system_prompt`.
 * Source: agentsessions.v1 chat harness.
 */
export function chatHarness({ model }: { readonly model: string }): Harness {
  return {
    observes: false,
    describe: async () =>
      create(HarnessDescriptorSchema, {
        id: 'chat',
        version: '1',
        models: [model],
        capabilities: { resumability: Resumability.STATELESS_REPLAY, forkSafe: true },
      }),
    run: async ({ config, history, inputs }, sink) => {
      const systemPrompt = systemPromptOf(config);
      const messages = [
        ...(systemPrompt === '' ? [] : [textMessage('system', systemPrompt)]),
        ...history.flatMap(said),
        ...inputs,
      ];
      await sink.model(create(ModelCallSchema, { model, messages }));
    },
  };
}

function said({ kind, body }: Event): readonly Message[] {
  const isSaid = kind === EventKind.EVENT_INPUT || kind === EventKind.EVENT_OUTPUT;
  return isSaid && body.case === 'message' ? [body.value] : [];
}

function systemPromptOf(config: Uint8Array): string {
  if (config.length === 0) return '';
  const parsed = parseConfig(config);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw badConfig('it is not a JSON object');
  if (!('system_prompt' in parsed)) return '';
  const { system_prompt: prompt } = parsed;
  if (typeof prompt !== 'string') throw badConfig('system_prompt is not a string');
  return prompt;
}

function parseConfig(config: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(config));
  } catch (error) {
    throw badConfig(messageOf(error));
  }
}

function badConfig(what: string): TurnError {
  return new TurnError('harness-failed', `the config of a chat turn: ${what}`, {
    next: 'give {"system_prompt": "..."} or nothing',
  });
}
