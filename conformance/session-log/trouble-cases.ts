import assert from 'node:assert/strict';
import { fill, type LogCase, readAll, refusedWith, say, textOfRecord } from './case.ts';

/** Full disks and damaged records. */
export const TROUBLE_CASES: readonly LogCase[] = [
  {
    name: 'a write that fails leaves nothing behind and the next one works',
    needs: ['failNextWrite'],
    async run({ store, failNextWrite }) {
      await store.append('s', [say('a')]);
      failNextWrite?.();
      await assert.rejects(store.append('s', [say('lost'), say('lost too')]));
      assert.equal((await store.head('s')).seq, 1);
      const [next] = await store.append('s', [say('b')], { expected: 1 });
      assert.equal(next?.seq, 2);
      assert.deepEqual((await readAll(store, 's')).map(textOfRecord), ['a', 'b']);
    },
  },
  {
    name: 'a changed byte is found when it is read, and the log before it stays readable',
    needs: ['damage', 'reopen'],
    async run({ store, damage, reopen }) {
      await fill(store, 's', 9);
      await damage?.('s', 6, 'flipped');
      const again = (await reopen?.()) ?? store;
      assert.equal((await again.read('s', { to: 5 })).length, 5);
      const error = await refusedWith('log-corrupt', () => again.read('s', { from: 6, to: 6 }));
      assert.ok(typeof error === 'object' && error !== null && 'seq' in error);
      assert.equal(error.seq, 6);
      await refusedWith('log-corrupt', () => again.read('s', {}));
      await again.close();
    },
  },
  {
    name: 'a record that cannot be decoded is named by its number',
    needs: ['damage', 'reopen'],
    async run({ store, damage, reopen }) {
      await fill(store, 's', 4);
      await damage?.('s', 3, 'undecodable');
      const again = (await reopen?.()) ?? store;
      const error = await refusedWith('log-corrupt', () => again.read('s', {}));
      assert.ok(typeof error === 'object' && error !== null && 'seq' in error);
      assert.equal(error.seq, 3);
      await again.close();
    },
  },
  {
    name: 'a log with a damaged end is not continued',
    needs: ['damage', 'reopen'],
    async run({ store, damage, reopen }) {
      await fill(store, 's', 4);
      await fill(store, 'sound', 1);
      await damage?.('s', 4, 'flipped');
      const again = (await reopen?.()) ?? store;
      await refusedWith('log-corrupt', () => again.append('s', [say('on top of it')]));
      await again.append('sound', [say('goes on')]);
      await again.close();
    },
  },
];
