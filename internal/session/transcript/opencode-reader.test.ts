import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase } from '../../platform/sqlite.ts';
import { glanceOf } from './conversation-glance.ts';
import { transcriptLines } from './format.ts';
import { OpencodeTranscriptReader } from './opencode-reader.ts';
import {
  recordedConversation,
  type StoredConversation,
  writeDatabase,
  writeFiles,
} from './testing/opencode-store.ts';

let root: string;
let reader: OpencodeTranscriptReader;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gc-opencode-'));
  reader = new OpencodeTranscriptReader([root]);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const RECORDED = recordedConversation();
const ID = RECORDED.session.id;
const ALONE = { workDir: '/work', keys: [], aloneInWorkDir: true };

const located = async (): Promise<string> => {
  const file = await reader.locate(ALONE);
  if (file === undefined) throw new Error('not found');
  return file;
};

const firstMessages = (count: number): StoredConversation => ({
  ...RECORDED,
  messages: RECORDED.messages.slice(0, count),
});

for (const [form, write] of [
  ['a database', writeDatabase],
  ['files', writeFiles],
] as const) {
  describe(`opencode's conversations in ${form}`, () => {
    it('are found by key, else by folder, and by the first prompt where others work there', async () => {
      write(root, RECORDED);
      const file = await located();
      expect(reader.conversationOf(file)).toBe(ID);
      expect(await reader.locate({ workDir: '/elsewhere', keys: [ID], aloneInWorkDir: false })).toBe(file);
      expect(await reader.locate({ ...ALONE, keys: ['ses_unknown'] })).toBeUndefined();
      expect(await reader.locate({ ...ALONE, workDir: '/elsewhere' })).toBeUndefined();
      const shared = { ...ALONE, aloneInWorkDir: false };
      expect(await reader.locate(shared)).toBeUndefined();
      expect(await reader.locate({ ...shared, beacon: '"RUN: ' })).toBe(file);
      expect(await reader.locate({ ...shared, beacon: '[city] other • ' })).toBeUndefined();
      const later = RECORDED.session.time_created + 1;
      expect(await reader.locate({ ...ALONE, since: later })).toBeUndefined();
    });

    it('are read, and their end tells whose turn it is', async () => {
      write(root, RECORDED);
      const file = await located();
      const transcript = await reader.read(file, { tail: 0 });
      expect(transcriptLines(transcript).map(({ type, text }) => `${type}: ${text}`)).toEqual([
        'user: "RUN: echo hi"',
        'assistant: tool_use: bash',
        'assistant: done: hi',
        'user: "SAY: oc second"',
        'assistant: oc second',
      ]);
      const tail = await reader.tail(file);
      expect(tail && glanceOf(tail)).toMatchObject({
        turn: 'idle',
        lastMessage: 'oc second',
        model: 'scripted',
        contextTokens: 10,
      });
    });

    it('are followed message by message, those that are being written last of all', async () => {
      const [prompt, call] = RECORDED.messages;
      write(root, firstMessages(1));
      const file = await located();
      const first = await reader.observe(file, undefined);
      expect(first?.entries.map(({ entry }) => entry.kind)).toEqual(['prompt']);
      const open = { ...call, data: { ...(call?.data as object), time: { created: 1 }, finish: undefined } };
      write(root, { ...RECORDED, messages: [prompt, open] as StoredConversation['messages'] });
      expect((await reader.observe(file, first?.cursor))?.entries).toEqual([]);
      const tail = await reader.tail(file);
      expect(tail && glanceOf(tail).turn).toBe('in-turn');
      write(root, RECORDED);
      const rest = await reader.observe(file, first?.cursor);
      expect(rest?.entries.map(({ entry }) => entry.kind)).toEqual([
        'usage',
        'tool-call',
        'tool-result',
        'usage',
        'answer',
        'turn-end',
        'prompt',
        'usage',
        'answer',
        'turn-end',
      ]);
      expect(rest).toMatchObject({ restarted: false, more: false });
      expect((await reader.observe(file, rest?.cursor))?.entries).toEqual([]);
    });

    it('begin anew when what was read last was taken back', async () => {
      write(root, RECORDED);
      const file = await located();
      const chunk = await reader.observe(file, { offset: 3, anchor: 'msg_gone' });
      expect(chunk?.restarted).toBe(true);
      expect(chunk?.entries[0]?.entry.kind).toBe('prompt');
    });
  });
}

describe("opencode's errors", () => {
  const withError = (error: unknown): StoredConversation => {
    const [prompt, answer] = RECORDED.messages;
    const failed = { ...answer, data: { role: 'assistant', time: { created: 5 }, error } };
    return {
      ...RECORDED,
      messages: [prompt, failed] as StoredConversation['messages'],
      parts: RECORDED.parts.filter((part) => part.message_id === prompt?.id),
    };
  };

  it('are failures of a turn; what a person stopped is none', async () => {
    const data = { message: '5-hour usage limit reached. It will reset in 2 hours.' };
    writeDatabase(root, withError({ name: 'APIError', data }));
    const file = await located();
    const tail = await reader.tail(file);
    expect(tail && glanceOf(tail)).toMatchObject({ turn: 'idle', failure: { text: data.message, at: 5 } });
    writeDatabase(root, withError({ name: 'MessageAbortedError', data: { message: 'aborted' } }));
    expect((await reader.observe(file, undefined))?.entries.at(-1)?.entry).toMatchObject({
      kind: 'turn-end',
      how: 'interrupted',
    });
  });

  it('in the store of an unknown version are told once, clearly', async () => {
    writeDatabase(root, RECORDED);
    const file = await located();
    rmSync(root, { recursive: true });
    root = mkdtempSync(join(tmpdir(), 'gc-opencode-'));
    writeFileSync(join(root, 'opencode.db'), 'no database at all');
    const moved = file.replace(/^.*opencode\.db/, join(root, 'opencode.db'));
    await expect(reader.read(moved, { tail: 0 })).rejects.toThrow(/cannot read .*: file is not a database/);
    rmSync(join(root, 'opencode.db'));
    openDatabase(join(root, 'opencode.db'), { migrations: ['CREATE TABLE session (id text)'] }).close();
    await expect(new OpencodeTranscriptReader([root]).locate(ALONE)).rejects.toThrow(
      /version of opencode that is not known/,
    );
    expect(await reader.observe(join(root, 'missing.db#ses_x'), undefined)).toBeUndefined();
  });
});
