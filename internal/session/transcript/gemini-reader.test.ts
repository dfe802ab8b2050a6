import { createHash } from 'node:crypto';
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { glanceOf } from './conversation-glance.ts';
import { transcriptLines } from './format.ts';
import { GeminiTranscriptReader } from './gemini-reader.ts';

const ID = 'dc074ad9-4d3d-4155-813d-871e026225e0';
const RECORDED = join(import.meta.dirname, 'testdata', 'gemini-0.61.jsonl');
const ALONE = { workDir: '/work', keys: [], aloneInWorkDir: true };

let home: string;
let reader: GeminiTranscriptReader;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'gc-gemini-'));
  reader = new GeminiTranscriptReader([join(home, 'tmp')]);
  writeFileSync(join(home, 'projects.json'), JSON.stringify({ projects: { '/work': 'work' } }));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const fileOf = (name: string, project = 'work'): string => {
  const file = join(home, 'tmp', project, 'chats', name);
  mkdirSync(dirname(file), { recursive: true });
  return file;
};

const recorded = (): string => {
  const file = fileOf('session-2026-11-30T18-06-dc074ad9.jsonl');
  copyFileSync(RECORDED, file);
  return file;
};

type Message = Readonly<Record<string, unknown>>;

const message = (id: string, type: string, content: unknown, more: Message = {}): Message => ({
  id,
  timestamp: '2026-01-01T00:00:01.000Z',
  type,
  content,
  ...more,
});
const HEAD = { sessionId: 'abcdefgh-1', projectHash: 'h', startTime: '2026-01-01T00:00:00.000Z' };

const writeLines = (lines: readonly unknown[]): string => {
  const file = fileOf('session-2026-01-01T00-00-abcdefgh.jsonl');
  writeFileSync(file, [HEAD, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(''));
  return file;
};

const writeWhole = (messages: readonly Message[], project = 'work'): string => {
  const file = fileOf('session-2026-01-01T00-00-abcdefgh.json', project);
  writeFileSync(file, JSON.stringify({ ...HEAD, lastUpdated: '', messages }, null, 2));
  return file;
};

const linesOf = async (file: string): Promise<readonly string[]> =>
  transcriptLines(await reader.read(file, { tail: 0 })).map(({ type, text }) => `${type}: ${text}`);

const CALL = {
  id: 'c1',
  name: 'run_shell_command',
  args: { command: 'false' },
  status: 'error',
  result: [{ functionResponse: { response: { error: 'exit 1' } } }],
};

describe("Gemini CLI's conversations", () => {
  it('are found by key, else by folder, and by the first prompt where others work there', async () => {
    const file = recorded();
    expect(reader.conversationOf(file)).toBe(ID);
    expect(await reader.locate(ALONE)).toBe(file);
    expect(await reader.locate({ workDir: '/elsewhere', keys: [ID], aloneInWorkDir: false })).toBe(file);
    expect(await reader.locate({ ...ALONE, keys: ['dc074ad9-0000', '../../x'] })).toBeUndefined();
    const shared = { ...ALONE, aloneInWorkDir: false };
    expect(await reader.locate(shared)).toBeUndefined();
    expect(await reader.locate({ ...shared, beacon: 'RUN: ' })).toBe(file);
    expect(await reader.locate({ ...shared, beacon: '[city] x' })).toBeUndefined();
  });

  it('are the ones that were written last of those with one id', async () => {
    const file = recorded();
    const later = fileOf('session-2026-11-30T18-07-dc074ad9.jsonl');
    writeFileSync(later, `${JSON.stringify({ sessionId: ID, startTime: '' })}\n`);
    const [earlier, now] = [new Date(1_000_000), new Date(2_000_000)];
    utimesSync(later, earlier, earlier);
    utimesSync(file, now, now);
    expect(await reader.locate({ ...ALONE, keys: [ID] })).toBe(file);
  });

  it('are found in the folders that versions before and after give a project', async () => {
    rmSync(join(home, 'projects.json'));
    const hash = createHash('sha256').update('/work').digest('hex');
    const hashed = writeWhole([message('1', 'user', 'hi')], hash);
    expect(await reader.locate(ALONE)).toBe(hashed);
    rmSync(hashed);
    const marked = writeWhole([message('1', 'user', 'hi')], 'some-name');
    expect(await reader.locate(ALONE)).toBeUndefined();
    writeFileSync(join(home, 'tmp', 'some-name', '.project_root'), '/work');
    expect(await reader.locate(ALONE)).toBe(marked);
    expect(reader.conversationOf(marked)).toBe('abcdefgh-1');
  });

  it('are read as a real one was written, across a resume', async () => {
    const file = recorded();
    const lines = await linesOf(file);
    expect(lines.map((line) => line.slice(0, 35))).toEqual([
      'user: RUN: echo hi',
      'assistant: tool_use: run_shell_comm',
      'assistant: done: "<untrusted_contex',
      'user: SAY: second answer',
      'assistant: second answer',
    ]);
    const tail = await reader.tail(file);
    expect(tail && glanceOf(tail)).toMatchObject({
      turn: 'idle',
      lastMessage: 'second answer',
      model: 'gemini-2.5-pro',
      contextTokens: 10,
      contextWindow: 1_000_000,
    });
  });

  it('leave out what was taken back, and what came in the place of others', async () => {
    const file = writeLines([
      message('1', 'user', [{ text: 'one' }]),
      message('2', 'gemini', 'first'),
      message('3', 'user', 'two'),
      { $rewindTo: '3' },
      message('4', 'user', 'three'),
      message('5', 'info', 'a note'),
    ]);
    expect(await linesOf(file)).toEqual(['user: one', 'assistant: first', 'user: three', 'system: a note']);
    appendFileSync(
      file,
      `${JSON.stringify({ $set: { messages: [message('9', 'user', 'summary')] } })}\n{"id":`,
    );
    expect(await linesOf(file)).toEqual(['user: summary']);
  });

  it('tell calls with their results when they have them, and errors', async () => {
    const file = writeLines([
      message('1', 'user', 'go'),
      message('2', 'gemini', 'I try'),
      message('2', 'gemini', 'I try', { toolCalls: [CALL] }),
      message('3', 'error', 'You have exhausted your daily quota on this model.'),
    ]);
    const chunk = await reader.observe(file, undefined);
    expect(chunk?.entries.map(({ entry }) => entry)).toMatchObject([
      { kind: 'prompt' },
      { kind: 'answer', text: 'I try' },
      { kind: 'answer', text: 'I try' },
      { kind: 'tool-call', name: 'run_shell_command', input: { command: 'false' } },
      { kind: 'tool-result', error: true, text: 'exit 1' },
      { kind: 'failure' },
    ]);
    expect(await linesOf(file)).toEqual([
      'user: go',
      'assistant: I try',
      'assistant: tool_use: run_shell_command',
      'user: tool_result: error',
      'system: You have exhausted your daily quota on this model.',
    ]);
  });
});

describe('the whole-file form of versions before', () => {
  const one = message('1', 'user', 'go');
  const two = message('2', 'gemini', 'on it');

  it('is followed: the last message is told again when it changed', async () => {
    const file = writeWhole([one, two]);
    const first = await reader.observe(file, undefined);
    expect(first?.entries.map(({ entry }) => entry.kind)).toEqual(['prompt', 'answer']);
    expect((await reader.observe(file, first?.cursor))?.entries).toEqual([]);
    writeWhole([one, { ...two, toolCalls: [CALL] }]);
    const second = await reader.observe(file, first?.cursor);
    expect(second?.entries.map(({ entry }) => entry.kind)).toEqual(['answer', 'tool-call', 'tool-result']);
    expect(second?.restarted).toBe(false);
    writeWhole([message('8', 'user', 'another conversation'), two]);
    expect((await reader.observe(file, second?.cursor))?.restarted).toBe(true);
  });

  it('is read whole, or not at all', async () => {
    const file = writeWhole([one, two]);
    expect(await linesOf(file)).toEqual(['user: go', 'assistant: on it']);
    writeFileSync(file, '{"sessionId": "x", "messages": [');
    await expect(reader.read(file, { tail: 0 })).rejects.toThrow(/is no conversation of Gemini CLI/);
    rmSync(file);
    expect(await reader.observe(file, undefined)).toBeUndefined();
  });
});
