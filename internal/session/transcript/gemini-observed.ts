import { type Fields, fieldsOf } from '../../platform/fields.ts';
import type { ObservedEntry } from './observed.ts';
import { blocksText, countOf, textOf, timeOf } from './values.ts';

/** What the program itself puts into the conversation in a person's name, and its own commands. */
const NOT_SAID = /^\s*(<session_context>|<hook_context>|[/?])/;

/**
 * What a message of a Gemini CLI conversation tells. A message is written again, whole, when its calls have their results.
 * Source: the files that Gemini CLI 0.61 writes, and the whole-file form of versions before.
 */
export function geminiObserved(value: unknown): { entries: readonly ObservedEntry[]; at: number } {
  const message = fieldsOf(value);
  const id = textOf(message['id']);
  const at = timeOf(textOf(message['timestamp']));
  if (id === '') return { entries: [], at: 0 };
  return { entries: entriesOf(message, id, at), at };
}

function entriesOf(message: Fields, id: string, at: number): readonly ObservedEntry[] {
  const text = contentText(message['content']);
  switch (message['type']) {
    case 'user':
      return text === '' || NOT_SAID.test(text) ? [] : [{ kind: 'prompt', id, at, text }];
    case 'gemini':
      return modelEntries(message, id, text);
    case 'error':
      return [{ kind: 'failure', id, text: text || 'error' }];
    default:
      return [];
  }
}

function modelEntries(message: Fields, id: string, text: string): readonly ObservedEntry[] {
  const calls = Array.isArray(message['toolCalls']) ? message['toolCalls'].map(fieldsOf) : [];
  const answer: readonly ObservedEntry[] = text === '' ? [] : [{ kind: 'answer', id, text, ends: false }];
  return [...usageOf(message, id), ...answer, ...calls.flatMap((call) => callEntries(call, id))];
}

function callEntries(call: Fields, id: string): readonly ObservedEntry[] {
  const callId = textOf(call['id']) || id;
  const name = textOf(call['name']);
  const begun: ObservedEntry = { kind: 'tool-call', id, callId, name, input: call['args'] ?? {} };
  const status = textOf(call['status']);
  if (status !== 'success' && status !== 'error' && status !== 'cancelled') return [begun];
  const text = resultText(call);
  return [begun, { kind: 'tool-result', id, callId, error: status !== 'success', text }];
}

/** What the model was told, else what a person was shown. */
function resultText(call: Fields): string {
  const results = Array.isArray(call['result']) ? call['result'] : [call['result']];
  const told = results.map((result: unknown) => {
    const response = fieldsOf(fieldsOf(fieldsOf(result)['functionResponse'])['response']);
    return textOf(response['output']) || textOf(response['error']);
  });
  return told.filter((text) => text !== '').join('\n') || textOf(call['resultDisplay']);
}

/** What was served from a cache is counted in `input`. */
function usageOf(message: Fields, id: string): readonly ObservedEntry[] {
  const tokens = fieldsOf(message['tokens']);
  const input = countOf(tokens['input']);
  const output = countOf(tokens['output']);
  if (input + output === 0) return [];
  const reasoning = countOf(tokens['thoughts']);
  return [{ kind: 'usage', id, model: textOf(message['model']), input, output, reasoning }];
}

/** A text, a part, or a list of both. */
export function contentText(content: unknown): string {
  if (typeof content === 'string') return content;
  const parts = Array.isArray(content) ? content : [content];
  return parts
    .map((part: unknown) => (typeof part === 'string' ? part : blocksText([part])))
    .filter((text) => text !== '')
    .join('\n');
}
