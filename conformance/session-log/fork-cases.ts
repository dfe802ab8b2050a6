import assert from 'node:assert/strict';
import { lifecycle } from '../../internal/protocol/events.ts';
import type { ForkOptions, SessionLogStore } from '../../internal/session/log/session-log.ts';
import {
  fill,
  identityOf,
  type LogCase,
  Reader,
  readAll,
  refusedWith,
  say,
  textOfRecord,
  upTo,
} from './case.ts';

const forkOf = (parent: string, atSeq: number, children: readonly string[]): ForkOptions => ({
  parent,
  atSeq,
  marker: lifecycle(3, { detail: `${parent}@${atSeq}` }),
  children: children.map((uid) => ({ uid, name: `name of ${uid}`, labels: { of: uid } })),
});

const identities = async (store: SessionLogStore, uid: string): Promise<readonly string[]> =>
  (await readAll(store, uid)).map(identityOf);

/** Children share their parent's past and nothing else. */
export const FORK_CASES: readonly LogCase[] = [
  {
    name: 'children have the records of their parent up to the fork, then the marker',
    async run({ store }) {
      await fill(store, 'parent', 1_203);
      const before = await identities(store, 'parent');
      await store.fork(forkOf('parent', 1_001, ['a', 'b']));
      for (const uid of ['a', 'b']) {
        const records = await readAll(store, uid);
        assert.deepEqual(records.slice(0, 1_001).map(identityOf), before.slice(0, 1_001));
        const marker = records[1_001];
        assert.equal(records.length, 1_002);
        assert.equal(marker?.prevHash, records[1_000]?.contentHash);
        assert.equal(
          marker?.event.body.case === 'lifecycle' && marker.event.body.value.detail,
          'parent@1001',
        );
      }
    },
  },
  {
    name: 'DUR-07 a fork and what its children do leave the parent as it was',
    async run({ store }) {
      await store.create({ uid: 'parent', project: 'p' });
      await store.newFence('parent');
      await fill(store, 'parent', 5);
      const before = [await readAll(store, 'parent'), await store.get('parent')];
      await store.fork(forkOf('parent', 5, ['child']));
      await store.append('child', [say('mine')]);
      assert.deepEqual([await readAll(store, 'parent'), await store.get('parent')], before);
      await store.append('parent', [say('also mine')]);
      assert.deepEqual((await readAll(store, 'child')).slice(6).map(textOfRecord), ['mine']);
    },
  },
  {
    name: 'children inherit what describes the work, not who does it',
    async run({ store }) {
      const parent = await store.create({
        uid: 'parent',
        project: 'p',
        name: 'parent',
        harness: 'h',
        model: 'm',
        labels: { mine: '1' },
        annotations: { note: '2' },
        origin: '{"source":"x"}',
        identity: '{"principal":"y"}',
      });
      await fill(store, 'parent', 3);
      const [child] = await store.fork(forkOf('parent', 2, ['child']));
      assert.ok(child && child.createdAt > parent.createdAt);
      assert.deepEqual(
        { ...child, createdAt: 0n, updatedAt: 0n, fence: 0 },
        {
          ...{ uid: 'child', project: 'p', name: 'name of child', harness: 'h', model: 'm' },
          ...{ parentUid: 'parent', forkSeq: 2, computeState: 'COLD', createdAt: 0n, updatedAt: 0n },
          ...{ labels: { of: 'child' }, annotations: { note: '2' }, origin: '{"source":"x"}' },
          ...{ identity: '', lastSeq: 3, fence: 0, deletedAt: undefined },
        },
      );
      assert.deepEqual(await store.get('child'), child);
    },
  },
  {
    name: 'children are run by what the fork says, else by what runs their parent',
    async run({ store }) {
      await store.create({ uid: 'parent', project: 'p', harness: 'h' });
      await fill(store, 'parent', 2);
      for (const [harness, uid] of [
        ['other', 'a'],
        ['', 'b'],
      ] as const) {
        const [child] = await store.fork({ ...forkOf('parent', 2, [uid]), harness });
        assert.equal(child?.harness, harness);
        assert.equal((await store.get(uid))?.harness, harness);
      }
      await store.fork(forkOf('parent', 2, ['c']));
      assert.equal((await store.get('c'))?.harness, 'h');
      assert.equal((await store.get('parent'))?.harness, 'h');
    },
  },
  {
    name: 'a fork beyond the end, or of nothing, is refused and makes nothing',
    async run({ store }) {
      await fill(store, 'parent', 3);
      await refusedWith('fork-beyond-head', () => store.fork(forkOf('parent', 4, ['child'])));
      await refusedWith('session-not-found', () => store.fork(forkOf('none', 1, ['child'])));
      assert.equal(await store.get('child'), undefined);
      assert.deepEqual(await readAll(store, 'child'), []);
    },
  },
  {
    name: 'a fork that is repeated makes only the children that are missing',
    async run({ store }) {
      await fill(store, 'parent', 4);
      await store.fork(forkOf('parent', 4, ['a']));
      await store.append('a', [say('went on')]);
      const a = await identities(store, 'a');
      const rows = await store.fork(forkOf('parent', 4, ['a', 'b']));
      assert.deepEqual(
        rows.map(({ uid }) => uid),
        ['a', 'b'],
      );
      assert.deepEqual(await identities(store, 'a'), a);
      assert.equal((await store.head('b')).seq, 5);
      await store.create({ uid: 'taken', project: 'p' });
      await refusedWith('session-exists', () => store.fork(forkOf('parent', 4, ['taken'])));
    },
  },
  {
    name: 'forks of forks keep the whole past, also when those before are removed',
    async run({ store }) {
      await fill(store, 'one', 3);
      await store.fork(forkOf('one', 3, ['two']));
      await store.append('two', [say('second')]);
      await store.fork(forkOf('two', 5, ['three']));
      await store.append('three', [say('third')]);
      await store.fork(forkOf('three', 7, ['four']));
      const past = (await identities(store, 'three')).slice(0, 7);
      await store.remove('one');
      await store.remove('two');
      await store.remove('three');
      const four = await readAll(store, 'four');
      assert.deepEqual(four.slice(0, 7).map(identityOf), past);
      assert.deepEqual(
        four.map(({ seq }) => seq),
        upTo(8),
      );
      await store.append('four', [say('goes on')], { expected: 8 });
    },
  },
  {
    name: 'DUR-08 inherited records keep the times of their parent',
    async run({ store }) {
      await fill(store, 'parent', 3);
      const times = async (uid: string, count: number) => {
        const reader = new Reader(store, uid, { from: 1 });
        const found: number[] = [];
        while (found.length < count) {
          const item = await reader.next();
          if (item?.kind === 'record') found.push(item.recordedAt);
        }
        await reader.close();
        return found;
      };
      const before = await times('parent', 3);
      await store.fork(forkOf('parent', 3, ['child']));
      assert.deepEqual((await times('child', 4)).slice(0, 3), before);
    },
  },
  {
    name: 'a child of another handle is there whole or not at all',
    needs: ['second'],
    async run({ store, second }) {
      assert.ok(second);
      await fill(store, 'parent', 2_000);
      let forking = true;
      const forked = store.fork(forkOf('parent', 2_000, ['a', 'b', 'c'])).finally(() => {
        forking = false;
      });
      while (forking) {
        for (const uid of ['a', 'b', 'c']) {
          const row = await second.get(uid);
          if (row) assert.equal(row.lastSeq, 2_001);
        }
      }
      await forked;
      assert.equal((await second.get('c'))?.lastSeq, 2_001);
    },
  },
];
