import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../platform/clock.ts';
import { systemIds } from '../../../platform/ids.ts';
import { canonicalJson, protoJson } from '../../../protocol/canonical-json.ts';
import { input, lifecycle, textMessage, textOf } from '../../../protocol/events.ts';
import { Lifecycle_Kind, LogRecordSchema } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../../protocol/hash-chain.ts';
import { create } from '../../../protocol/protobuf.ts';
import { exportLog } from '../export.ts';
import { verifyLog } from '../verify.ts';
import { type JsonlSessionLogStore, type JsonlStoreOptions, openJsonlStore } from './jsonl-store.ts';

const UID = 'sess-000000000000000000000001';
/** Appends events from a process of its own, and says each number. */
const PROGRAM = `
import { systemClock } from '${join(import.meta.dirname, '../../../platform/clock.ts')}';
import { systemIds } from '${join(import.meta.dirname, '../../../platform/ids.ts')}';
import { input, textMessage } from '${join(import.meta.dirname, '../../../protocol/events.ts')}';
import { openJsonlStore } from '${join(import.meta.dirname, 'jsonl-store.ts')}';
const [, folder, uid, name, count] = process.argv.slice(1);
const store = await openJsonlStore({ folder, clock: systemClock, ids: systemIds });
for (let n = 1; n <= Number(count); n += 1) {
  const [record] = await store.append(uid, [input(name, textMessage('user', name + ' ' + n))]);
  process.stdout.write(record.seq + '\\n');
}
await store.close();
`;
const say = (text: string) => input('0123456789abcdef', textMessage('user', text));
const textIn = ({ event }: ChainedRecord) => (event.body.case === 'message' ? textOf(event.body.value) : '');

let folder: string;
let stores: JsonlSessionLogStore[];
let children: ChildProcess[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gc-jsonl-'));
  stores = [];
  children = [];
});
afterEach(async () => {
  for (const child of children) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  for (const store of stores) await store.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(options: Partial<JsonlStoreOptions> = {}): Promise<JsonlSessionLogStore> {
  const store = await openJsonlStore({ folder, clock: systemClock, ids: systemIds, ...options });
  stores.push(store);
  return store;
}

function appender(name: string, count: number): ChildProcess {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', '--input-type=module', '-e', PROGRAM, 'x', folder, UID, name, String(count)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  children.push(child);
  return child;
}

const file = (name: string) => join(folder, name);
const recordFile = () => readFileSync(file(`${UID}.jsonl`));

describe('the record file', () => {
  it('holds the canonical JSON of each LogRecord, and is what an export writes', async () => {
    const store = await open();
    await store.newFence(UID);
    await store.append(UID, [say('a'), say('b')]);
    const records = await store.append(UID, [say('c \u2028 😀 "')], { newIncarnation: true });
    const line = (record: ChainedRecord) => {
      const { seq, prevHash, contentHash, fence, event } = record;
      const message = { seq: BigInt(seq), prevHash, contentHash, fence: BigInt(fence), event };
      return `${canonicalJson(protoJson(LogRecordSchema, create(LogRecordSchema, message)))}\n`;
    };
    const all = await store.read(UID, {});
    expect(recordFile().toString()).toBe(all.map(line).join(''));
    expect(all.at(-1)).toMatchObject({ seq: 3, fence: 2, contentHash: records[0]?.contentHash });
    const exported: string[] = [];
    expect(await exportLog(store, UID, (text) => void exported.push(text))).toBe(3);
    expect(exported.join('')).toBe(recordFile().toString());
  });

  it('is its owner’s alone', async () => {
    const inside = join(folder, 'logs');
    const store = await open({ folder: inside });
    await store.append(UID, [say('a')], { source: 's' });
    expect(statSync(inside).mode & 0o777).toBe(0o700);
    for (const name of readdirSync(inside).filter((each) => each.startsWith(UID)))
      expect(statSync(join(inside, name)).mode & 0o777, name).toBe(0o600);
  });
});

describe('several processes', () => {
  it('DUR-01 two that append to one session at once get distinct consecutive numbers', async () => {
    const each = 75;
    const exits = ['one', 'two'].map((name) => once(appender(name, each), 'exit'));
    for (const exit of exits) expect((await exit)[0]).toBe(0);
    const store = await open();
    const records = await store.read(UID, { limit: 1000 });
    expect(records.map(({ seq }) => seq)).toEqual(Array.from({ length: 2 * each }, (_, n) => n + 1));
    expect(new Set(records.map(textIn)).size).toBe(2 * each);
    await verifyLog(store, UID);
  });

  it('one that is killed while it writes leaves a log that goes on, and no lock', async () => {
    const store = await open();
    for (const round of [1, 2]) {
      const child = appender(`r${round}`, 100_000);
      let said = '';
      child.stdout?.on('data', (data) => {
        said += String(data);
      });
      await once(child.stdout ?? child, 'data');
      const { seq } = await store.head(UID);
      await store.append(UID, [say('meanwhile')]);
      child.kill('SIGKILL');
      await once(child, 'exit');
      const acknowledged = Number(said.trim().split('\n').at(-1) ?? 0);
      const head = await store.head(UID);
      expect(head.seq).toBeGreaterThanOrEqual(Math.max(seq + 1, acknowledged));
      await store.append(UID, [say('after')], { expected: head.seq });
      await verifyLog(store, UID);
    }
  });

  it('a follower hears of what another handle appends', async () => {
    const [store, other] = [await open(), await open()];
    await store.append(UID, [say('a')]);
    const lifetime = new AbortController();
    const heard: string[] = [];
    for await (const item of store.follow(UID, { from: 1, signal: lifetime.signal })) {
      if (item.kind !== 'record') continue;
      heard.push(textIn(item.record));
      expect(Math.abs(item.recordedAt - systemClock.now())).toBeLessThan(60_000);
      if (heard.length === 1) await other.append(UID, [say('b'), say('c')]);
      if (heard.length === 3) lifetime.abort();
    }
    expect(heard).toEqual(['a', 'b', 'c']);
  });
});

describe('a log that is opened again', () => {
  it('DUR-02 goes on counting', async () => {
    await (await open()).append(UID, ['a', 'b', 'c', 'd', 'e'].map(say));
    expect((await (await open()).append(UID, [say('f')]))[0]?.seq).toBe(6);
  });

  it('EVT-01 tells what it cut off, once, where the bytes are and that numbering goes on', async () => {
    await (await open()).append(UID, [say('a')]);
    appendFileSync(file(`${UID}.jsonl`), Buffer.alloc(4096));
    const told: unknown[] = [];
    const store = await open({ onRepair: (repair) => told.push(repair) });
    expect((await store.append(UID, [say('b')]))[0]?.seq).toBe(2);
    const repair = { uid: UID, fromSeq: 2, bytes: 4096, movedTo: file(`${UID}.torn-1`) };
    expect(told).toEqual([expect.objectContaining(repair)]);
    expect(readFileSync(file(`${UID}.torn-1`)).equals(Buffer.alloc(4096))).toBe(true);
  });

  it('is read up to the damage, says where that is, and is not continued', async () => {
    const store = await open();
    await store.append(UID, [say('a'), say('b'), say('c')], { source: 's' });
    const damaged = recordFile().toString().replace('"text":"b"', '"text":"x"');
    writeFileSync(file(`${UID}.jsonl`), damaged);
    for (const each of [store, await open()]) {
      const corrupt = { code: 'log-corrupt', seq: 2, message: expect.stringContaining('record 2') };
      expect((await each.read(UID, { to: 1 })).map(textIn)).toEqual(['a']);
      await expect(each.read(UID, {})).rejects.toMatchObject(corrupt);
      await expect(each.append(UID, [say('d')])).rejects.toMatchObject(corrupt);
      await expect(verifyLog(each, UID)).rejects.toMatchObject({ code: 'log-corrupt' });
      const exported: string[] = [];
      const exporting = exportLog(each, UID, (text) => void exported.push(text));
      await expect(exporting).rejects.toMatchObject(corrupt);
      expect(exported.join('')).toBe(`${damaged.split('\n')[0]}\n`);
    }
    expect(recordFile().toString()).toBe(damaged);
  });

  it('takes in an exported file that a person put there', async () => {
    const store = await open();
    await store.append(UID, [say('a'), lifecycle(Lifecycle_Kind.LIFECYCLE_SUSPEND)]);
    const copy = 'sess-000000000000000000000002';
    writeFileSync(file(`${copy}.jsonl`), recordFile());
    chmodSync(file(`${copy}.jsonl`), 0o600);
    expect(await store.get(copy)).toMatchObject({ uid: copy, lastSeq: 2, computeState: 'COLD' });
    expect((await store.list({ limit: 9 })).map(({ uid }) => uid).sort()).toEqual([UID, copy]);
    expect((await store.append(copy, [say('b')]))[0]?.seq).toBe(3);
  });
});

describe('what is refused', () => {
  it('a file of another user', async () => {
    await (await open()).append(UID, [say('a')]);
    const owner = (process.getuid?.() ?? 0) + 1;
    await expect(open({ owner })).rejects.toMatchObject({ code: 'log-foreign' });
    await expect(open({ owner: owner - 1 })).resolves.toBeDefined();
  });

  it('a file of another format', async () => {
    const store = await open();
    await store.create({ uid: UID, project: 'p' });
    writeFileSync(file(`${UID}.session.json`), '{"format": 2}');
    const refused = { code: 'log-format', message: expect.stringContaining('format 2') };
    await expect(store.get(UID)).rejects.toMatchObject(refused);
    await expect(store.append(UID, [say('a')])).rejects.toMatchObject(refused);
    writeFileSync(file(`${UID}.session.json`), 'nonsense');
    await expect(store.get(UID)).rejects.toMatchObject({ code: 'store-corrupt' });
  });

  it('a name that no file can have; others never lead out of the folder', async () => {
    const store = await open();
    for (const uid of ['', 'x'.repeat(201)])
      await expect(store.append(uid, [say('a')])).rejects.toMatchObject({ code: 'bad-session-uid' });
    const strange = ['../x', 'a/b', 'a.jsonl', '.', 'ä b', '%2e'];
    for (const uid of strange) await store.append(uid, [say('a')]);
    expect((await store.list({ limit: 9 })).map(({ uid }) => uid).sort()).toEqual([...strange].sort());
    expect(existsSync(join(folder, '../x.jsonl'))).toBe(false);
  });

  it('anything after the store was closed', async () => {
    const store = await open();
    await store.close();
    await expect(store.head(UID)).rejects.toMatchObject({ code: 'store-closed' });
    await store.close();
  });
});

it('removing a session leaves nothing of it', async () => {
  const store = await open();
  await store.append(UID, [say('a')]);
  appendFileSync(file(`${UID}.jsonl`), 'torn');
  await store.append(UID, [say('b')]);
  expect(existsSync(file(`${UID}.torn-1`))).toBe(true);
  await store.remove(UID);
  expect(readdirSync(folder)).toEqual(['locks']);
  expect(await store.get(UID)).toBeUndefined();
});

it('an interrupted fork is not a session, and is completed by trying again', async () => {
  const store = await open();
  await store.append(UID, [say('a'), say('b')], { fence: 7 });
  const child = 'sess-000000000000000000000003';
  const marker = lifecycle(Lifecycle_Kind.LIFECYCLE_FORK, { detail: `${UID}@1` });
  const fork = { parent: UID, atSeq: 1, marker, children: [{ uid: child, name: 'c', labels: { a: 'b' } }] };
  writeFileSync(file(`${child}.session.json.fork`), '{');
  writeFileSync(file(`${child}.jsonl`), recordFile());
  expect(await store.get(child)).toBeUndefined();
  expect((await store.list({ limit: 9 })).map(({ uid }) => uid)).toEqual([UID]);
  const [row] = await store.fork(fork);
  expect(row).toMatchObject({
    name: 'c',
    labels: { a: 'b' },
    lastSeq: 2,
    fence: 1,
    parentUid: UID,
    forkSeq: 1,
  });
  expect((await store.read(child, {})).map(({ fence }) => fence)).toEqual([1, 1]);
  expect(await store.fork(fork)).toEqual([row]);
  await verifyLog(store, child);
});
