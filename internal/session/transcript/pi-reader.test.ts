import { appendFileSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { glanceOf } from './conversation-glance.ts';
import { transcriptLines } from './format.ts';
import { PiTranscriptReader } from './pi-reader.ts';

const ID = '01a22da3-96c0-70e7-a2af-1ef9770ae828';
const RECORDED = join(import.meta.dirname, 'testdata', 'pi-0.73.jsonl');
const ALONE = { workDir: '/work', keys: [], aloneInWorkDir: true };

let root: string;
let reader: PiTranscriptReader;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gc-pi-'));
  reader = new PiTranscriptReader([root]);
  mkdirSync(join(root, '--work--'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const fileOf = (id: string): string => join(root, '--work--', `2026-11-30T18-07-05-409Z_${id}.jsonl`);

const recorded = (): string => {
  copyFileSync(RECORDED, fileOf(ID));
  return fileOf(ID);
};

type Line = Readonly<Record<string, unknown>>;

const message = (id: string, parentId: string | null, role: string, more: Line): Line => ({
  type: 'message',
  id,
  parentId,
  timestamp: '2026-01-01T00:00:01.000Z',
  message: { role, ...more },
});
const said = (id: string, parentId: string | null, text: string): Line =>
  message(id, parentId, 'user', { content: text });
const answered = (id: string, parentId: string, text: string): Line =>
  message(id, parentId, 'assistant', { content: [{ type: 'text', text }], stopReason: 'stop' });

const write = (lines: readonly Line[]): string => {
  const head = { type: 'session', version: 3, id: 'x', timestamp: '2026-01-01T00:00:00.000Z', cwd: '/work' };
  writeFileSync(fileOf('x'), [head, ...lines].map((line) => `${JSON.stringify(line)}\n`).join(''));
  return fileOf('x');
};

const linesOf = async (file: string): Promise<readonly string[]> => {
  const transcript = await reader.read(file, { tail: 0 });
  return transcriptLines(transcript).map(({ type, text }) => `${type}: ${text}`);
};

describe("pi's sessions", () => {
  it('are found by key, else by folder, and by the first prompt where others work there', async () => {
    const file = recorded();
    expect(reader.conversationOf(file)).toBe(ID);
    expect(await reader.locate(ALONE)).toBe(file);
    expect(await reader.locate({ workDir: '/elsewhere', keys: [ID], aloneInWorkDir: false })).toBe(file);
    expect(await reader.locate({ ...ALONE, keys: ['../x', 'unknown'] })).toBeUndefined();
    expect(await reader.locate({ ...ALONE, workDir: '/elsewhere' })).toBeUndefined();
    const shared = { ...ALONE, aloneInWorkDir: false };
    expect(await reader.locate(shared)).toBeUndefined();
    expect(await reader.locate({ ...shared, beacon: 'RUN: ' })).toBe(file);
    expect(await reader.locate({ ...shared, beacon: 'RUN: other' })).toBeUndefined();
    expect(await reader.locate({ ...ALONE, since: Date.parse('2026-12-01T00:00:00Z') })).toBeUndefined();
  });

  it('are read as a real one was written', async () => {
    const file = recorded();
    expect(await linesOf(file)).toEqual([
      'user: RUN: echo hi',
      'assistant: tool_use: bash',
      'assistant: done: hi',
      'user: SAY: second answer',
      'assistant: second answer',
    ]);
    const tail = await reader.tail(file);
    expect(tail && glanceOf(tail)).toMatchObject({
      turn: 'idle',
      lastMessage: 'second answer',
      model: 'scripted',
      contextTokens: 10,
    });
    expect((await reader.observe(file, undefined))?.entries.map(({ entry }) => entry.kind)).toEqual([
      'model',
      'prompt',
      'usage',
      'tool-call',
      'tool-result',
      'usage',
      'answer',
      'prompt',
      'usage',
      'answer',
    ]);
  });

  it('show the branch that is talked in', async () => {
    const file = write([
      said('a', null, 'one'),
      answered('b', 'a', 'first'),
      said('c', 'a', 'another way'),
      answered('d', 'c', 'second'),
    ]);
    expect(await linesOf(file)).toEqual(['user: one', 'user: another way', 'assistant: second']);
    expect((await reader.read(file, { tail: 0 })).hasBranches).toBe(true);
  });

  it('tell errors, interruptions and compactions', async () => {
    const stopped = (stopReason: string, more: Line = {}): Line =>
      message('c', 'b', 'assistant', { content: [], stopReason, ...more });
    const failed = write([said('b', null, 'go'), stopped('error', { errorMessage: '429 try again in 2 h' })]);
    expect((await reader.observe(failed, undefined))?.entries.at(-1)?.entry).toMatchObject({
      kind: 'failure',
      text: '429 try again in 2 h',
    });
    const aborted = write([said('b', null, 'go'), stopped('aborted')]);
    expect((await reader.observe(aborted, undefined))?.entries.at(-1)?.entry).toMatchObject({
      kind: 'turn-end',
      how: 'interrupted',
    });
    const compacted = write([
      said('a', null, 'long ago'),
      { type: 'compaction', id: 'b', parentId: 'a', timestamp: '', summary: 's', tokensBefore: 5 },
      said('c', 'b', 'now'),
    ]);
    const transcript = await reader.read(compacted, { tail: 1 });
    expect(transcript).toMatchObject({ compactions: 1, hasOlder: true });
    expect(transcriptLines(transcript).map(({ text }) => text)).toEqual(['── context compacted ──', 'now']);
  });

  it('count what is damaged, leave out a line that is being written, and read the first version', async () => {
    const file = write([said('a', null, 'one')]);
    appendFileSync(file, '{"type":"mess\n[]\n{"type":"message","id":"z","parentId":"a","mess');
    expect(await linesOf(file)).toEqual(['user: one']);
    expect((await reader.read(file, { tail: 0 })).badLines).toBe(1);
    const { id: _id, parentId: _parent, ...old } = said('a', null, 'of the first version');
    expect(await linesOf(write([old]))).toEqual(['user: of the first version']);
  });
});
