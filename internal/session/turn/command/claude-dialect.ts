import { type Fields, fieldsOf } from '../../../platform/fields.ts';
import { effectsOfMessage } from './claude-blocks.ts';
import { claudeConversations } from './claude-conversations.ts';
import type { Dialect, OutputParser, ProgramEffect, RunMode } from './dialect.ts';
import { countIn, listOf, objectIn, textIn, wellFormed } from './lenient-json.ts';

/** Source: what Claude Code 2.1.197 prints when its conversation, or the message to branch off at, is gone. */
const LOST = /^No (conversation|message) found with /;

/** Claude Code in print mode. Source: Claude Code 2.1.197, `--output-format stream-json`. */
export const claudeDialect: Dialect = {
  kind: 'claude',
  version: '1',
  forkSafe: true,
  conversations: claudeConversations,
  acceptsEmptyPrompt: false,
  argv: (args, mode) => [
    ...args,
    '-p',
    '--output-format',
    'stream-json',
    '--verbose',
    '--include-partial-messages',
    ...modeFlags(mode),
  ],
  parser: () => claudeParser(),
};

function modeFlags(mode: RunMode): readonly string[] {
  switch (mode.kind) {
    case 'new':
      return mode.conversation === undefined ? [] : ['--session-id', mode.conversation];
    case 'resume':
      return ['--resume', mode.conversation];
    case 'branch':
      return [
        '--resume',
        mode.parent,
        '--resume-session-at',
        mode.message,
        '--fork-session',
        '--session-id',
        mode.conversation,
      ];
  }
}

export function claudeParser(): OutputParser {
  let spoke = false;
  return {
    line: (text) => {
      const entry = objectIn(text);
      if (entry === undefined) return [];
      if (entry === 'broken') return [{ kind: 'broken' }];
      const effects = effectsOf(entry);
      spoke ||= effects.some((effect) => effect.kind === 'text');
      // Commands of the program itself answer nowhere but here.
      const answer = spoke || !effects.some(isSuccess) ? '' : wellFormed(textIn(entry, 'result'));
      return answer === '' ? effects : [{ kind: 'text', at: '', text: answer }, ...effects];
    },
    exit: () => [],
  };
}

const isSuccess = (effect: ProgramEffect): boolean => effect.kind === 'end' && effect.failure === undefined;

function effectsOf(entry: Fields): readonly ProgramEffect[] {
  switch (entry['type']) {
    case 'system':
      return entry['subtype'] === 'init'
        ? [{ kind: 'conversation', conversation: textIn(entry, 'session_id') }]
        : [];
    case 'assistant':
    case 'user':
      return effectsOfMessage(entry);
    case 'stream_event':
      return deltaIn(entry);
    case 'result':
      return resultEffects(entry);
    default:
      return [];
  }
}

function deltaIn(entry: Fields): readonly ProgramEffect[] {
  if (textIn(entry, 'parent_tool_use_id') !== '') return [];
  const event = fieldsOf(entry['event']);
  const delta = fieldsOf(event['delta']);
  const text = delta['type'] === 'text_delta' ? textIn(delta, 'text') : '';
  return text === '' ? [] : [{ kind: 'delta', text }];
}

function resultEffects(entry: Fields): readonly ProgramEffect[] {
  const denied = listOf(entry['permission_denials']).map((denial) => ({
    id: textIn(denial, 'tool_use_id'),
    tool: wellFormed(textIn(denial, 'tool_name')),
  }));
  const usage = Object.entries(fieldsOf(entry['modelUsage'])).map(([model, used]): ProgramEffect => {
    const of = fieldsOf(used);
    const cached = countIn(of, 'cacheReadInputTokens') + countIn(of, 'cacheCreationInputTokens');
    return {
      kind: 'usage',
      model,
      input: countIn(of, 'inputTokens') + cached,
      output: countIn(of, 'outputTokens'),
      reasoning: 0,
      cumulative: false,
    };
  });
  return [
    ...(denied.length === 0 ? [] : [{ kind: 'denied' as const, calls: denied }]),
    ...usage,
    endOf(entry),
  ];
}

function endOf(entry: Fields): ProgramEffect {
  if (entry['is_error'] !== true && entry['subtype'] === 'success') return { kind: 'end' };
  const errors = Array.isArray(entry['errors'])
    ? entry['errors'].filter((error) => typeof error === 'string')
    : [];
  const told = [textIn(entry, 'result'), ...errors].filter((text) => text !== '').join('; ');
  const failure = wellFormed(told === '' ? textIn(entry, 'subtype') : told);
  return { kind: 'end', failure, lost: errors.some((error) => LOST.test(error)) };
}
