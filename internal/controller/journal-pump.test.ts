import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CityDatabase, openCityDatabase } from '../beads/sqlite/city-database.ts';
import { FakeClock } from '../platform/fake-clock.ts';
import { seededIds } from '../platform/ids.ts';
import { textOf } from '../protocol/events.ts';
import { cityJournal } from '../session/journal/city-journal.ts';
import { LOG_UID_KEY } from '../session/journal/facts.ts';
import { MemoryLogStore } from '../session/log/testing/memory-log-store.ts';
import type { SessionRecord } from '../session/record.ts';
import { SessionStore } from '../session/session-store.ts';
import { ClaudeTranscriptReader } from '../session/transcript/claude-reader.ts';
import { CodexTranscriptReader } from '../session/transcript/codex-reader.ts';
import { answer, duration, jsonl, prompt } from '../session/transcript/testing/claude-lines.ts';
import { JournalPump } from './journal-pump.ts';

const WORK_DIR = '/somewhere/work';

let dir: string;
let clock: FakeClock;
let db: CityDatabase;
let store: SessionStore;
let logs: MemoryLogStore;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-pump-'));
  clock = new FakeClock();
  const ids = seededIds(1);
  db = openCityDatabase(join(dir, 'city.db'), clock, ids, cityJournal(ids));
  store = new SessionStore(db);
  logs = new MemoryLogStore();
});
afterEach(async () => {
  db.close();
  await logs.close();
  rmSync(dir, { recursive: true, force: true });
});

/** A controller that has just come up: it remembers nothing. */
function aPump(): JournalPump {
  const transcripts = [
    new CodexTranscriptReader([join(dir, 'codex')]),
    new ClaudeTranscriptReader([join(dir, 'claude')]),
  ];
  return new JournalPump({
    parts: { db, store, transcripts, logs: async () => logs, logFile: join(dir, 'sessions.db'), clock },
    city: 'test',
    trouble: (error) => {
      throw error;
    },
  });
}

interface Life {
  readonly record: SessionRecord;
  readonly since: number;
  readonly uid: string;
}

async function aLife(name: string, program: 'codex' | 'claude'): Promise<Life> {
  await clock.advance(60_000);
  const record = await store.create({
    template: name,
    sessionName: name,
    origin: 'manual',
    provider: program,
    providerKind: program,
    workDir: WORK_DIR,
    command: program,
    instanceToken: 't',
    state: 'active',
  });
  return { record, since: clock.now(), uid: record.metadata[LOG_UID_KEY] ?? '' };
}

const look = ({ record, since, uid }: Life, pump = aPump(), key = '') =>
  pump.look(uid, { program: record.provider, work_dir: WORK_DIR, key, since });

/** What was said in the conversations of a log. */
const saidIn = async ({ uid }: Life): Promise<readonly string[]> =>
  (await logs.read(uid, {})).flatMap(({ event }) =>
    event.body.case === 'message' ? [textOf(event.body.value)] : [],
  );

let conversations = 0;

/** Codex began a conversation in the work dir, now. */
function codexFile(...words: readonly string[]): string {
  conversations += 1;
  const id = `01a22c1c-f6e8-76b2-9ba4-${String(conversations).padStart(12, '0')}`;
  const file = join(dir, 'codex', '2026', '01', '01', `rollout-${id}.jsonl`);
  mkdirSync(dirname(file), { recursive: true });
  const timestamp = new Date(clock.now()).toISOString();
  const head = { timestamp, type: 'session_meta', payload: { id, cwd: WORK_DIR, timestamp } };
  writeFileSync(file, `${JSON.stringify(head)}\n`);
  for (const word of words) codexTurn(file, word);
  return file;
}

function codexTurn(file: string, word: string): void {
  const line = (type: string, payload: object) =>
    `${JSON.stringify({ timestamp: new Date(clock.now()).toISOString(), type, payload })}\n`;
  const message = (role: string, text: string) =>
    line('response_item', {
      type: 'message',
      id: `${role}-${word}`,
      role,
      content: [{ type: role === 'user' ? 'input_text' : 'output_text', text }],
      ...(role === 'user'
        ? { internal_chat_message_metadata_passthrough: { content_item_kinds: ['user.text'] } }
        : {}),
    });
  appendFileSync(
    file,
    line('event_msg', { type: 'task_started', turn_id: word }) +
      message('user', word) +
      message('assistant', `done ${word}`) +
      line('event_msg', { type: 'task_complete', turn_id: word }),
  );
}

describe('DUR-16 of two sessions in one folder no conversation is told to both, or to the wrong one', () => {
  it('what one began that is closed since is not the other’s, also for a new controller', async () => {
    const first = await aLife('first', 'codex');
    const second = await aLife('second', 'codex');
    codexFile('of the second');
    await clock.advance(60_000);
    await store.close(second.record.id, 'closed');
    await look(first);
    expect(await saidIn(first)).toEqual([]);
  });

  it('what was over before it began does not keep a session from its own', async () => {
    const first = await aLife('first', 'codex');
    codexFile('of the first');
    await store.close(first.record.id, 'closed');
    const second = await aLife('second', 'codex');
    codexFile('of the second');
    await look(second);
    expect(await saidIn(second)).toEqual(['of the second', 'done of the second']);
  });

  it('one that was followed already is followed on when another comes beside it, also by a new controller', async () => {
    const first = await aLife('first', 'codex');
    const file = codexFile('one');
    await look(first);
    const second = await aLife('second', 'codex');
    codexFile('of the second');
    codexTurn(file, 'two');
    await look(first);
    await look(second);
    expect(await saidIn(first)).toEqual(['one', 'done one', 'two', 'done two']);
    expect(await saidIn(second)).toEqual([]);
  });

  it('a file that was read into one log is read into no other, also by a new controller', async () => {
    const folder = join(dir, 'claude', WORK_DIR.replaceAll('/', '-'));
    mkdirSync(folder, { recursive: true });
    const lines = [prompt('p1', 'do it'), answer('a1', 'done'), duration('d1')];
    writeFileSync(join(folder, 'latest-session.jsonl'), jsonl(lines));
    const [first, second] = [await aLife('first', 'claude'), await aLife('second', 'claude')];
    await look(first, aPump(), 'key-1');
    await look(second, aPump(), 'key-2');
    expect([await saidIn(first), await saidIn(second)]).toEqual([['do it', 'done'], []]);
  });
});
