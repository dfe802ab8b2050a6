import { type Fields, fieldsOf } from '../../../platform/fields.ts';
import { codexConversations } from './codex-conversations.ts';
import type { CallEffect, Dialect, OutputParser, ProgramEffect, ResultEffect, RunMode } from './dialect.ts';
import { CommandError } from './errors.ts';
import { countIn, loggableObject, objectIn, textIn, textPart, wellFormed } from './lenient-json.ts';

/** Source: what Codex 0.171.0 prints when a conversation is gone. */
const LOST = /no rollout found for thread id/;
/** Items that do nothing: thoughts, plans, warnings. */
const QUIET_ITEMS: readonly string[] = ['reasoning', 'todo_list', 'error', 'agent_message'];

/** Codex without a terminal. Source: Codex 0.171.0, `codex exec --json`. */
export const codexDialect: Dialect = {
  kind: 'codex',
  version: '1',
  forkSafe: true,
  conversations: codexConversations,
  acceptsEmptyPrompt: false,
  argv: (args, mode) => ['exec', ...args, '--json', ...modeWords(mode), '-'],
  lost: (lines) => lines.some((line) => LOST.test(line)),
  parser: (run) => codexParser(run),
};

function modeWords(mode: RunMode): readonly string[] {
  switch (mode.kind) {
    case 'new':
      return [];
    case 'resume':
      return ['resume', mode.conversation];
    case 'branch':
      throw new CommandError('failed', 'Codex cannot branch off in the middle of a conversation by itself');
  }
}

export function codexParser(run: number): OutputParser {
  const begun = new Set<string>();
  let lastError = '';
  const itemEffects = (entry: Fields): readonly ProgramEffect[] => {
    const item = fieldsOf(entry['item']);
    const type = textIn(item, 'type');
    const over = entry['type'] === 'item.completed';
    if (type === 'agent_message' && over) {
      const text = wellFormed(textIn(item, 'text'));
      return text === '' ? [] : [{ kind: 'text', at: '', text }];
    }
    if (QUIET_ITEMS.includes(type) || textIn(item, 'id') === '') return [];
    // The program counts items anew in each run.
    const id = `run${run}-${textIn(item, 'id')}`;
    const call = begun.has(id) ? [] : [callOf(item, type, id)];
    begun.add(id);
    return over ? [...call, resultOf(item, id)] : call;
  };
  return {
    line: (text) => {
      const entry = objectIn(text);
      if (entry === undefined) return [];
      if (entry === 'broken') return [{ kind: 'broken' }];
      switch (entry['type']) {
        case 'thread.started':
          return [{ kind: 'conversation', conversation: textIn(entry, 'thread_id') }];
        case 'item.started':
        case 'item.completed':
          return itemEffects(entry);
        case 'turn.completed':
          return [usageOf(fieldsOf(entry['usage'])), { kind: 'end' }];
        case 'turn.failed':
          return [
            { kind: 'end', failure: wellFormed(textIn(fieldsOf(entry['error']), 'message')) || lastError },
          ];
        case 'error':
          lastError = wellFormed(textIn(entry, 'message')); // it may try again: what counts is how the turn ends
          return [];
        default:
          return [];
      }
    },
    exit: () => [],
  };
}

function callOf(item: Fields, type: string, id: string): CallEffect {
  const { id: _id, type: _type, status: _status, ...rest } = item;
  const {
    aggregated_output: _output,
    exit_code: _code,
    result: _result,
    error: _error,
    ...asked
  } = loggableObject(rest);
  const tool = type === 'mcp_tool_call' ? `${textIn(item, 'server')}.${textIn(item, 'tool')}` : type;
  return { kind: 'call', at: '', id, tool: wellFormed(tool), args: asked };
}

function resultOf(item: Fields, id: string): ResultEffect {
  const status = textIn(item, 'status');
  const code = item['exit_code'];
  const error = textIn(fieldsOf(item['error']), 'message');
  const result = item['result'];
  const texts = [
    textIn(item, 'aggregated_output'),
    typeof result === 'object' && result !== null ? JSON.stringify(loggableObject(result)) : '',
    error,
  ].filter((text) => text !== '');
  return {
    kind: 'result',
    at: '',
    id,
    content: texts.map((text) => textPart(text)),
    output: { status, ...(typeof code === 'number' ? { exit_code: code } : {}) },
    isError: status === 'failed' || status === 'declined' || (typeof code === 'number' && code !== 0),
  };
}

function usageOf(usage: Fields): ProgramEffect {
  return {
    kind: 'usage',
    model: '',
    input: countIn(usage, 'input_tokens'),
    output: countIn(usage, 'output_tokens'),
    reasoning: countIn(usage, 'reasoning_output_tokens'),
    cumulative: true,
  };
}
