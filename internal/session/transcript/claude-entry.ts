import { type Fields, isFields } from '../../platform/fields.ts';
import type { ClaudeNode } from './claude-index.ts';
import type { TranscriptEntry, TranscriptPart } from './transcript-reader.ts';

const SHOWN: readonly string[] = ['user', 'assistant', 'system', 'result'];

export function isShown(node: ClaudeNode): boolean {
  return SHOWN.includes(node.type);
}

/** A line of Claude Code's transcript as an entry, `undefined` for a kind that is not shown. */
export function toClaudeEntry(node: ClaudeNode, value: unknown): TranscriptEntry | undefined {
  if (!isShown(node) || !isFields(value)) return undefined;
  return {
    id: node.uuid,
    type: node.type as TranscriptEntry['type'],
    at: typeof value['timestamp'] === 'string' ? value['timestamp'] : '',
    compactBoundary: node.compactBoundary,
    parts: partsOf(value),
  };
}

function partsOf(entry: Fields): readonly TranscriptPart[] {
  const message = unwrapped(entry['message']);
  const content = isFields(message) ? message['content'] : (message ?? entry['content'] ?? entry['result']);
  if (typeof content === 'string') return content === '' ? [] : [{ kind: 'text', text: content }];
  if (!Array.isArray(content)) return [];
  return content.flatMap((block: unknown) => (isFields(block) ? partOf(block) : []));
}

/** Some versions write the message as a JSON text. */
function unwrapped(message: unknown): unknown {
  if (typeof message !== 'string' || !message.startsWith('{')) return message;
  try {
    return JSON.parse(message) as unknown;
  } catch {
    // A text that only looks like JSON is a text.
    return message;
  }
}

function partOf(block: Fields): readonly TranscriptPart[] {
  const text = (key: string): string => (typeof block[key] === 'string' ? block[key] : '');
  switch (block['type']) {
    case 'text':
      return text('text') === '' ? [] : [{ kind: 'text', text: text('text') }];
    case 'thinking':
      return text('thinking') === '' ? [] : [{ kind: 'thinking', text: text('thinking') }];
    case 'tool_use':
      return [{ kind: 'tool-use', id: text('id'), name: text('name'), input: block['input'] }];
    case 'tool_result':
      return [
        {
          kind: 'tool-result',
          id: text('tool_use_id'),
          error: block['is_error'] === true,
          text: resultText(block['content']),
        },
      ];
    case 'image':
    case 'document':
      return [{ kind: 'attachment', what: text('type') }];
    default:
      return [];
  }
}

function resultText(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .flatMap((block: unknown) =>
      isFields(block) && typeof block['text'] === 'string' ? [block['text']] : [],
    )
    .join('\n');
}
