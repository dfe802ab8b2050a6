import { type Fields, fieldsOf } from '../../platform/fields.ts';
import { toClaudeEntry } from './claude-entry.ts';
import { toNode } from './claude-index.ts';
import type { ObservedEntry } from './observed.ts';
import type { TranscriptPart } from './transcript-reader.ts';

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const countOf = (value: unknown): number => (typeof value === 'number' && value > 0 ? Math.floor(value) : 0);

/** With these an answer is the last one of its turn. */
const ENDING_STOPS: readonly string[] = ['end_turn', 'stop_sequence', 'max_tokens', 'refusal'];
/** What the program itself wrote in a person's name about commands of its own. */
const LOCAL_COMMAND = /^\s*<(command-name|command-message|local-command-[a-z]+|bash-[a-z]+)>/;
const INTERRUPTED = /^\[Request interrupted by user/;

/**
 * What a line of Claude Code's transcript tells of the conversation. Helper agents' side chains, notes to the model and
 * local commands are left out. Source: the files that Claude Code 2.1 writes.
 */
export function claudeObserved(line: unknown): { entries: readonly ObservedEntry[]; at: number } {
  const node = toNode(line, 0, 0);
  const fields = fieldsOf(line);
  if (!node || node.sidechain || fields['isMeta'] === true || fields['isCompactSummary'] === true) {
    return { entries: [], at: 0 };
  }
  return { entries: entriesOf(node.type, node.uuid, node.at, fields, line), at: node.at };
}

function entriesOf(
  type: string,
  id: string,
  at: number,
  fields: Fields,
  line: unknown,
): readonly ObservedEntry[] {
  switch (type) {
    case 'user':
      return userEntries(id, at, partsOf(line));
    case 'assistant':
      return assistantEntries(id, fields, partsOf(line));
    case 'system':
      return systemEntries(id, fields);
    case 'attachment': {
      const attachment = fieldsOf(fields['attachment']);
      if (attachment['type'] !== 'queued_command') return [];
      const text = promptText(attachment['prompt']);
      return text === '' || LOCAL_COMMAND.test(text) ? [] : [{ kind: 'prompt', id, at, text }];
    }
    default:
      return [];
  }
}

function partsOf(line: unknown): readonly TranscriptPart[] {
  const node = toNode(line, 0, 0);
  return (node && toClaudeEntry(node, line)?.parts) ?? [];
}

function userEntries(id: string, at: number, parts: readonly TranscriptPart[]): readonly ObservedEntry[] {
  const results = parts.flatMap((part): ObservedEntry[] =>
    part.kind === 'tool-result'
      ? [{ kind: 'tool-result', id, callId: part.id, error: part.error, text: part.text }]
      : [],
  );
  const text = parts
    .flatMap((part) =>
      part.kind === 'text' ? [part.text] : part.kind === 'attachment' ? [`[${part.what}]`] : [],
    )
    .join('\n');
  if (INTERRUPTED.test(text)) return [...results, { kind: 'turn-end', id, how: 'interrupted' }];
  const isPrompt = text !== '' && results.length === 0 && !LOCAL_COMMAND.test(text);
  return isPrompt ? [{ kind: 'prompt', id, at, text }] : results;
}

function assistantEntries(
  id: string,
  fields: Fields,
  parts: readonly TranscriptPart[],
): readonly ObservedEntry[] {
  const message = fieldsOf(fields['message']);
  const said = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n');
  if (fields['isApiErrorMessage'] === true) return [{ kind: 'failure', id, text: said || 'API error' }];
  const calls = parts.flatMap((part): ObservedEntry[] =>
    part.kind === 'tool-use'
      ? [{ kind: 'tool-call', id, callId: part.id, name: part.name, input: part.input }]
      : [],
  );
  const ends = ENDING_STOPS.includes(textOf(message['stop_reason'])) && calls.length === 0;
  const answer: readonly ObservedEntry[] = said === '' ? [] : [{ kind: 'answer', id, text: said, ends }];
  return [...usageOf(message), ...answer, ...calls];
}

/** Every line of one answer repeats what the whole took. */
function usageOf(message: Fields): readonly ObservedEntry[] {
  const usage = fieldsOf(message['usage']);
  const id = textOf(message['id']);
  const input =
    countOf(usage['input_tokens']) +
    countOf(usage['cache_creation_input_tokens']) +
    countOf(usage['cache_read_input_tokens']);
  const output = countOf(usage['output_tokens']);
  if (id === '' || input + output === 0) return [];
  return [{ kind: 'usage', id, model: textOf(message['model']), input, output, reasoning: 0 }];
}

function systemEntries(id: string, fields: Fields): readonly ObservedEntry[] {
  switch (fields['subtype']) {
    case 'turn_duration':
      return [{ kind: 'turn-end', id, how: 'completed' }];
    case 'compact_boundary': {
      const about = fieldsOf(fields['compactMetadata']);
      const tokens = about['preTokens'];
      return [
        {
          kind: 'compacted',
          id,
          trigger: textOf(about['trigger']),
          tokensBefore: typeof tokens === 'number' ? tokens : undefined,
        },
      ];
    }
    default:
      return [];
  }
}

function promptText(prompt: unknown): string {
  if (typeof prompt === 'string') return prompt;
  if (!Array.isArray(prompt)) return '';
  return prompt.map((block: unknown) => textOf(fieldsOf(block)['text'])).join('\n');
}
