import assert from 'node:assert/strict';
import type { FollowItem } from '../../internal/session/log/session-log.ts';
import { fill, type LogCase, Reader, readAll, say, upTo } from './case.ts';

const BACKLOG = 1_700;
const seqOf = (item: FollowItem | undefined): number => (item?.kind === 'record' ? item.record.seq : 0);

/** Followers: everything, in order, once. */
export const FOLLOW_CASES: readonly LogCase[] = [
  {
    name: 'a follower gets what was there and what comes, from where it asks',
    async run({ store }) {
      await fill(store, 's', 3);
      const reader = new Reader(store, 's', { from: 2 });
      assert.deepEqual(await reader.seqs(2), [2, 3]);
      await fill(store, 's', 2, 4);
      assert.deepEqual(await reader.seqs(2), [4, 5]);
      await reader.close();
    },
  },
  {
    name: 'a follower gets records as they are read, with the time of their append',
    async run({ store }) {
      await fill(store, 's', 2);
      const live = new Reader(store, 's', { from: 1 });
      await live.seqs(2);
      const waiting = live.next();
      await store.append('s', [say('three')]);
      const told = await waiting;
      const again = new Reader(store, 's', { from: 3 });
      const read = await again.next();
      assert.deepEqual(read, told);
      assert.ok(told?.kind === 'record' && told.recordedAt > 0);
      assert.deepEqual(told.record, (await readAll(store, 's'))[2]);
      await live.close();
      await again.close();
    },
  },
  {
    name: 'a slow reader of a long log joins in the end and misses nothing',
    async run({ store }) {
      await fill(store, 's', BACKLOG);
      const reader = new Reader(store, 's', { from: 1, buffer: 4 });
      const seen: number[] = [];
      for (let last = BACKLOG; seen.length < last; ) {
        seen.push(...(await reader.seqs(1)));
        if (seen.length % 100 === 0 && last < BACKLOG + 40) {
          last += 1;
          await fill(store, 's', 1, last);
        }
      }
      assert.deepEqual(seen, upTo(seen.length));
      const waiting = reader.next();
      await fill(store, 's', 1, seen.length + 1);
      assert.equal(seqOf(await waiting), seen.length + 1);
      await reader.close();
    },
  },
  {
    name: 'appending at every moment of a join loses nothing',
    async run({ store }) {
      for (let steps = 0; steps < 12; steps += 1) {
        const uid = `s${steps}`;
        await fill(store, uid, 2);
        const reader = new Reader(store, uid, { from: 1 });
        const read = reader.seqs(4);
        for (let step = 0; step < steps; step += 1) await Promise.resolve();
        await store.append(uid, [say('a')]);
        await store.append(uid, [say('b')]);
        assert.deepEqual(await read, upTo(4));
        await reader.close();
      }
    },
  },
  {
    name: 'followers beside each other get everything, whenever they join',
    async run({ store }) {
      const early = new Reader(store, 's', { from: 1 });
      const first = early.seqs(60);
      const writing = (async () => {
        for (const n of upTo(60)) await store.append('s', [say(String(n))], { durability: 'group' });
      })();
      const late = new Reader(store, 's', { from: 1 });
      assert.deepEqual(await late.seqs(60), upTo(60));
      assert.deepEqual(await first, upTo(60));
      await writing;
      await early.close();
      await late.close();
    },
  },
  {
    name: 'a batch larger than the buffer does not cut off a reader that was waiting',
    async run({ store }) {
      const reader = new Reader(store, 's', { from: 1, buffer: 8 });
      const read = reader.seqs(100);
      await fill(store, 's', 100);
      assert.deepEqual(await read, upTo(100));
      await reader.close();
    },
  },
  {
    name: 'EVT-05 a reader that stops reading is cut off, told so, and resumes without a gap',
    async run({ store }) {
      await fill(store, 's', 1);
      const reader = new Reader(store, 's', { from: 1, buffer: 8, live: true });
      await reader.seqs(1);
      const joined = reader.next();
      store.tell('s', 'joined');
      assert.equal((await joined)?.kind, 'live');
      for (const n of upTo(60, 2)) await store.append('s', [say(String(n))], { durability: 'group' });
      const seen: number[] = [];
      let item = await reader.next();
      for (; item?.kind === 'record'; item = await reader.next()) seen.push(item.record.seq);
      assert.equal(item?.kind, 'lagged', 'the reader was not cut off');
      const resumeFrom = item?.kind === 'lagged' ? item.resumeFrom : 0;
      assert.deepEqual(seen, upTo(resumeFrom - 1, 2));
      assert.ok(seen.length <= 9, `${seen.length} items waited`);
      assert.equal(await reader.next(), undefined);
      const resumed = new Reader(store, 's', { from: resumeFrom });
      assert.deepEqual(await resumed.seqs(60 - resumeFrom + 1), upTo(60, resumeFrom));
      await resumed.close();
    },
  },
  {
    name: 'what is not a fact reaches only those who asked for it, in its place',
    async run({ store }) {
      await fill(store, 's', 1);
      const live = new Reader(store, 's', { from: 1, live: true });
      const plain = new Reader(store, 's', { from: 1 });
      await live.seqs(1);
      await plain.seqs(1);
      const [first, other] = [live.next(), plain.next()];
      store.tell('s', { delta: 'Hel' });
      assert.deepEqual(await first, { kind: 'live', afterSeq: 1, data: { delta: 'Hel' } });
      const second = live.next();
      await store.append('s', [say('Hello')]);
      assert.equal(seqOf(await second), 2);
      assert.equal(seqOf(await other), 2);
      await live.close();
      await plain.close();
    },
  },
  {
    name: 'what a fact has overtaken is not delivered after it',
    async run({ store }) {
      await fill(store, 's', 1);
      const reader = new Reader(store, 's', { from: 1, live: true });
      await reader.seqs(1);
      const joined = reader.next();
      store.tell('s', 'joined');
      assert.equal((await joined)?.kind, 'live');
      store.tell('s', 'stale');
      await store.append('s', [say('a')]);
      const items = [await reader.next()];
      if (items[0]?.kind === 'live') items.push(await reader.next());
      assert.equal(seqOf(items.at(-1)), 2);
      const last = reader.next();
      store.tell('s', 'fresh');
      assert.deepEqual(await last, { kind: 'live', afterSeq: 2, data: 'fresh' });
      await reader.close();
    },
  },
  {
    name: 'what is not a fact is dropped first: it never cuts a reader off',
    async run({ store }) {
      await fill(store, 's', 1);
      const reader = new Reader(store, 's', { from: 1, live: true, buffer: 8 });
      await reader.seqs(1);
      const joined = reader.next();
      store.tell('s', 'joined');
      await joined;
      for (const n of upTo(500)) store.tell('s', n);
      await fill(store, 's', 6, 2);
      const seqs: number[] = [];
      for (let live = 0; seqs.length < 6; ) {
        const item = await reader.next();
        assert.notEqual(item?.kind, 'lagged');
        if (item?.kind === 'record') seqs.push(item.record.seq);
        else live += 1;
        assert.ok(live <= 8, 'more live items waited than the buffer holds');
      }
      assert.deepEqual(seqs, upTo(7, 2));
      await reader.close();
    },
  },
  {
    name: 'nobody listens to what is told and not followed',
    async run({ store }) {
      store.tell('s', 'x');
      assert.equal((await store.head('s')).seq, 0);
      assert.equal(await store.get('s'), undefined);
    },
  },
  {
    name: 'a follower ends when its signal aborts, waiting or not, and is forgotten',
    needs: ['followers'],
    async run({ store, followers }) {
      await fill(store, 's', 5);
      const readers = upTo(4).map(() => new Reader(store, 's', { from: 1 }));
      const [waiting, reading, idle, early] = readers;
      assert.ok(waiting && reading && idle && early);
      await waiting.seqs(5);
      await reading.seqs(2);
      await idle.seqs(5);
      const ended = waiting.next();
      for (const reader of readers) reader.abort();
      assert.equal(await ended, undefined);
      assert.equal(followers?.(), 0);
      assert.equal(await reading.next(), undefined);
      assert.equal(await early.next(), undefined);
    },
  },
  {
    name: 'DUR-04 what could not be stored is not told',
    needs: ['failNextWrite'],
    async run({ store, failNextWrite }) {
      await fill(store, 's', 1);
      const reader = new Reader(store, 's', { from: 1 });
      await reader.seqs(1);
      const next = reader.next();
      failNextWrite?.();
      await assert.rejects(store.append('s', [say('lost')]));
      await store.append('s', [say('kept')]);
      const item = await next;
      assert.ok(item?.kind === 'record');
      assert.deepEqual(item.record, (await readAll(store, 's'))[1]);
      await reader.close();
    },
  },
  {
    name: 'EVT-04 a follower sees what another handle appends, also between its own',
    needs: ['second'],
    async run({ store, second }) {
      assert.ok(second);
      const reader = new Reader(store, 's', { from: 1 });
      const read = reader.seqs(40);
      for (const n of upTo(20)) {
        await second.append('s', [say(`theirs ${n}`)], { durability: 'group' });
        await store.append('s', [say(`ours ${n}`)], { durability: 'group' });
      }
      assert.deepEqual(await read, upTo(40));
      const waiting = reader.next();
      await second.append('s', [say('late')]);
      assert.equal(seqOf(await waiting), 41);
      await reader.close();
    },
  },
  {
    name: 'closing the store ends its followers',
    needs: ['reopen'],
    async run({ store, reopen }) {
      await fill(store, 's', 1);
      const reader = new Reader(store, 's', { from: 1 });
      await reader.seqs(1);
      const waiting = reader.next();
      const again = await reopen?.();
      assert.equal(await waiting, undefined);
      await again?.close();
    },
  },
];
