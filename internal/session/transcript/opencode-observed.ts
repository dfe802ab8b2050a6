import { type Fields, fieldsOf } from '../../platform/fields.ts';
import type { ObservedEntry } from './observed.ts';
import { countOf, textOf, timeOf } from './values.ts';

/** A message with its parts, as opencode keeps them apart. */
export interface OpencodeMessage {
  readonly id: string;
  readonly info: Fields;
  readonly parts: readonly OpencodePart[];
}

export interface OpencodePart {
  readonly id: string;
  readonly data: Fields;
}

/** The agent stopped saying something else than that it calls a tool. */
const GOES_ON: readonly string[] = ['', 'tool-calls', 'unknown'];

/** Nothing more is written to it. */
export function isDone({ info, parts }: OpencodeMessage): boolean {
  if (info['role'] !== 'assistant') return parts.length > 0;
  return fieldsOf(info['time'])['completed'] !== undefined || info['error'] !== undefined;
}

export const isAnswer = ({ info }: OpencodeMessage): boolean => info['role'] === 'assistant';

/**
 * What a message of opencode tells of the conversation. Source: the database of opencode 1.18 and the files of versions
 * before, which hold the same objects.
 */
export function opencodeObserved(message: OpencodeMessage): {
  entries: readonly ObservedEntry[];
  at: number;
} {
  const at = timeOf(fieldsOf(message.info['time'])['created']);
  return { entries: isAnswer(message) ? answerEntries(message) : promptEntries(message, at), at };
}

function promptEntries({ id, parts }: OpencodeMessage, at: number): readonly ObservedEntry[] {
  const compaction = parts.some(({ data }) => data['type'] === 'compaction');
  if (compaction) return [{ kind: 'compacted', id, trigger: '', tokensBefore: undefined }];
  const text = parts
    .map(({ data }) => saidText(data))
    .filter((said) => said !== '')
    .join('\n');
  return text === '' ? [] : [{ kind: 'prompt', id, at, text }];
}

/** What the program itself added is not said. */
function saidText(part: Fields): string {
  if (part['synthetic'] === true || part['ignored'] === true) return '';
  if (part['type'] === 'text') return textOf(part['text']);
  return part['type'] === 'file' ? `[${textOf(part['filename']) || 'file'}]` : '';
}

function answerEntries({ id, info, parts }: OpencodeMessage): readonly ObservedEntry[] {
  // A summary is what the model is told of what was said before.
  if (info['summary'] === true) return usageOf(info, id);
  const said = parts.flatMap(({ id: part, data }): readonly ObservedEntry[] => {
    const text = textOf(data['text']);
    if (data['type'] === 'tool') return toolEntries(data, part);
    return data['type'] === 'text' && text !== '' ? [{ kind: 'answer', id: part, text, ends: false }] : [];
  });
  return [...usageOf(info, id), ...said, ...endOf(info, id)];
}

function toolEntries(data: Fields, id: string): readonly ObservedEntry[] {
  const state = fieldsOf(data['state']);
  const callId = textOf(data['callID']) || id;
  const title = textOf(state['title']);
  const begun: ObservedEntry = {
    kind: 'tool-call',
    id,
    callId,
    name: textOf(data['tool']),
    ...(title === '' ? {} : { title }),
    input: state['input'] ?? {},
  };
  switch (state['status']) {
    case 'completed':
      return [begun, { kind: 'tool-result', id, callId, error: false, text: textOf(state['output']) }];
    case 'error':
      return [begun, { kind: 'tool-result', id, callId, error: true, text: textOf(state['error']) }];
    default:
      return [begun];
  }
}

function endOf(info: Fields, id: string): readonly ObservedEntry[] {
  const error = fieldsOf(info['error']);
  const name = textOf(error['name']);
  if (name === 'MessageAbortedError') return [{ kind: 'turn-end', id, how: 'interrupted' }];
  if (info['error'] !== undefined) {
    const text = textOf(fieldsOf(error['data'])['message']) || name || 'error';
    return [{ kind: 'failure', id, text }];
  }
  const isOver = fieldsOf(info['time'])['completed'] !== undefined;
  const goesOn = !isOver || GOES_ON.includes(textOf(info['finish']));
  return goesOn ? [] : [{ kind: 'turn-end', id, how: 'completed' }];
}

function usageOf(info: Fields, id: string): readonly ObservedEntry[] {
  const tokens = fieldsOf(info['tokens']);
  const cache = fieldsOf(tokens['cache']);
  const input = countOf(tokens['input']) + countOf(cache['read']) + countOf(cache['write']);
  const output = countOf(tokens['output']);
  if (input + output === 0) return [];
  const reasoning = countOf(tokens['reasoning']);
  return [{ kind: 'usage', id, model: textOf(info['modelID']), input, output, reasoning }];
}
