import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../platform/clock.ts';
import { systemIds } from '../../../platform/ids.ts';
import { inTransaction, openDatabase, type SqliteDatabase } from '../../../platform/sqlite.ts';
import { cityFact, executionStart, lifecycle, output, textMessage } from '../../../protocol/events.ts';
import { EventSchema } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import { toBinary } from '../../../protocol/protobuf.ts';
import { verifyLog } from '../verify.ts';
import { AGENTSESSIONS_MIGRATIONS } from './agentsessions-schema.ts';
import { LogDatabase } from './log-database.ts';
import { openSessionLogStore, SqliteSessionLogStore } from './session-log-store.ts';

let dir: string;
let file: string;
const opened: SqliteSessionLogStore[] = [];
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-sessions-'));
  file = join(dir, 'sessions.db');
});
afterEach(async () => {
  for (const store of opened.splice(0)) await store.close();
  rmSync(dir, { recursive: true, force: true });
});

function open(): SqliteSessionLogStore {
  const store = openSessionLogStore(file, { clock: systemClock, ids: systemIds });
  opened.push(store);
  return store;
}

/** The file without our store. */
function raw<T>(work: (db: SqliteDatabase) => T, versions = 2): T {
  const db = openDatabase(file, { migrations: AGENTSESSIONS_MIGRATIONS.slice(0, versions) });
  try {
    return work(db);
  } finally {
    db.close();
  }
}

const say = (text: string) => output('e1', textMessage('assistant', text));
const mustBe = (codes: RegExp) => (error: unknown) =>
  expect(error).toMatchObject({ code: expect.stringMatching(codes), message: expect.stringMatching(/\S/) });
const failing = (code: string) => expect.objectContaining({ code });

describe('the file of session logs', () => {
  it('has the tables of the protocol at version 2, is owner-only and keeps ours apart', () => {
    open();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    raw((db) => {
      expect(db.pragma('user_version', { simple: true })).toBe(2);
      expect(db.pragma('journal_mode', { simple: true })).toBe('wal');
      const names = db.prepare(`SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'`).pluck().all();
      const theirs = (names as string[]).filter((name) => !name.startsWith('gascity_')).sort();
      expect(theirs).toEqual([
        ...['events', 'harnesses', 'reserved_harness_names'],
        ...['sessions', 'sessions_harness', 'sessions_project_created'],
      ]);
      const columns = (table: string) =>
        (db.pragma(`table_info(${table})`) as { name: string }[]).map(({ name }) => name).join(' ');
      expect(columns('events')).toBe('session seq prev_hash hash fence event');
      expect(columns('sessions')).toBe(
        'session fence project name harness model parent_uid fork_seq compute_state created_at updated_at labels annotations origin identity',
      );
      expect(columns('harnesses')).toBe(
        'name uid spec spec_digest state retire_reason retired_at created_at updated_at',
      );
    });
  });

  it('takes over a file of version 1, and reserves the harness names that were in use', () => {
    const start = toBinary(EventSchema, executionStart('e1', { inputCount: 0, harness: 'from-event' }));
    raw((db) => {
      db.prepare(`INSERT INTO sessions (session, harness) VALUES ('s', 'from-row')`).run();
      db.prepare(`INSERT INTO events VALUES ('s', 1, '', 'h', 1, ?)`).run(start);
    }, 1);
    const { harnesses } = open();
    expect(['from-row', 'from-event', 'other'].map((name) => harnesses.isReserved(name))).toEqual([
      ...[true, true, false],
    ]);
  });

  it('leaves a file of version 1 as it is when a record in it cannot be read', () => {
    raw((db) => db.prepare(`INSERT INTO events VALUES ('s', 1, '', 'h', 1, x'ffffff')`).run(), 1);
    expect(() => open()).toThrow(failing('log-corrupt'));
    raw((db) => expect(db.pragma('user_version', { simple: true })).toBe(1), 1);
  });

  it.each([3, -1])('refuses a file of version %i before it writes anything', (version) => {
    const db = openDatabase(file, { migrations: [] });
    db.pragma('journal_mode = DELETE');
    db.pragma(`user_version = ${version}`);
    db.close();
    const before = readFileSync(file);
    expect(() => open()).toThrow(failing('store-newer'));
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it.each<[string, string]>([
    ['of somebody else', 'CREATE TABLE mine (x); INSERT INTO mine VALUES (1)'],
    ['with a version of ours', 'CREATE TABLE mine (x); PRAGMA user_version = 2'],
    ['with a later version of its own', 'CREATE TABLE events (x); PRAGMA user_version = 4'],
    [
      'with tables of our names',
      'CREATE TABLE sessions (x); CREATE TABLE events (y); PRAGMA user_version = 1',
    ],
  ])('leaves a database %s as it is', (_, sql) => {
    const db = openDatabase(file, { migrations: [] });
    db.pragma('journal_mode = DELETE');
    db.exec(sql);
    db.close();
    const before = readFileSync(file);
    expect(() => open()).toThrow(failing('no-session-logs'));
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it('takes over the tables of a file from before versions were noted', async () => {
    raw((db) => {
      db.prepare(`INSERT INTO sessions (session, harness) VALUES ('s', 'old')`).run();
      db.pragma('user_version = 0');
    }, 1);
    const store = open();
    expect((await store.get('s'))?.harness).toBe('old');
    expect(store.harnesses.isReserved('old')).toBe(true);
  });

  it('says what is wrong with a file that was cut off or changed anywhere, and reads what is sound', async () => {
    const whole = open();
    for (let n = 0; n < 40; n += 1) await whole.append(`s${n % 3}`, [say('x'.repeat(n * 100))]);
    await whole.close();
    const sound = readFileSync(file);
    const known = /^(store-corrupt|log-corrupt|no-session-logs)$/;
    for (let n = 0; n < 30; n += 1) {
      for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true });
      const at = Math.floor((sound.length * n) / 30);
      const damaged = n % 2 === 0 ? Buffer.from(sound.subarray(0, at)) : Buffer.from(sound);
      if (n % 2 === 1)
        for (let each = at; each < at + 40; each += 3)
          damaged.writeUInt8(255 - (damaged[each % sound.length] ?? 0), each % sound.length);
      writeFileSync(file, damaged);
      try {
        const store = open();
        for (const uid of ['s0', 's1', 's2']) await store.read(uid, {}).catch(mustBe(known));
        await store.append('s0', [say('more')]).catch(mustBe(known));
        await store.close();
      } catch (error) {
        mustBe(known)(error);
      }
    }
  });

  it('that was removed or replaced takes nothing that somebody would rely on', async () => {
    const store = open();
    await store.append('s', [say('kept')]);
    rmSync(file);
    await expect(store.append('s', [say('lost')])).rejects.toEqual(failing('store-removed'));
    const other = openSessionLogStore(file, { clock: systemClock, ids: systemIds });
    opened.push(other);
    await expect(store.newFence('s')).rejects.toEqual(failing('store-removed'));
    expect(await other.head('s')).toMatchObject({ seq: 0, fence: 0 });
  });

  it('is a file: a folder under its name is said so', () => {
    expect(() => openSessionLogStore(dir, { clock: systemClock, ids: systemIds })).toThrow(
      expect.objectContaining({ code: 'store-unwritable', message: expect.stringContaining('not a file') }),
    );
  });

  it('refuses tables of ours that are newer', async () => {
    await open().close();
    raw((db) => db.prepare('UPDATE gascity_schema SET version = 99').run());
    expect(() => open()).toThrow(failing('store-newer'));
  });

  it('holds the chain as other programs recompute it, forks included', async () => {
    const store = open();
    await store.append('s', [say('häß 😀'), cityFact({ kind: 'woke', n: 1 }), lifecycle(2)]);
    await store.fork({
      parent: 's',
      atSeq: 2,
      marker: lifecycle(3),
      children: [{ uid: 'c', name: '', labels: {} }],
    });
    expect((await verifyLog(store, 'c')).records).toBe(3);
    const rows = raw((db) =>
      db.prepare('SELECT session, seq, prev_hash AS prev, hash FROM events ORDER BY session, seq').all(),
    ) as { session: string; seq: number; prev: string; hash: string }[];
    for (const row of rows) {
      const before = rows.find(({ session, seq }) => session === row.session && seq === row.seq - 1);
      expect(row.prev).toBe(before?.hash ?? '');
      expect(row.hash).toMatch(/^[0-9a-f]{64}$/);
    }
  });
});

describe('a session log in SQLite', () => {
  it('says what is full, loses nothing that was acknowledged, and works again when there is space', async () => {
    const options = { file, clock: systemClock, ids: systemIds };
    const database = new LogDatabase(options);
    const store = new SqliteSessionLogStore(options, database);
    opened.push(store);
    await store.append('s', [say('kept')]);
    // As on a disk that is full: the file may not grow beyond a few pages.
    database.db.pragma('max_page_count = 40');
    const big = say('x'.repeat(400_000));
    await expect(store.append('s', [say('not'), big])).rejects.toThrow(failing('store-full'));
    await expect(store.append('t', [big])).rejects.toThrow(failing('store-full'));
    expect((await verifyLog(store, 's')).records).toBe(1);
    expect(await store.get('t')).toBeUndefined();
    database.db.pragma('max_page_count = 1000000');
    await store.append('s', [big], { expected: 1 });
    expect((await verifyLog(store, 's')).records).toBe(2);
  });

  it('waits for another writer without an error and without holding up the process', async () => {
    const store = open();
    await store.create({ uid: 's', project: 'p' });
    const other = openDatabase(file, { migrations: AGENTSESSIONS_MIGRATIONS });
    other.exec('BEGIN IMMEDIATE');
    const appending = store.append('s', [say('late')]);
    let turns = 0;
    while (turns < 20) {
      turns += 1;
      await systemClock.sleep(1);
    }
    other.exec('COMMIT');
    other.close();
    expect((await appending)[0]?.seq).toBe(1);
  });

  it('refuses a record above the limit by its size, and keeps the number for the next', async () => {
    const store = open();
    const huge = say('x'.repeat(64 * 1024 * 1024));
    await expect(store.append('s', [huge])).rejects.toThrow(/67108\d{3} bytes is larger than 67108864/);
    expect((await store.append('s', [say('a')]))[0]?.seq).toBe(1);
  });

  it('finds a gap, a foreign record and a cut end', async () => {
    const store = open();
    for (const uid of ['gap', 'swapped', 'sound']) await store.append(uid, ['a', 'b', 'c', 'd'].map(say));
    raw((db) =>
      inTransaction(db, () => {
        db.exec(`DELETE FROM events WHERE session = 'gap' AND seq = 2`);
        db.exec(`DELETE FROM events WHERE session = 'swapped' AND seq = 4`);
        db.exec(
          `INSERT INTO events SELECT 'swapped', 4, prev_hash, hash, fence, event FROM events WHERE session = 'sound' AND seq = 3`,
        );
      }),
    );
    await expect(verifyLog(store, 'gap')).rejects.toThrow(
      expect.objectContaining({ code: 'log-corrupt', seq: 2 }),
    );
    await expect(verifyLog(store, 'swapped')).rejects.toThrow(
      expect.objectContaining({ code: 'log-corrupt', seq: 4 }),
    );
    expect((await verifyLog(store, 'sound')).records).toBe(4);
  });

  it('keeps registered harnesses and reserved names, decided in one transaction', async () => {
    const { harnesses } = open();
    const at = harnesses.now();
    const row = {
      ...{ name: 'h', uid: 'harness-1', spec: '{}', specDigest: 'sha256:0', state: 'active' as const },
      ...{ retireReason: '', retiredAt: 0n, createdAt: at, updatedAt: at },
    };
    expect(await harnesses.put('h', (current) => (current ? undefined : row))).toEqual(row);
    expect(await harnesses.put('h', (current) => (current ? undefined : row))).toBeUndefined();
    await expect(harnesses.reserve(['x', 'h'])).rejects.toThrow(failing('harness-registered'));
    expect(harnesses.isReserved('x')).toBe(false);
    await harnesses.reserve(['x']);
    const again = open().harnesses;
    expect([again.find('h'), again.isReserved('x'), await again.list()]).toEqual([row, true, [row]]);
    expect(harnesses.now()).toBeGreaterThan(at);
  });
});
