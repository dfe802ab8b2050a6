import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CityDatabase, openCityDatabase } from '../../beads/sqlite/city-database.ts';
import { FakeClock } from '../../platform/fake-clock.ts';
import { seededIds } from '../../platform/ids.ts';
import { cityFactOf } from '../../protocol/events.ts';
import { InboxStore } from '../inbox-store.ts';
import type { SessionLogStore } from '../log/session-log.ts';
import { openSessionLogStore } from '../log/sqlite/session-log-store.ts';
import { SessionStore } from '../session-store.ts';
import { cityJournal } from './city-journal.ts';
import { LOG_UID_KEY } from './facts.ts';
import { OutboxDelivery } from './outbox-delivery.ts';

const clock = new FakeClock();
let dir: string;
let db: CityDatabase;
let store: SessionLogStore;
let delivery: OutboxDelivery;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-outbox-'));
  db = openCityDatabase(join(dir, 'city.db'), clock, seededIds(1), cityJournal(seededIds(2)));
  store = openSessionLogStore(join(dir, 'sessions.db'), { clock, ids: seededIds(3) });
  delivery = new OutboxDelivery(store, 'test');
});
afterEach(async () => {
  db.close();
  await store.close();
  rmSync(dir, { recursive: true, force: true });
});

const NEW = {
  template: 'a',
  sessionName: 'a',
  origin: 'manual',
  provider: 'claude',
  workDir: '/w',
  command: 'claude --secret',
  instanceToken: 'token',
  state: 'asleep',
} as const;

const waiting = () => db.read(() => db.outbox.next(100));

/** As the pump does it; `cutOff`: it dies between the two files. */
async function deliver(cutOff = false): Promise<void> {
  const rows = await waiting();
  for (const row of rows) expect(await delivery.deliver(row, 'full')).toEqual({ kind: 'delivered' });
  const last = rows.at(-1);
  if (last && !cutOff) await db.write(() => db.outbox.delivered(last.num));
}

const kinds = async (uid: string) =>
  (await store.read(uid, { from: 1 })).map(({ event }) => cityFactOf(event)?.['kind']);

describe('what a city has to tell', () => {
  it('is committed with the change that it tells of, or neither is', async () => {
    const sessions = new SessionStore(db);
    const record = await sessions.create(NEW);
    const stale = { expectedRevision: record.revision + 7 };
    await expect(sessions.apply(record.id, { state: 'suspended' }, stale)).rejects.toThrow();
    expect(await waiting()).toHaveLength(1);
    expect(record.revision).toBe((await sessions.get(record.id)).revision);
    await sessions.apply(record.id, { state: 'asleep' });
    expect(await waiting()).toHaveLength(1);
  });

  it('DUR-02 arrives once and in order, also when whoever delivers it is killed between the two files', async () => {
    const sessions = new SessionStore(db);
    const record = await sessions.create(NEW);
    const uid = record.metadata[LOG_UID_KEY] ?? '';
    await deliver(true);
    await sessions.apply(record.id, { state: 'suspended' });
    await deliver(true);
    delivery = new OutboxDelivery(store, 'test');
    await sessions.close(record.id, 'closed');
    await deliver();
    expect(await kinds(uid)).toEqual(['created', 'suspended', 'closed']);
    expect(await waiting()).toEqual([]);
  });

  it('reaches the log of a record that had none before', async () => {
    const plain = openCityDatabase(join(dir, 'city.db'), clock, seededIds(4));
    const record = await new SessionStore(plain).create(NEW);
    plain.close();
    expect(record.metadata[LOG_UID_KEY]).toBeUndefined();
    const after = await new SessionStore(db).apply(record.id, { state: 'suspended' });
    expect(after.revision).toBe((await new SessionStore(db).get(record.id)).revision);
    await deliver();
    expect(await kinds(after.metadata[LOG_UID_KEY] ?? '')).toEqual(['created', 'suspended']);
  });

  it('is not held up by a log that was deleted', async () => {
    const sessions = new SessionStore(db);
    const [gone, other] = [await sessions.create(NEW), await sessions.create({ ...NEW, sessionName: 'b' })];
    await deliver();
    await store.markDeleted(gone.metadata[LOG_UID_KEY] ?? '');
    await sessions.close(gone.id, 'closed');
    await sessions.close(other.id, 'closed');
    const outcomes = [];
    for (const row of await waiting()) outcomes.push((await delivery.deliver(row, 'full')).kind);
    expect(outcomes).toEqual(['refused', 'delivered']);
    expect(await kinds(other.metadata[LOG_UID_KEY] ?? '')).toEqual(['created', 'closed']);
  });

  it('DUR-06 under a number that was used before, in a city that was put back, is told as well', async () => {
    const record = await new SessionStore(db).create(NEW);
    const uid = record.metadata[LOG_UID_KEY] ?? '';
    await deliver(true);
    const [row] = await waiting();
    if (!row) throw new Error('nothing waits');
    const other = { kind: 'suspended', reason: 'x', at: 'now', actor: 'gc', evidence: 'record' };
    const changed = { ...row, body: { session: { name: 'a' }, facts: [other] } };
    await delivery.deliver(changed, 'full');
    await delivery.deliver(changed, 'full');
    expect(await kinds(uid)).toEqual(['created', 'suspended']);
  });

  it('never holds a token or a command', async () => {
    const record = await new SessionStore(db).create(NEW);
    await new SessionStore(db).apply(record.id, {
      state: 'creating',
      instance_token: 'other',
      generation: '2',
    });
    const text = JSON.stringify(await waiting());
    expect(text).toContain('"starting"');
    expect(text).not.toMatch(/token|--secret/);
  });
});

describe('a message', () => {
  const message = {
    id: 'n1',
    agent: 'a',
    sessionName: 'a',
    template: 'a',
    sender: 'human',
    delivery: 'queue',
  } as const;

  it('is told with its text up to a limit, and with size and digest beyond', async () => {
    const record = await new SessionStore(db).create(NEW);
    const inbox = new InboxStore(db);
    await inbox.enqueue({ ...message, message: `${'x'.repeat(65_535)}ü and more` });
    await deliver();
    const [, fact] = (await store.read(record.metadata[LOG_UID_KEY] ?? '', { from: 1 })).map(({ event }) =>
      cityFactOf(event),
    );
    expect(fact).toMatchObject({ kind: 'nudged', id: 'n1', bytes: 65_546 });
    expect(fact?.['sha256']).toMatch(/^[0-9a-f]{64}$/);
    expect(String(fact?.['text'])).toBe('x'.repeat(65_535));
  });

  it('that came before its session had a log is told there before it is handed over, and its receipt names the hook', async () => {
    const inbox = new InboxStore(db);
    await inbox.enqueue({ ...message, message: 'early' });
    expect(await waiting()).toEqual([]);
    const record = await new SessionStore(db).create(NEW);
    await inbox.acknowledge(await inbox.take('a', record.id, 'hook'));
    await deliver();
    const uid = record.metadata[LOG_UID_KEY] ?? '';
    expect(await kinds(uid)).toEqual(['created', 'nudged', 'typed', 'accepted']);
    const facts = (await store.read(uid, { from: 1 })).map(({ event }) => cityFactOf(event));
    expect(facts[2]).toMatchObject({ way: 'hook' });
    expect(facts[3]).toMatchObject({ evidence: 'hook' });
  });
});
