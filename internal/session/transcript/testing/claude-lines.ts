/** Lines as Claude Code 2.1 writes them, without what no reader looks at. */
const CONVERSATION = '22222222-2222-4222-8222-222222222222';

type Line = Readonly<Record<string, unknown>>;

let counter = 0;

/** A minute after the epoch of these tests, one second per line. */
const timestamp = (): string => {
  counter += 1;
  return new Date(Date.UTC(2026, 0, 1, 0, 1, counter)).toISOString();
};

const entry = (uuid: string, more: Line): Line => ({
  parentUuid: null,
  isSidechain: false,
  uuid,
  timestamp: timestamp(),
  sessionId: CONVERSATION,
  ...more,
});

export const prompt = (uuid: string, text: string, more: Line = {}): Line =>
  entry(uuid, { type: 'user', message: { role: 'user', content: text }, ...more });

export const call = (uuid: string, callId: string, command: string, messageId = `msg-${uuid}`): Line =>
  assistant(
    uuid,
    [{ type: 'tool_use', id: callId, name: 'Bash', input: { command } }],
    'tool_use',
    messageId,
  );

export const answer = (
  uuid: string,
  text: string,
  stop: string | null = 'end_turn',
  messageId = `msg-${uuid}`,
): Line => assistant(uuid, [{ type: 'text', text }], stop, messageId);

const assistant = (uuid: string, content: unknown, stop: string | null, messageId: string): Line =>
  entry(uuid, {
    type: 'assistant',
    message: {
      id: messageId,
      role: 'assistant',
      model: 'claude-opus-4-8',
      content,
      stop_reason: stop,
      usage: { input_tokens: 10, cache_read_input_tokens: 5, output_tokens: 7 },
    },
  });

export const result = (uuid: string, callId: string, text: string, isError = false): Line =>
  entry(uuid, {
    type: 'user',
    message: {
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: callId, content: text, is_error: isError }],
    },
  });

export const interrupted = (uuid: string): Line =>
  entry(uuid, {
    type: 'user',
    message: {
      role: 'user',
      content: [{ type: 'text', text: '[Request interrupted by user for tool use]' }],
    },
  });

export const failure = (uuid: string, text: string): Line =>
  entry(uuid, {
    type: 'assistant',
    isApiErrorMessage: true,
    message: {
      id: uuid,
      model: '<synthetic>',
      content: [{ type: 'text', text }],
      stop_reason: 'stop_sequence',
    },
  });

export const duration = (uuid: string): Line =>
  entry(uuid, { type: 'system', subtype: 'turn_duration', durationMs: 12 });

export const boundary = (uuid: string): Line =>
  entry(uuid, {
    type: 'system',
    subtype: 'compact_boundary',
    compactMetadata: { trigger: 'auto', preTokens: 150_000 },
  });

/** Lines that tell nothing of the conversation. */
export const noise = (): readonly Line[] => [
  { type: 'queue-operation', operation: 'enqueue', sessionId: CONVERSATION, content: 'not yet said' },
  { type: 'file-history-snapshot', messageId: 'm', snapshot: {} },
  { type: 'last-prompt', lastPrompt: 'said before', sessionId: CONVERSATION },
  prompt('meta', '<local-command-caveat>x</local-command-caveat>', { isMeta: true }),
  prompt('command', '<command-name>/compact</command-name>'),
  prompt('summary', 'what was said before', { isCompactSummary: true }),
  prompt('side', 'helper, do this', { isSidechain: true }),
];

export const jsonl = (lines: readonly unknown[]): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join('');
