import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClaudeTranscriptReader, projectSlugs } from './claude-reader.ts';
import { formatTranscriptLine, transcriptLines } from './format.ts';
import type { TranscriptEntry, TranscriptPlace } from './transcript-reader.ts';

let dir: string;
let root: string;
let workDir: string;
let reader: ClaudeTranscriptReader;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-transcript-'));
  root = join(dir, 'projects');
  workDir = join(dir, 'my.work', 'a_b');
  mkdirSync(workDir, { recursive: true });
  reader = new ClaudeTranscriptReader([join(dir, 'other-root'), root]);
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const KEY = '11111111-2222-4333-8444-555555555555';
const place = (more: Partial<TranscriptPlace> = {}): TranscriptPlace => ({
  workDir,
  keys: [KEY],
  aloneInWorkDir: true,
  ...more,
});

function put(folder: string, name: string, content = '', ageSeconds = 0): string {
  mkdirSync(join(root, folder), { recursive: true });
  const file = join(root, folder, name);
  writeFileSync(file, content);
  const at = Date.now() / 1_000 - ageSeconds;
  utimesSync(file, at, at);
  return file;
}

describe('finding Claude Code’s transcript', () => {
  it('knows both ways of naming a folder', () => {
    expect(projectSlugs('/home/u/my.work/a_b')).toEqual(['-home-u-my-work-a_b', '-home-u-my-work-a-b']);
    expect(new Set(projectSlugs('/home/u/x')).size).toBe(1);
  });

  it('by key, in either folder', async () => {
    for (const slug of projectSlugs(workDir)) {
      const file = put(slug, `${KEY}.jsonl`);
      expect(await reader.locate(place())).toBe(file);
      rmSync(join(root, slug), { recursive: true });
    }
    expect(await reader.locate(place())).toBeUndefined();
  });

  it('by an older key, when the current one has written nothing yet', async () => {
    const file = put(projectSlugs(workDir)[0] ?? '', 'older.jsonl');
    expect(await reader.locate(place({ keys: [KEY, 'older'] }))).toBe(file);
  });

  it('by key in another folder than the record says', async () => {
    const file = put('-somewhere-else', `${KEY}.jsonl`);
    expect(await reader.locate(place())).toBe(file);
  });

  it('through a symbolic link to the work dir', async () => {
    const link = join(dir, 'link');
    symlinkSync(workDir, link);
    const file = put(projectSlugs(workDir)[0] ?? '', `${KEY}.jsonl`);
    expect(await reader.locate(place({ workDir: link }))).toBe(file);
  });

  it('without a key: the newest, but only where it can be nobody else’s', async () => {
    const slug = projectSlugs(workDir)[0] ?? '';
    put(slug, 'a.jsonl', '', 100);
    const newest = put(slug, 'b.jsonl', '', 10);
    put(slug, 'c.txt');
    expect(await reader.locate(place({ keys: [] }))).toBe(newest);
    expect(await reader.locate(place({ keys: [], aloneInWorkDir: false }))).toBeUndefined();
    expect(await reader.locate(place())).toBeUndefined();
  });

  it('falls back to the only conversation that a folder keeps', async () => {
    const latest = put(projectSlugs(workDir)[0] ?? '', 'latest-session.jsonl');
    expect(await reader.locate(place())).toBe(latest);
  });

  it('never leaves its roots', async () => {
    writeFileSync(join(dir, 'secret.jsonl'), '');
    mkdirSync(join(root, 'x'), { recursive: true });
    for (const key of ['../../secret', '..', 'a/b', 'a\\b', '']) {
      expect(await reader.locate(place({ keys: [key], aloneInWorkDir: false })), key).toBeUndefined();
    }
  });
});

interface Line {
  readonly uuid?: string;
  readonly parentUuid?: string | null;
  readonly [key: string]: unknown;
}

let seconds = 0;
const stamp = (): string => new Date(Date.UTC(2026, 0, 1, 10, 0, seconds++)).toISOString();
const user = (uuid: string, parentUuid: string | null, text: string): Line => ({
  uuid,
  parentUuid,
  type: 'user',
  timestamp: stamp(),
  message: { role: 'user', content: text },
});
const assistant = (uuid: string, parentUuid: string, content: unknown): Line => ({
  uuid,
  parentUuid,
  type: 'assistant',
  timestamp: stamp(),
  message: { role: 'assistant', content },
});
const said = (text: string) => [{ type: 'text', text }];
const boundary = (uuid: string, logicalParentUuid: string): Line => ({
  uuid,
  parentUuid: null,
  logicalParentUuid,
  type: 'system',
  subtype: 'compact_boundary',
  content: 'Conversation compacted',
  timestamp: stamp(),
});

function write(lines: readonly (Line | string)[]): string {
  const file = join(dir, 'session.jsonl');
  writeFileSync(
    file,
    lines.map((line) => `${typeof line === 'string' ? line : JSON.stringify(line)}\n`).join(''),
  );
  return file;
}

const ids = (entries: readonly TranscriptEntry[]) => entries.map(({ id }) => id);

describe('reading Claude Code’s transcript', () => {
  it('gives the conversation in order, with its parts', async () => {
    const file = write([
      { type: 'summary', summary: 'x', leafUuid: 'a2' },
      user('u1', null, 'do it'),
      assistant('a1', 'u1', [
        { type: 'thinking', thinking: 'hm' },
        { type: 'text', text: 'I will' },
        { type: 'tool_use', id: 't1', name: 'Bash', input: { command: 'ls' } },
      ]),
      {
        ...user('u2', 'a1', ''),
        message: {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 't1', is_error: true, content: said('no such file') },
          ],
        },
      },
      { uuid: 'p1', parentUuid: 'u2', type: 'progress', timestamp: stamp() },
      assistant('a2', 'p1', said('done')),
    ]);
    const transcript = await reader.read(file, { tail: 0 });
    expect(ids(transcript.entries)).toEqual(['u1', 'a1', 'u2', 'a2']);
    expect(transcript.entries.map(({ parts }) => parts)).toEqual([
      [{ kind: 'text', text: 'do it' }],
      [
        { kind: 'thinking', text: 'hm' },
        { kind: 'text', text: 'I will' },
        { kind: 'tool-use', id: 't1', name: 'Bash', input: { command: 'ls' } },
      ],
      [{ kind: 'tool-result', id: 't1', error: true, text: 'no such file' }],
      [{ kind: 'text', text: 'done' }],
    ]);
    expect(transcript).toMatchObject({
      hasOlder: false,
      totalEntries: 4,
      compactions: 0,
      hasBranches: false,
      badLines: 0,
    });
  });

  it('takes the branch that was talked in last', async () => {
    const file = write([
      user('u1', null, 'start'),
      assistant('a1', 'u1', said('one way')),
      user('u2', 'a1', 'no'),
      assistant('b1', 'u1', said('the other way')),
    ]);
    const transcript = await reader.read(file, { tail: 0 });
    expect(ids(transcript.entries)).toEqual(['u1', 'b1']);
    expect(transcript.hasBranches).toBe(true);
  });

  it('of branches of one moment, takes the longer, then the later', async () => {
    const at = { timestamp: '2026-01-01T00:00:00Z' };
    const branches = [
      { ...user('u1', null, 'start'), ...at },
      { ...assistant('a1', 'u1', said('1')), ...at },
      { ...user('a2', 'a1', '2'), ...at },
      { ...assistant('b1', 'u1', said('x')), ...at },
    ];
    expect(ids((await reader.read(write(branches), { tail: 0 })).entries)).toEqual(['u1', 'a1', 'a2']);
    const equal = [...branches, { ...user('b2', 'b1', 'y'), ...at }];
    expect(ids((await reader.read(write(equal), { tail: 0 })).entries)).toEqual(['u1', 'b1', 'b2']);
  });

  it('leaves helper agents’ own conversations out', async () => {
    const file = write([
      user('u1', null, 'go'),
      assistant('a1', 'u1', said('sending a helper')),
      { ...user('s1', null, 'helper task'), isSidechain: true },
      { ...assistant('s2', 's1', said('helper answer')), isSidechain: true },
    ]);
    expect(ids((await reader.read(file, { tail: 0 })).entries)).toEqual(['u1', 'a1']);
  });

  it('goes on across compactions, also when the entry before one is gone', async () => {
    const whole = [
      user('u1', null, 'one'),
      assistant('a1', 'u1', said('1')),
      boundary('c1', 'a1'),
      user('u2', 'c1', 'two'),
      boundary('c2', 'gone'),
      user('u3', 'c2', 'three'),
    ];
    const transcript = await reader.read(write(whole), { tail: 0 });
    expect(ids(transcript.entries)).toEqual(['u1', 'a1', 'c1', 'u2', 'c2', 'u3']);
    expect(transcript.compactions).toBe(2);
  });

  it('gives the last segments, each with its boundary', async () => {
    const file = write([
      user('u1', null, 'one'),
      boundary('c1', 'u1'),
      user('u2', 'c1', 'two'),
      boundary('c2', 'u2'),
      user('u3', 'c2', 'three'),
    ]);
    const tail = async (count: number) => {
      const { entries, hasOlder, totalEntries } = await reader.read(file, { tail: count });
      return [ids(entries).join(' '), hasOlder, totalEntries];
    };
    expect(await tail(1)).toEqual(['c2 u3', true, 5]);
    expect(await tail(2)).toEqual(['c1 u2 c2 u3', true, 5]);
    expect(await tail(3)).toEqual(['u1 c1 u2 c2 u3', false, 5]);
    expect(await tail(0)).toEqual(['u1 c1 u2 c2 u3', false, 5]);
  });

  it('counts damaged lines and reads on; an unfinished last line is not damage', async () => {
    const file = write([
      user('u1', null, 'one'),
      '{"uuid": "broken", "type":',
      '\u0000\u0000\u0000',
      '"text"',
      '',
      assistant('a1', 'u1', said('still here')),
    ]);
    appendFileSync(file, '{"uuid":"a2","parentUuid":"a1","type":"assis');
    const transcript = await reader.read(file, { tail: 0 });
    expect(ids(transcript.entries)).toEqual(['u1', 'a1']);
    expect(transcript.badLines).toBe(2);
  });

  it('reads a message that was written as text, and a last line without its end', async () => {
    const file = write([]);
    appendFileSync(
      file,
      JSON.stringify({
        ...user('u1', null, ''),
        message: JSON.stringify({ role: 'user', content: 'inside' }),
      }),
    );
    const { entries } = await reader.read(file, { tail: 0 });
    expect(entries[0]?.parts).toEqual([{ kind: 'text', text: 'inside' }]);
  });

  it('ends on a circle of parents', async () => {
    const file = write([user('u1', 'a1', 'x'), assistant('a1', 'u1', said('y')), user('u2', 'a1', 'z')]);
    expect(ids((await reader.read(file, { tail: 0 })).entries)).toEqual(['u1', 'a1', 'u2']);
    expect((await reader.read(write([]), { tail: 0 })).entries).toEqual([]);
  });

  it('reads a large file by keeping its shape only', async () => {
    const filler = 'x'.repeat(20_000);
    const lines: Line[] = [user('m0', null, 'first')];
    for (let n = 1; n <= 2_000; n += 1) lines.push(user(`m${n}`, `m${n - 1}`, filler));
    lines.push(boundary('c', 'm2000'), user('last', 'c', 'last'));
    const file = write(lines);
    const before = process.memoryUsage().heapUsed;
    const transcript = await reader.read(file, { tail: 1 });
    expect(ids(transcript.entries)).toEqual(['c', 'last']);
    expect(transcript.totalEntries).toBe(2_003);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(200_000_000);
  });

  it('says what it cannot read', async () => {
    const missing = join(dir, 'missing.jsonl');
    await expect(reader.read(missing, { tail: 0 })).rejects.toMatchObject({
      code: 'transcript-unreadable',
      message: expect.stringContaining(missing),
    });
  });
});

describe('the lines of a log', () => {
  it('say who said what and when, and where it was compacted', async () => {
    const at = { timestamp: new Date(2026, 0, 1, 9, 5, 7).toISOString() };
    const file = write([
      { ...user('u1', null, 'hello'), ...at },
      {
        ...assistant('a1', 'u1', [
          { type: 'thinking', thinking: 'secret' },
          { type: 'text', text: 'hi\n\u001b[31mred\u001b[0m\u0007 there' },
          { type: 'tool_use', id: 't', name: 'Bash', input: {} },
        ]),
        ...at,
      },
      {
        ...user('u2', 'a1', ''),
        ...at,
        message: {
          content: [
            { type: 'tool_result', tool_use_id: 't', is_error: true, content: 'no' },
            { type: 'tool_result', tool_use_id: 't', content: 'fine' },
            { type: 'image', source: {} },
          ],
        },
      },
      { ...boundary('c1', 'u2'), ...at },
      { ...user('u3', 'c1', 'again'), timestamp: 'no time' },
    ]);
    const lines = transcriptLines(await reader.read(file, { tail: 0 })).map(formatTranscriptLine);
    expect(lines).toEqual([
      '09:05:07 [USER] hello',
      '09:05:07 [ASSISTANT] hi\nred there',
      '09:05:07 [ASSISTANT] tool_use: Bash',
      '09:05:07 [USER] tool_result: error',
      '09:05:07 [USER] [image]',
      '── context compacted ──',
      '[USER] again',
    ]);
  });
});
