import { appendFileSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CityDatabase, openCityDatabase } from '../../beads/sqlite/city-database.ts';
import { FakeClock } from '../../platform/fake-clock.ts';
import { seededIds } from '../../platform/ids.ts';
import { cityFactOf, textOf } from '../../protocol/events.ts';
import { type Event, EventKind } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { BlobStore } from '../log/blobs/blob-store.ts';
import { MemoryLogStore } from '../log/testing/memory-log-store.ts';
import { ClaudeTranscriptReader } from '../transcript/claude-reader.ts';
import {
  answer,
  boundary,
  call,
  duration,
  failure,
  interrupted,
  jsonl,
  noise,
  prompt,
  result,
} from '../transcript/testing/claude-lines.ts';
import { ConversationLog } from './conversation-log.ts';

const UID = `sess-${'a'.repeat(24)}`;
const reader = new ClaudeTranscriptReader([]);
const clock = new FakeClock();

let dir: string;
let db: CityDatabase;
let store: MemoryLogStore;
let file: string;

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gc-journal-'));
  db = openCityDatabase(join(dir, 'city.db'), clock, seededIds(1));
  store = new MemoryLogStore();
  await store.create({ uid: UID, project: 'test' });
  file = join(dir, 'conversation.jsonl');
  writeFileSync(file, '');
});
afterEach(async () => {
  db.close();
  await store.close();
  rmSync(dir, { recursive: true, force: true });
});

const open = (path = file) =>
  ConversationLog.open(
    { db, store, blobs: new BlobStore(join(dir, 'blobs'), clock), tellFirst: async () => undefined },
    { uid: UID, file: path, reader, since: 0 },
  );

const KINDS: Partial<Record<EventKind, string>> = {
  [EventKind.EVENT_EXECUTION_START]: 'start',
  [EventKind.EVENT_INPUT]: 'input',
  [EventKind.EVENT_OUTPUT]: 'output',
  [EventKind.EVENT_TOOL_CALL]: 'call',
  [EventKind.EVENT_TOOL_RESULT]: 'result',
  [EventKind.EVENT_USAGE]: 'usage',
  [EventKind.EVENT_END]: 'end',
  [EventKind.EVENT_ERROR]: 'error',
  [EventKind.EVENT_LIFECYCLE]: 'fact',
};

function shown({ kind, body }: Event): string {
  const word = KINDS[kind] ?? '?';
  switch (body.case) {
    case 'message':
      return `${word} ${textOf(body.value)}`;
    case 'tool':
      return `${word} ${body.value.id}`;
    case 'result':
      return `${word} ${body.value.id}`;
    case 'end':
      return `${word} ${body.value.state}`;
    case 'executionStart':
      return `${word} ${body.value.inputCount}`;
    default:
      return word;
  }
}

const events = async () => (await store.read(UID, { from: 1 })).map(({ event }) => event);
const told = async () => (await events()).map(shown);

const read = async (lines: readonly unknown[]): Promise<readonly string[]> => {
  appendFileSync(file, jsonl(lines));
  await (await open()).look();
  return told();
};

const turn = (n: number) => [
  prompt(`p${n}`, `do ${n}`),
  call(`c${n}`, `call${n}`, `echo ${n}`),
  result(`r${n}`, `call${n}`, `${n}`),
  answer(`a${n}`, `done ${n}`),
  duration(`d${n}`),
];
const tellsTurn = (n: number) => [
  'start 1',
  `input do ${n}`,
  `call call${n}`,
  'usage',
  `result call${n}`,
  `output done ${n}`,
  'usage',
  'end COMPLETED',
];

describe('a conversation', () => {
  it('is written as executions: what was said, what was called, what came of it, what it took', async () => {
    expect(await read([...noise(), ...turn(1), ...noise(), ...turn(2)])).toEqual([
      ...tellsTurn(1),
      ...tellsTurn(2),
    ]);
    const [start, said, called, used] = await events();
    expect(new Set((await events()).map(({ executionId }) => executionId)).size).toBe(2);
    expect(said?.executionId).toMatch(/^[0-9a-f]{16}$/);
    if (start?.body.case !== 'executionStart') throw new Error('no start');
    expect(start.body.value.harness).toBe('gascity');
    expect(JSON.parse(Buffer.from(start.body.value.config).toString())).toEqual({
      gascity: { evidence: 'transcript', program: 'claude', conversation: 'conversation' },
    });
    expect(called?.body).toMatchObject({
      value: { tool: 'Bash', args: { command: 'echo 1' }, mediation: 1 },
    });
    expect(used?.body).toMatchObject({
      value: { model: 'claude-opus-4-8', inputTokens: 15n, outputTokens: 7n },
    });
  });

  it('ends a turn without a word of its end where the next one begins', async () => {
    const told = await read([prompt('p1', 'one'), answer('a1', 'half', null), ...turn(2)]);
    expect(told).toEqual(['start 1', 'input one', 'output half', 'usage', 'end COMPLETED', ...tellsTurn(2)]);
  });

  it('cancels a turn that is interrupted, also when the next prompt stands before its last lines', async () => {
    const told = await read([
      prompt('p1', 'one'),
      call('c1', 'call1', 'sleep 20'),
      prompt('p2', 'two'),
      result('r1', 'call1', 'rejected', true),
      interrupted('i1'),
      answer('a2', 'done two'),
      duration('d2'),
    ]);
    expect(told).toEqual([
      'start 1',
      'input one',
      'call call1',
      'usage',
      'result call1',
      'end CANCELED',
      'start 1',
      'input two',
      'output done two',
      'usage',
      'end COMPLETED',
    ]);
  });

  it('puts a prompt before what it caused, whatever stands first in the file', async () => {
    const [first, ...rest] = turn(1);
    const [caused, ...others] = rest;
    expect(await read([caused, first, ...others])).toEqual(tellsTurn(1));
  });

  it('tells of a turn that failed', async () => {
    expect(await read([prompt('p1', 'one'), failure('f1', 'API Error: 529'), duration('d1')])).toEqual([
      'start 1',
      'input one',
      'error',
      'end FAILED',
    ]);
  });

  it('tells of a turn that nobody asked for as one without an input', async () => {
    expect(await read([...turn(1), answer('a2', 'by the way'), duration('d2')])).toEqual([
      ...tellsTurn(1),
      'start 0',
      'output by the way',
      'usage',
      'end COMPLETED',
    ]);
  });

  it('takes what one answer took once, however many lines repeat it', async () => {
    const told = await read([
      prompt('p1', 'one'),
      answer('t1', 'first', null, 'm1'),
      call('c1', 'x', 'echo', 'm1'),
      call('c2', 'y', 'echo', 'm1'),
      result('r1', 'x', '1'),
      result('r2', 'y', '2'),
      answer('a1', 'done'),
    ]);
    expect(told.filter((line) => line === 'usage')).toHaveLength(2);
  });

  it('goes on across a compaction, which is a fact', async () => {
    const told = await read([...turn(1), boundary('b1'), ...noise(), ...turn(2)]);
    expect(told).toEqual([...tellsTurn(1), 'fact', ...tellsTurn(2)]);
    const fact = (await events()).find(({ kind }) => kind === EventKind.EVENT_LIFECYCLE);
    expect(fact && cityFactOf(fact)).toEqual({
      compacted: {
        conversation: 'conversation',
        trigger: 'auto',
        tokens_before: 150_000,
        evidence: 'transcript',
      },
    });
  });

  it('keeps large outputs beside the log, and texts that no log can hold readable', async () => {
    await read([
      prompt('p1', 'half a pair: \ud83d.'),
      call('c1', 'call1', 'cat big'),
      result('r1', 'call1', 'x'.repeat(200_000)),
      answer('a1', 'done'),
    ]);
    const found = (await events()).find(({ kind }) => kind === EventKind.EVENT_TOOL_RESULT);
    if (found?.body.case !== 'result') throw new Error('no result');
    expect(found.body.value.outputUri).not.toBe('');
    expect(found.body.value.outputDigest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect((await told())[1]).toBe('input half a pair: \ufffd.');
  });
});

describe('every entry is written once', () => {
  it('DUR-09 in whatever pieces the file grows, and whoever reads it next', async () => {
    const text = jsonl([
      ...turn(1),
      ...noise(),
      prompt('p2', 'zwei ü'),
      call('c2', 'call2', 'sleep'),
      prompt('p3', 'three'),
      result('r2', 'call2', 'no', true),
      interrupted('i2'),
      answer('a3', 'done three'),
      ...turn(4),
    ]);
    const bytes = Buffer.from(text);
    appendFileSync(file, bytes);
    await (await open()).look();
    const whole = await told();
    const cuts = fc.array(fc.integer({ min: 0, max: bytes.length }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(cuts, fc.boolean(), async (places, restarts) => {
        store = new MemoryLogStore();
        await store.create({ uid: UID, project: 'test' });
        const path = join(dir, `${places.join('-')}-${restarts}.jsonl`);
        let log: ConversationLog | undefined;
        let done = 0;
        for (const place of [...places.sort((a, b) => a - b), bytes.length]) {
          appendFileSync(path, bytes.subarray(done, place));
          done = place;
          if (restarts) log = undefined;
          log ??= await open(path);
          await log.look();
        }
        expect(await told()).toEqual(whole);
      }),
      { numRuns: 25 },
    );
  });

  it('after a crash between writing and noting how far it was read', async () => {
    await read([prompt('p1', 'one'), call('c1', 'call1', 'x')]);
    const kept = db.outbox.cursor(UID, file);
    await read([result('r1', 'call1', '1'), answer('a1', 'done')]);
    const before = await told();
    await db.write(() => db.outbox.keepCursor(UID, file, kept));
    expect(await read([])).toEqual(before);
    expect(await read(turn(2))).toEqual([...before, ...tellsTurn(2)]);
  });

  it('DUR-08 when the conversation goes on in a copy under another name', async () => {
    await read(turn(1));
    const copy = join(dir, 'other.jsonl');
    writeFileSync(copy, jsonl([...turn(1), ...turn(2)]));
    await (await open(copy)).look();
    expect(await told()).toEqual([...tellsTurn(1), ...tellsTurn(2)]);
  });

  it('when the file is cut and written anew', async () => {
    await read([...turn(1), ...turn(2)]);
    const log = await open();
    truncateSync(file, 0);
    appendFileSync(file, jsonl([...turn(2), ...turn(3)]));
    await log.look();
    expect(await told()).toEqual([...tellsTurn(1), ...tellsTurn(2), ...tellsTurn(3)]);
  });

  it('DUR-06 an entry that says something else than before is told as that, and what was written stands', async () => {
    await read(turn(1));
    writeFileSync(file, jsonl([prompt('p1', 'do 1'), answer('a1', 'rewritten'), ...turn(2)]));
    await (await open()).look();
    const lines = await told();
    expect(lines.slice(0, 8)).toEqual(tellsTurn(1));
    expect(lines).not.toContain('output rewritten');
    expect(lines.filter((line) => line === 'fact')).toHaveLength(1);
    expect(lines.slice(-8)).toEqual(tellsTurn(2));
  });

  it('EVT-01 a damaged line and a half-written last one are passed over, the rest is not', async () => {
    const [half, rest] = [jsonl(turn(2)).slice(0, 40), jsonl(turn(2)).slice(40)];
    appendFileSync(file, `${jsonl(turn(1))}${'\0'.repeat(100)}\n{"uuid":\n${half}`);
    const log = await open();
    await log.look();
    expect(await told()).toEqual(tellsTurn(1));
    appendFileSync(file, rest);
    await log.look();
    expect(await told()).toEqual([...tellsTurn(1), ...tellsTurn(2)]);
  });
});

describe('a session that ends in the middle of a turn', () => {
  it('ends the turn, and what a resumed conversation says after that is a turn of its own', async () => {
    appendFileSync(file, jsonl([prompt('p1', 'one'), call('c1', 'call1', 'x')]));
    await (await open()).settle();
    expect((await told()).at(-1)).toBe('end CANCELED');
    appendFileSync(file, jsonl([answer('a1', 'where was I'), duration('d1'), ...turn(2)]));
    await (await open()).look();
    expect((await told()).slice(5)).toEqual([
      'start 0',
      'output where was I',
      'usage',
      'end COMPLETED',
      ...tellsTurn(2),
    ]);
  });

  it.each(['before', 'after'])('ends it once, also when that is cut off %s it is written', async (when) => {
    appendFileSync(file, jsonl([prompt('p1', 'one'), call('c1', 'call1', 'x'), prompt('p2', 'two')]));
    const append = store.append.bind(store);
    store.append = async (uid, events, options) => {
      if (!options?.source?.endsWith(':end')) return append(uid, events, options);
      if (when === 'after') await append(uid, events, options);
      throw new Error('cut off');
    };
    await expect((await open()).settle()).rejects.toThrow('cut off');
    store.append = append;
    appendFileSync(file, jsonl([answer('a2', 'late'), duration('d2'), ...turn(3)]));
    await (await open()).look();
    expect(await told()).toEqual([
      'start 1',
      'input one',
      'call call1',
      'usage',
      'end CANCELED',
      'start 1',
      'input two',
      'end CANCELED',
      'start 0',
      'output late',
      'usage',
      'end COMPLETED',
      ...tellsTurn(3),
    ]);
  });
});
