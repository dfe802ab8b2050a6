import { type Fields, fieldsOf } from '../../platform/fields.ts';
import type { ObservedEntry } from './observed.ts';
import { blocksText, countOf, textOf, timeOf } from './values.ts';

/** What the program itself puts into the conversation in a person's name. */
const NOT_SAID = /^\s*(<[a-z_]+[ >]|# AGENTS\.md instructions)/;

/**
 * What a line of a Codex rollout tells of the conversation. Source: the files that Codex 0.171 writes.
 * @param conversation its id: entries of older versions have none of their own
 */
export function codexObserved(
  line: unknown,
  conversation: string,
  offset: number,
): { entries: readonly ObservedEntry[]; at: number } {
  const fields = fieldsOf(line);
  const payload = fieldsOf(fields['payload']);
  const at = timeOf(textOf(fields['timestamp']));
  const id = textOf(payload['id']) || `${conversation}@${offset}`;
  return { entries: entriesOf(textOf(fields['type']), payload, { id, at }), at };
}

interface Place {
  readonly id: string;
  readonly at: number;
}

function entriesOf(type: string, payload: Fields, place: Place): readonly ObservedEntry[] {
  const { id } = place;
  switch (type) {
    case 'response_item':
      return itemEntries(payload, place);
    case 'turn_context':
      return [{ kind: 'model', id, model: textOf(payload['model']) }];
    case 'token_usage_record':
      return usageOf(payload);
    case 'compacted':
      return [{ kind: 'compacted', id, trigger: '', tokensBefore: undefined }];
    case 'event_msg':
      return [...windowOf(payload, id), ...turnEnd(payload)];
    default:
      return [];
  }
}

/** Said at the beginning of a turn, and with each count of tokens. */
function windowOf(payload: Fields, id: string): readonly ObservedEntry[] {
  const info = payload['type'] === 'token_count' ? fieldsOf(payload['info']) : payload;
  const tokens = countOf(info['model_context_window']);
  return tokens === 0 ? [] : [{ kind: 'window', id, tokens }];
}

function turnEnd(payload: Fields): readonly ObservedEntry[] {
  const id = textOf(payload['turn_id']);
  if (payload['type'] === 'task_complete') {
    const { message } = fieldsOf(payload['error']);
    return [
      typeof message === 'string' ? failureOf(id, message) : { kind: 'turn-end', id, how: 'completed' },
    ];
  }
  if (payload['type'] === 'turn_aborted') return [{ kind: 'turn-end', id, how: 'interrupted' }];
  if (payload['type'] === 'error') {
    return [failureOf(id, textOf(payload['message']))];
  }
  return [];
}

const failureOf = (id: string, text: string): ObservedEntry => ({
  kind: 'failure',
  id,
  text: text || 'error',
});

function itemEntries(payload: Fields, { id, at }: Place): readonly ObservedEntry[] {
  const callId = textOf(payload['call_id']) || id;
  switch (payload['type']) {
    case 'message':
      return messageEntries(payload, id, at);
    case 'function_call':
      return [
        {
          kind: 'tool-call',
          id,
          callId,
          name: textOf(payload['name']),
          input: argumentsOf(payload['arguments']),
        },
      ];
    case 'custom_tool_call':
      return [
        {
          kind: 'tool-call',
          id,
          callId,
          name: textOf(payload['name']),
          input: { input: payload['input'] ?? '' },
        },
      ];
    case 'local_shell_call':
      return [{ kind: 'tool-call', id, callId, name: 'local_shell', input: payload['action'] ?? {} }];
    case 'function_call_output':
    case 'custom_tool_call_output':
    case 'local_shell_call_output': {
      const { text, error } = outputOf(payload['output']);
      return [{ kind: 'tool-result', id, callId, error, text }];
    }
    default:
      return [];
  }
}

function messageEntries(payload: Fields, id: string, at: number): readonly ObservedEntry[] {
  const text = blocksText(payload['content']);
  if (text === '') return [];
  if (payload['role'] === 'assistant') return [{ kind: 'answer', id, text, ends: false }];
  if (payload['role'] !== 'user' || !isSaid(payload, text)) return [];
  return [{ kind: 'prompt', id, at, text }];
}

/** Newer versions say where a text comes from; of older ones only its form tells. */
function isSaid(payload: Fields, text: string): boolean {
  const about = fieldsOf(payload['internal_chat_message_metadata_passthrough']);
  const kinds = about['content_item_kinds'];
  if (Array.isArray(kinds)) return kinds.some((kind) => textOf(kind).startsWith('user.'));
  return !NOT_SAID.test(text);
}

function usageOf(payload: Fields): readonly ObservedEntry[] {
  const usage = fieldsOf(payload['usage']);
  const id = textOf(payload['response_id']);
  const input = countOf(usage['input_tokens']);
  const output = countOf(usage['output_tokens']);
  if (id === '' || input + output === 0) return [];
  const reasoning = countOf(usage['reasoning_output_tokens']);
  return [{ kind: 'usage', id, model: '', input, output, reasoning }];
}

function argumentsOf(text: unknown): unknown {
  if (typeof text !== 'string') return text ?? {};
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return { arguments: text }; // not JSON: kept as it was said
  }
}

/** A text, a list of texts, or an object around one. */
function outputOf(output: unknown): { readonly text: string; readonly error: boolean } {
  if (typeof output === 'string') return { text: output, error: false };
  if (Array.isArray(output)) return { text: blocksText(output), error: false };
  const { content, success } = fieldsOf(output);
  return { text: blocksText(content), error: success === false };
}
