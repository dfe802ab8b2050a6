import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CodexTranscriptReader } from './codex-reader.ts';
import { transcriptLines } from './format.ts';

const ID = '01a22c1c-f6e8-76b2-9ba4-7a54a87e43e8';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gc-codex-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

type Line = Readonly<Record<string, unknown>>;

/** Lines as Codex 0.171 writes them, without what no reader looks at. */
const line = (type: string, payload: Line): Line => ({
  timestamp: '2026-01-02T10:00:00.000Z',
  type,
  payload,
});
const said = (id: string, role: string, text: string, kinds?: readonly string[]): Line =>
  line('response_item', {
    type: 'message',
    id,
    role,
    content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }],
    ...(kinds ? { internal_chat_message_metadata_passthrough: { content_item_kinds: kinds } } : {}),
  });

const conversation = (cwd: string): readonly Line[] => [
  line('session_meta', { id: ID, cwd, timestamp: '2026-01-02T10:00:00.000Z' }),
  line('event_msg', { type: 'task_started', turn_id: 't1' }),
  said('m0', 'developer', 'rules'),
  said('m1', 'user', '<environment_context>x</environment_context>', ['environments.environment_context']),
  line('turn_context', { turn_id: 't1', model: 'scripted' }),
  said('m2', 'user', 'RUN: echo hi', ['user.text']),
  line('response_item', {
    type: 'function_call',
    id: 'f1',
    name: 'exec_command',
    arguments: '{"cmd":"echo hi"}',
    call_id: 'call1',
  }),
  line('token_usage_record', { response_id: 'resp1', usage: { input_tokens: 10, output_tokens: 4 } }),
  line('response_item', { type: 'function_call_output', id: 'o1', call_id: 'call1', output: 'hi\n' }),
  said('m3', 'assistant', 'done: hi'),
  line('event_msg', { type: 'task_complete', turn_id: 't1' }),
];

const write = (day: string, id: string, lines: readonly Line[], modifiedAt?: Date): string => {
  const file = join(root, '2026', '01', day, `rollout-2026-01-${day}T10-00-00-${id}.jsonl`);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, lines.map((each) => `${JSON.stringify(each)}\n`).join(''));
  if (modifiedAt) utimesSync(file, modifiedAt, modifiedAt);
  return file;
};

describe('a rollout of Codex', () => {
  it('tells what was said, called and answered, and when the turn is over; not what the program put in', async () => {
    const file = write('02', ID, conversation('/work/a'));
    const reader = new CodexTranscriptReader([root]);
    const chunk = await reader.observe(file, undefined);
    expect(chunk?.entries.map(({ entry }) => entry)).toEqual([
      { kind: 'model', id: expect.any(String), model: 'scripted' },
      { kind: 'prompt', id: 'm2', at: Date.UTC(2026, 0, 2, 10), text: 'RUN: echo hi' },
      { kind: 'tool-call', id: 'f1', callId: 'call1', name: 'exec_command', input: { cmd: 'echo hi' } },
      { kind: 'usage', id: 'resp1', model: '', input: 10, output: 4, reasoning: 0 },
      { kind: 'tool-result', id: 'o1', callId: 'call1', error: false, text: 'hi\n' },
      { kind: 'answer', id: 'm3', text: 'done: hi', ends: false },
      { kind: 'turn-end', id: 't1', how: 'completed' },
    ]);
    expect(reader.conversationOf(file)).toBe(ID);
    const shown = transcriptLines(await reader.read(file, { tail: 0 }));
    expect(shown.map(({ type, text }) => `${type} ${text}`)).toEqual([
      'user RUN: echo hi',
      'assistant tool_use: exec_command',
      'assistant done: hi',
    ]);
  });

  it('of an older version tells a person from the program by its form', async () => {
    const file = write('02', ID, [
      said('', 'user', '<user_instructions>be kind</user_instructions>'),
      said('', 'user', '# AGENTS.md instructions for /work'),
      said('', 'user', 'hello'),
    ]);
    const chunk = await new CodexTranscriptReader([root]).observe(file, undefined);
    expect(chunk?.entries.map(({ entry }) => entry)).toEqual([
      { kind: 'prompt', id: expect.stringMatching(`^${ID}@\\d+$`), at: expect.any(Number), text: 'hello' },
    ]);
  });

  it('is found by its key, else as the newest of its work dir since the session began', async () => {
    const other = '11111111-1111-4111-8111-111111111111';
    const mine = write('02', ID, conversation('/work/a'));
    write('03', other, conversation('/work/b'));
    const reader = new CodexTranscriptReader([root, join(root, 'missing')]);
    const place = { workDir: '/work/a', keys: [], aloneInWorkDir: true };
    expect(await reader.locate({ ...place, keys: [ID] })).toBe(mine);
    expect(await reader.locate({ ...place, keys: ['22222222-2222-4222-8222-222222222222'] })).toBeUndefined();
    expect(await reader.locate(place)).toBe(mine);
    expect(await reader.locate({ ...place, aloneInWorkDir: false })).toBeUndefined();
    expect(await reader.locate({ ...place, since: Date.UTC(2026, 0, 2, 9, 59) })).toBe(mine);
  });

  it('tells why a turn was given up, and how much the model takes', async () => {
    const message = "You've hit your usage limit. Try again at 3:45 PM.";
    const file = write('02', ID, [
      ...conversation('/work/a'),
      line('event_msg', { type: 'task_started', turn_id: 't2', model_context_window: 258_400 }),
      line('event_msg', { type: 'task_complete', turn_id: 't2', error: { message, codex_error_info: 'x' } }),
    ]);
    const chunk = await new CodexTranscriptReader([root]).observe(file, undefined);
    expect(chunk?.entries.slice(-2).map(({ entry }) => entry)).toMatchObject([
      { kind: 'window', tokens: 258_400 },
      { kind: 'failure', text: message },
    ]);
  });

  it("DUR-16 is not a session's when it began before the session did", async () => {
    write('02', ID, conversation('/work/a'));
    const reader = new CodexTranscriptReader([root]);
    const place = { workDir: '/work/a', keys: [], aloneInWorkDir: true };
    expect(await reader.locate({ ...place, since: Date.UTC(2026, 0, 2, 10, 1) })).toBeUndefined();
  });
});
