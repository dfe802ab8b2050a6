import assert from 'node:assert/strict';
import { StaleFenceError } from '../../internal/session/log/errors.ts';
import { type LogCase, refusedWith, say } from './case.ts';

/** Who may write. */
export const INCARNATION_CASES: readonly LogCase[] = [
  {
    name: 'incarnations are numbered from 1 and only grow',
    async run({ store }) {
      assert.equal(await store.newFence('s'), 1);
      assert.equal(await store.newFence('s'), 2);
      assert.equal((await store.head('s')).fence, 2);
      await store.append('s', [say('a')], { fence: 5 });
      assert.equal((await store.head('s')).fence, 5);
      assert.equal(await store.newFence('s'), 6);
    },
  },
  {
    name: 'a writer of an older incarnation is refused',
    async run({ store }) {
      const old = await store.newFence('s');
      await store.append('s', [say('a')], { fence: old });
      const current = await store.newFence('s');
      const error = await refusedWith('stale-fence', () => store.append('s', [say('b')], { fence: old }));
      assert.ok(error instanceof StaleFenceError);
      assert.deepEqual([error.fence, error.current], [old, current]);
      const [record] = await store.append('s', [say('c')], { fence: current });
      assert.deepEqual([record?.seq, record?.fence], [2, current]);
    },
  },
  {
    name: 'taking over from another handle refuses the writer that was there',
    needs: ['second'],
    async run({ store, second }) {
      assert.ok(second);
      const mine = await store.newFence('s');
      await store.append('s', [say('a')], { fence: mine });
      await second.newFence('s');
      await refusedWith('stale-fence', () => store.append('s', [say('b')], { fence: mine, expected: 1 }));
    },
  },
  {
    name: 'who is both late and replaced is told of the conflict',
    async run({ store }) {
      await store.newFence('s');
      await store.append('s', [say('a')]);
      await store.newFence('s');
      await refusedWith('log-conflict', () => store.append('s', [say('b')], { expected: 0, fence: 1 }));
      await refusedWith('stale-fence', () => store.append('s', [say('b')], { expected: 1, fence: 1 }));
    },
  },
  {
    name: 'DUR-05 an outsider writes under the current incarnation and replaces nobody',
    async run({ store }) {
      const fence = await store.newFence('s');
      const [note] = await store.append('s', [say('note')]);
      assert.equal(note?.fence, fence);
      const [mine] = await store.append('s', [say('mine')], { fence });
      assert.equal(mine?.seq, 2);
    },
  },
  {
    name: 'a new incarnation begins together with its first records',
    async run({ store }) {
      const [first] = await store.append('s', [say('a')], { newIncarnation: true });
      assert.equal(first?.fence, 1);
      const [second] = await store.append('s', [say('b')], { newIncarnation: true, expected: 1 });
      assert.equal(second?.fence, 2);
      await refusedWith('log-conflict', () =>
        store.append('s', [say('c')], { newIncarnation: true, expected: 1 }),
      );
      assert.equal((await store.head('s')).fence, 2);
      await refusedWith('stale-fence', () => store.append('s', [say('d')], { fence: 1 }));
    },
  },
];
