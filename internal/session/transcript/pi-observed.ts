import { type Fields, fieldsOf } from '../../platform/fields.ts';
import type { ObservedEntry } from './observed.ts';
import { blocksText, countOf, textOf, timeOf } from './values.ts';

/**
 * What a line of a pi session tells of the conversation. Source: pi's description of its session files, versions 1 to 3,
 * and the files that pi 0.73 writes.
 * @param conversation its id: entries of the first version have none of their own
 */
export function piObserved(
  line: unknown,
  conversation: string,
  offset: number,
): { entries: readonly ObservedEntry[]; at: number } {
  const fields = fieldsOf(line);
  const stamp = textOf(fields['timestamp']);
  // Eight hex digits are unique within one file only; a copy into another file keeps the time.
  const own = textOf(fields['id']);
  const id = own === '' ? `${conversation}@${offset}` : `${own}:${stamp}`;
  return { entries: entriesOf(fields, id, timeOf(stamp)), at: timeOf(stamp) };
}

function entriesOf(fields: Fields, id: string, at: number): readonly ObservedEntry[] {
  switch (fields['type']) {
    case 'message':
      return messageEntries(fieldsOf(fields['message']), id, at);
    case 'model_change':
      return [{ kind: 'model', id, model: textOf(fields['modelId']) }];
    case 'compaction': {
      const tokens = fields['tokensBefore'];
      const tokensBefore = typeof tokens === 'number' ? tokens : undefined;
      return [{ kind: 'compacted', id, trigger: '', tokensBefore }];
    }
    default:
      return [];
  }
}

function messageEntries(message: Fields, id: string, at: number): readonly ObservedEntry[] {
  switch (message['role']) {
    case 'user': {
      const text = saidText(message['content']);
      return text === '' ? [] : [{ kind: 'prompt', id, at, text }];
    }
    case 'assistant':
      return assistantEntries(message, id);
    case 'toolResult': {
      const text = saidText(message['content']);
      const callId = textOf(message['toolCallId']);
      return [{ kind: 'tool-result', id, callId, error: message['isError'] === true, text }];
    }
    default:
      return [];
  }
}

function assistantEntries(message: Fields, id: string): readonly ObservedEntry[] {
  const content = Array.isArray(message['content']) ? message['content'].map(fieldsOf) : [];
  const calls = content
    .filter((block) => block['type'] === 'toolCall')
    .map(
      (block): ObservedEntry => ({
        kind: 'tool-call',
        id,
        callId: textOf(block['id']),
        name: textOf(block['name']),
        input: block['arguments'] ?? {},
      }),
    );
  const text = blocksText(content.filter((block) => block['type'] === 'text'));
  const stop = textOf(message['stopReason']);
  const ends = (stop === 'stop' || stop === 'length') && calls.length === 0;
  const answer: readonly ObservedEntry[] = text === '' ? [] : [{ kind: 'answer', id, text, ends }];
  return [...usageOf(message, id), ...answer, ...calls, ...endOf(message, stop, id, ends && text === '')];
}

function endOf(message: Fields, stop: string, id: string, endsSilently: boolean): readonly ObservedEntry[] {
  if (stop === 'error') return [{ kind: 'failure', id, text: textOf(message['errorMessage']) || 'error' }];
  if (stop === 'aborted') return [{ kind: 'turn-end', id, how: 'interrupted' }];
  return endsSilently ? [{ kind: 'turn-end', id, how: 'completed' }] : [];
}

function usageOf(message: Fields, id: string): readonly ObservedEntry[] {
  const usage = fieldsOf(message['usage']);
  const input = countOf(usage['input']) + countOf(usage['cacheRead']) + countOf(usage['cacheWrite']);
  const output = countOf(usage['output']);
  if (input + output === 0) return [];
  return [{ kind: 'usage', id, model: textOf(message['model']), input, output, reasoning: 0 }];
}

/** Pictures are named, not shown. */
function saidText(content: unknown): string {
  if (!Array.isArray(content)) return textOf(content);
  const blocks = content.map(fieldsOf);
  const pictures = blocks.filter((block) => block['type'] === 'image').map(() => '[image]');
  return [blocksText(blocks), ...pictures].filter((text) => text !== '').join('\n');
}
