import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../platform/clock.ts';
import { systemIds } from '../../../platform/ids.ts';
import { input, lifecycle, textMessage } from '../../../protocol/events.ts';
import { Lifecycle_Kind } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import { exportLog } from '../export.ts';
import { FailingFiles } from '../testing/failing-files.ts';
import { MemoryFiles } from '../testing/memory-files.ts';
import { verifyLog } from '../verify.ts';
import type { LogFiles } from './files.ts';
import { type JsonlSessionLogStore, openJsonlStore } from './jsonl-store.ts';

const UID = 'sess-000000000000000000000001';
const CHILD = 'sess-000000000000000000000002';
const say = (text: string) => input('0123456789abcdef', textMessage('user', text));

/** Locks are on the disk, everything else is in memory: fast enough for every call of every act. */
let root: string;
let folder: string;
let disk: MemoryFiles;
const stores: JsonlSessionLogStore[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gc-jsonl-'));
  newFolder('0');
});
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  rmSync(root, { recursive: true, force: true });
});

function newFolder(name: string): void {
  folder = join(root, name);
  disk = new MemoryFiles();
  mkdirSync(join(folder, 'locks'), { recursive: true });
}

async function open(files: LogFiles = disk): Promise<JsonlSessionLogStore> {
  const store = await openJsonlStore({ folder, clock: systemClock, ids: systemIds, files });
  stores.push(store);
  return store;
}

async function texts(store: JsonlSessionLogStore, uid = UID): Promise<string> {
  const lines: string[] = [];
  await exportLog(store, uid, (text) => void lines.push(text));
  return [...lines.join('').matchAll(/"text":\{"text":"(\w+)"/g)].map((match) => match[1]).join(' ');
}

/** One act of a store, and what the log holds before and after it. */
const ACTS: readonly {
  readonly name: string;
  readonly act: (store: JsonlSessionLogStore) => Promise<unknown>;
  readonly adds: string;
}[] = [
  { name: 'an append', act: (store) => store.append(UID, [say('c')]), adds: ' c' },
  {
    name: 'a batch with a source',
    act: (store) => store.append(UID, [say('c'), say('d'), say('e')], { source: 'inbox:7' }),
    adds: ' c d e',
  },
  {
    name: 'a batch in passing',
    act: (store) => store.append(UID, [say('c'), say('d')], { durability: 'group' }),
    adds: ' c d',
  },
  { name: 'a new incarnation', act: (store) => store.newFence(UID), adds: '' },
  { name: 'a new name', act: (store) => store.update(UID, { name: 'n' }), adds: '' },
  {
    name: 'a fork',
    act: (store) =>
      store.fork({
        parent: UID,
        atSeq: 2,
        marker: lifecycle(Lifecycle_Kind.LIFECYCLE_FORK, { detail: `${UID}@2` }),
        children: [{ uid: CHILD, name: 'child', labels: {} }],
      }),
    adds: '',
  },
  { name: 'a list', act: (store) => store.list({ limit: 10 }), adds: '' },
];

describe('every call of the disk fails once', () => {
  for (const { name, act, adds } of ACTS) {
    it(`${name}: nothing acknowledged is lost, nothing half is left, and it works again`, async () => {
      let failed = 0;
      for (let n = 1; ; n += 1) {
        newFolder(`${n}`);
        const failing = new FailingFiles(disk);
        const store = await open(failing.files);
        await store.append(UID, [say('a')]);
        await store.append(UID, [say('b')]);
        failing.code = n % 2 === 0 ? 'EIO' : 'ENOSPC';
        failing.failAt = failing.calls + n;
        const before = failing.calls;
        const done = await act(store).then(
          () => true,
          (error: unknown) => {
            expect(error).toMatchObject({ code: 'store-full' });
            return false;
          },
        );
        if (failing.calls - before < n) break;
        failing.failAt = Number.POSITIVE_INFINITY;
        const where = `call ${n}, ${failing.names[before + n - 1]}`;
        const expected = done ? `a b${adds}` : 'a b';
        expect(await texts(store), where).toBe(expected);
        const other = await open();
        expect(await texts(other), where).toBe(expected);
        if (!done) failed += 1;
        if (!done && adds !== '') await act(store);
        if (adds === '') await act(store);
        expect(await texts(store), where).toBe(`a b${adds}`);
        await store.append(UID, [say('z')]);
        expect(await texts(other), where).toBe(`a b${adds} z`);
        expect((await verifyLog(other, UID)).records).toBe((await store.head(UID)).seq);
        expect(
          (await disk.list(folder)).filter((each) => each.includes('.torn-')),
          where,
        ).toEqual([]);
        if (name === 'a fork') {
          expect(await texts(other, CHILD), where).toBe('a b');
          expect((await other.get(CHILD))?.name).toBe('child');
        }
      }
      expect(failed).toBeGreaterThan(1);
    });
  }

  it('EVT-03 a record or a batch is one write', async () => {
    const failing = new FailingFiles(disk);
    const store = await open(failing.files);
    await store.append(UID, [say('a')]);
    for (const batch of [['b'], ['c', 'd', 'x'.repeat(20_000)]]) {
      failing.names.length = 0;
      await store.append(UID, batch.map(say));
      // What is noted of the append, then its records.
      expect(failing.names.filter((name) => name === 'file.write')).toHaveLength(2);
    }
  });

  it('DUR-04 followers never hear of a record that was not stored', async () => {
    const failing = new FailingFiles(disk);
    const store = await open(failing.files);
    await store.append(UID, [say('a')]);
    const heard: number[] = [];
    const lifetime = new AbortController();
    const following = (async () => {
      for await (const item of store.follow(UID, { from: 1, signal: lifetime.signal })) {
        if (item.kind !== 'record') continue;
        heard.push(item.record.seq);
        expect((await store.head(UID)).seq).toBeGreaterThanOrEqual(item.record.seq);
        if (item.record.seq === 2) lifetime.abort();
      }
    })();
    for (const step of ['file.write', 'file.sync', 'syncFolder', 'open']) {
      failing.failNext(step);
      await store.append(UID, [say('lost')]).catch(() => undefined);
      failing.failNext('');
    }
    await store.append(UID, [say('b')]);
    await following;
    expect(heard).toEqual([1, 2]);
  });

  it('a disk that stays broken while the write is taken back is made good before the next append', async () => {
    for (let n = 1; n < 24; n += 1) {
      newFolder(`broken-${n}`);
      const failing = new FailingFiles(disk);
      const store = await open(failing.files);
      await store.append(UID, [say('a'), say('b')]);
      failing.failAt = failing.calls + n;
      failing.failures = Number.POSITIVE_INFINITY;
      await store.append(UID, [say('c'), say('d')]).catch(() => undefined);
      failing.failAt = Number.POSITIVE_INFINITY;
      const kept = await texts(store);
      expect(['a b', 'a b c d']).toContain(kept);
      await store.append(UID, [say('e')]);
      expect(await texts(await open())).toBe(`${kept} e`);
      expect(
        disk
          .bytes(join(folder, `${UID}.jsonl`))
          .toString()
          .split('\n'),
      ).toHaveLength(kept === 'a b' ? 4 : 6);
    }
  });
});
