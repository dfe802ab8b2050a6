import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CityDatabase, openCityDatabase } from '../../beads/sqlite/city-database.ts';
import { FakeClock } from '../../platform/fake-clock.ts';
import { seededIds } from '../../platform/ids.ts';
import { cityFactOf, textOf } from '../../protocol/events.ts';
import { type Event, EventKind, Mediation } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { BlobStore } from '../log/blobs/blob-store.ts';
import { MemoryLogStore } from '../log/testing/memory-log-store.ts';
import { verifyLog } from '../log/verify.ts';
import { AcpTranscriptReader } from '../transcript/acp/acp-reader.ts';
import { WrittenJournal } from '../transcript/testing/acp-journal.ts';
import { ConversationLog } from './conversation-log.ts';

const UID = `sess-${'a'.repeat(24)}`;
const clock = new FakeClock();

let dir: string;
let db: CityDatabase;
let store: MemoryLogStore;
let journal: WrittenJournal;

async function anew(): Promise<void> {
  store = new MemoryLogStore();
  await store.create({ uid: UID, project: 'test' });
}

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'gc-acp-conversation-'));
  db = openCityDatabase(join(dir, 'city.db'), clock, seededIds(1));
  journal = new WrittenJournal({ runtimeDir: dir, session: 'worker', clock });
  await anew();
});
afterEach(async () => {
  expect(await verifyLog(store, UID)).toMatchObject({ records: (await store.head(UID)).seq });
  db.close();
  await store.close();
  rmSync(dir, { recursive: true, force: true });
});

/** As a controller that has just come up. */
async function open(): Promise<ConversationLog> {
  const reader = new AcpTranscriptReader(dir);
  const place = { session: 'worker', workDir: '/work', keys: ['c1'], aloneInWorkDir: false };
  const file = (await reader.locate(place)) ?? '';
  const blobs = new BlobStore(join(dir, 'blobs'), clock);
  return ConversationLog.open(
    { db, store, blobs, tellFirst: async () => undefined },
    { uid: UID, file, reader, since: 0 },
  );
}

const events = async () => (await store.read(UID, { from: 1 })).map(({ event }) => event);

function shown({ kind, body, ...event }: Event): string {
  switch (body.case) {
    case 'executionStart':
      return `start ${body.value.inputCount}`;
    case 'message':
      return `${kind === EventKind.EVENT_INPUT ? 'input' : 'output'} ${textOf(body.value)}`;
    case 'tool':
      return `call ${body.value.id}`;
    case 'result':
      return `result ${body.value.id}`;
    case 'error':
      return `error ${body.value.description}`;
    case 'end':
      return `end ${body.value.state}`;
    default:
      return Object.keys(cityFactOf({ kind, body, ...event }) ?? {}).join();
  }
}

const told = async () => (await events()).map(shown);
const read = async () => {
  await (await open()).look();
  return told();
};
const tellsTurn = (n: number) => [
  'start 1',
  `input do ${n}`,
  `call call${n}`,
  `result call${n}`,
  `output done ${n}`,
  'end COMPLETED',
];
const OPTIONS = [{ id: 'allow', name: 'Yes', kind: 'allow_once' }];
const asks = (question: string) =>
  ({ kind: 'asked', question, call: 't', title: 'Run ls', detail: 'ls', options: OPTIONS }) as const;

describe('the conversation of an ACP session', () => {
  it('is written as executions, by the evidence of the protocol', async () => {
    journal.open().turn(1).turn(2);
    expect(await read()).toEqual([...tellsTurn(1), ...tellsTurn(2)]);
    const [start, , called, result] = await events();
    if (start?.body.case !== 'executionStart') throw new Error('no start');
    expect(JSON.parse(Buffer.from(start.body.value.config).toString())).toEqual({
      gascity: { evidence: 'protocol', program: 'acp', conversation: 'c1' },
    });
    expect(called?.body.value).toMatchObject({
      tool: 'execute',
      args: { description: 'Run echo 1', command: 'echo 1' },
      mediation: Mediation.IN_HARNESS_REPORTED,
    });
    expect(result?.body.value).toMatchObject({ id: 'call1', isError: false });
    expect(new Set((await events()).map(({ executionId }) => executionId)).size).toBe(2);
  });

  it('tells how each turn ended: by itself, with nothing said, cancelled, in an error', async () => {
    journal
      .open()
      .prompt('a')
      .end()
      .prompt('b')
      .call('t', 'x')
      .end('cancelled')
      .prompt('c')
      .end('error: no credit');
    expect(await read()).toEqual([
      'start 1',
      'input a',
      'end COMPLETED',
      'start 1',
      'input b',
      'call t',
      'end CANCELED',
      'start 1',
      'input c',
      'error no credit',
      'end FAILED',
    ]);
  });

  it('shows at once what the agent says without having been asked', async () => {
    journal.open().say('by the way').call('t', 'x');
    expect(await read()).toEqual(['start 0', 'output by the way', 'call t']);
    journal.result('t', 'ok').say('done').prompt('next');
    const lines = ['result t', 'output done', 'end COMPLETED', 'start 1', 'input next'];
    expect((await read()).slice(3)).toEqual(lines);
    journal.end().turn(2);
    expect((await read()).slice(3)).toEqual([...lines, 'end COMPLETED', ...tellsTurn(2)]);
  });

  it('tells what the agent asked and what it was answered, as facts that name the protocol', async () => {
    journal.open().prompt('a').call('t', 'ls').note(asks('q1'));
    expect(await read()).toEqual(['start 1', 'input a', 'call t', 'asked']);
    journal.note({ kind: 'answered', question: 'q1', by: 'client', option: 'allow' });
    journal.note(asks('q2')).note({ kind: 'answered', question: 'q2', by: 'cancel' }).end('cancelled');
    expect((await read()).slice(4)).toEqual(['answered', 'asked', 'answered', 'end CANCELED']);
    const facts = (await events()).map(cityFactOf).filter((fact) => fact !== undefined);
    const at = expect.stringMatching(/^2026-01-01T00:00:00/);
    expect(facts.slice(0, 2)).toEqual([
      {
        asked: {
          conversation: 'c1',
          id: 'q1',
          call: 't',
          title: 'Run ls',
          detail: 'ls',
          options: OPTIONS,
          at,
          evidence: 'protocol',
        },
      },
      {
        answered: {
          conversation: 'c1',
          id: 'q1',
          by: 'client',
          option: 'allow',
          reason: 'allow',
          at,
          evidence: 'protocol',
        },
      },
    ]);
    expect(facts[3]).toMatchObject({ answered: { id: 'q2', by: 'cancel' } });
    expect(facts[3]?.['answered']).not.toHaveProperty('option');
  });

  it('ends the turn that a killed host left open when the next life goes on with the conversation', async () => {
    journal.open().turn(1).prompt('two').call('t', 'x');
    expect((await read()).slice(-1)).toEqual(['call t']);
    journal.open('c1', 'loaded').turn(3);
    expect((await read()).slice(6)).toEqual([
      'start 1',
      'input two',
      'call t',
      'end CANCELED',
      ...tellsTurn(3),
    ]);
  });

  it('ends the open turn with the session, once, and takes a resumed conversation up behind it', async () => {
    journal.open().prompt('one').call('t', 'x');
    await (await open()).settle();
    await (await open()).settle();
    journal.result('t', 'late').end('error: the agent is gone').close();
    journal.open('c1', 'loaded').turn(2);
    const lines = await read();
    expect(lines.slice(0, 4)).toEqual(['start 1', 'input one', 'call t', 'end CANCELED']);
    expect(lines.slice(-6)).toEqual(tellsTurn(2));
    expect(lines.filter((line) => line.startsWith('result'))).toEqual([`result call2`]);
  });

  it('tells a call once, however often and late its agent speaks of it, with what it was called with', async () => {
    journal.open().prompt('a');
    journal.update({ id: 't', title: 'bash', status: 'pending' });
    journal.say('let me see').call('t', 'ls').result('t', 'out').result('t', 'again').end();
    expect(await read()).toEqual([
      'start 1',
      'input a',
      'output let me see',
      'call t',
      'result t',
      'end COMPLETED',
    ]);
    expect((await events())[3]?.body.value).toMatchObject({ args: { command: 'ls' } });
  });
});

describe('every line is written once', () => {
  const write = () =>
    journal.open().turn(1).prompt('two').note(asks('q')).call('t', 'x').end('cancelled').turn(3);

  it('DUR-09 wherever a controller is killed: before or after any record, or before it notes how far it was', async () => {
    write();
    const whole = await read();
    const records = whole.length;
    for (let cut = 0; cut < records; cut += 1) {
      for (const when of ['before', 'after', 'noted'] as const) {
        await anew();
        await db.write(() => db.connection.exec('DELETE FROM log_cursors'));
        await dies(cut, when);
        expect(await read(), `cut ${when} append ${cut}`).toEqual(whole);
        expect(await read()).toEqual(whole);
      }
    }
  });

  /** A controller that is killed at its append number `cut`, or at the note after it. */
  async function dies(cut: number, when: 'before' | 'after' | 'noted'): Promise<void> {
    const append = store.append.bind(store);
    let appends = 0;
    store.append = async (uid, list, options) => {
      if (appends === cut && when === 'before') throw new Error('killed');
      const done = await append(uid, list, options);
      appends += 1;
      if (appends === cut + 1 && when === 'after') throw new Error('killed');
      return done;
    };
    const log = await open();
    const note = db.outbox.keepCursor;
    if (when === 'noted') {
      db.outbox.keepCursor = () => {
        throw new Error('killed');
      };
    }
    await log.look().catch(() => undefined);
    db.outbox.keepCursor = note;
    store.append = append;
  }
});
