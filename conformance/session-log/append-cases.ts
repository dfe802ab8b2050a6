import assert from 'node:assert/strict';
import { lifecycle, toolCall } from '../../internal/protocol/events.ts';
import {
  EventSchema,
  ModelCallSchema,
  ToolCallSchema,
} from '../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import { contentHash } from '../../internal/protocol/hash-chain.ts';
import { create } from '../../internal/protocol/protobuf.ts';
import { LogConflictError } from '../../internal/session/log/errors.ts';
import type { AppendOptions } from '../../internal/session/log/session-log.ts';
import {
  ask,
  fill,
  identityOf,
  type LogCase,
  readAll,
  refusedWith,
  say,
  textOfRecord,
  upTo,
} from './case.ts';

const CONCURRENT = 1_000;
const MEBIBYTE = 1_048_576;
const half = '\ud800';

/** Numbers, compare-and-swap, batches, sources. */
export const APPEND_CASES: readonly LogCase[] = [
  {
    name: 'an unknown log is empty and stands at nothing',
    async run({ store }) {
      assert.deepEqual(await store.head('s'), { seq: 0, hash: '', fence: 0 });
      assert.deepEqual(await store.read('s', {}), []);
      assert.equal(await store.get('s'), undefined);
    },
  },
  {
    name: 'records are numbered from 1, chained, and read back as they were answered',
    async run({ store }) {
      const answered = [
        ...(await store.append('s', [ask('a'), say('b')])),
        ...(await store.append('s', [lifecycle(0, { detail: 'häß ☃ "\\\n' })])),
      ];
      const read = await readAll(store, 's');
      assert.deepEqual(read, answered);
      let prev = '';
      for (const [index, record] of read.entries()) {
        assert.equal(record.seq, index + 1);
        assert.equal(record.prevHash, prev);
        assert.equal(record.contentHash, contentHash(record.event, prev, record.seq));
        prev = record.contentHash;
      }
      assert.deepEqual(await store.head('s'), { seq: 3, hash: prev, fence: 0 });
    },
  },
  {
    name: 'reads keep to both ends and to the limit',
    async run({ store }) {
      await fill(store, 's', 20);
      const seqs = async (range: Parameters<typeof store.read>[1]) =>
        (await store.read('s', range)).map(({ seq }) => seq);
      assert.deepEqual(await seqs({ from: 5, to: 8 }), [5, 6, 7, 8]);
      assert.deepEqual(await seqs({ from: 19 }), [19, 20]);
      assert.deepEqual(await seqs({ to: 2 }), [1, 2]);
      assert.deepEqual(await seqs({ from: 3, limit: 4 }), [3, 4, 5, 6]);
      assert.deepEqual(await seqs({ from: 21 }), []);
      await fill(store, 's', 600, 21);
      assert.equal((await store.read('s', {})).length, 500);
      assert.equal((await store.read('s', { limit: 1_000 })).length, 620);
    },
  },
  {
    name: 'a page that may only weigh so much ends early, is never empty, and loses nothing',
    async run({ store }) {
      await store.append('s', [say('a'), say('b'.repeat(100_000)), say('c'), say('d')]);
      const pages: (readonly number[])[] = [];
      for (let from = 1; ; ) {
        const page = await store.read('s', { from, maxBytes: 50_000 });
        if (page.length === 0) break;
        pages.push(page.map(({ seq }) => seq));
        from += page.length;
      }
      assert.deepEqual(pages.flat(), [1, 2, 3, 4]);
      assert.ok(pages.length > 1);
      assert.equal((await store.read('s', { to: 1, maxBytes: 50_000 })).length, 1);
    },
  },
  {
    name: 'what was read page by page is what is read at once, in order',
    async run({ store }) {
      await fill(store, 's', 700);
      const whole = await store.read('s', { limit: 1_000 });
      for (const limit of [1, 7, 500]) {
        const count = limit === 1 ? 30 : 700;
        const pages = limit === 1 ? await store.read('s', { limit: 30 }) : await readAll(store, 's', limit);
        assert.deepEqual(pages.map(identityOf), whole.slice(0, count).map(identityOf));
      }
    },
  },
  {
    name: 'DUR-02 numbering goes on after a restart',
    needs: ['reopen'],
    async run({ store, reopen }) {
      const [, , , , last] = await store.append(
        's',
        upTo(5).map((n) => say(String(n))),
      );
      const again = (await reopen?.()) ?? store;
      const [next] = await again.append('s', [say('six')]);
      assert.equal(next?.seq, 6);
      assert.equal(next?.prevHash, last?.contentHash);
      await again.close();
    },
  },
  {
    name: 'a thousand appends at once get a number each, without a gap',
    async run({ store }) {
      const appended = await Promise.all(
        upTo(CONCURRENT).map((n) => store.append('s', [say(String(n))], { durability: 'group' })),
      );
      const seqs = appended.flat().map(({ seq }) => seq);
      assert.deepEqual(
        [...seqs].sort((a, b) => a - b),
        upTo(CONCURRENT),
      );
      assert.deepEqual(
        (await readAll(store, 's')).map(({ seq }) => seq),
        upTo(CONCURRENT),
      );
    },
  },
  {
    name: 'DUR-01 two writers never get the same number',
    needs: ['second'],
    async run({ store, second }) {
      const write = async (handle = store) => {
        for (const n of upTo(100)) await handle.append('s', [say(String(n))], { durability: 'group' });
      };
      await Promise.all([write(store), write(second)]);
      const records = await readAll(store, 's');
      assert.deepEqual(
        records.map(({ seq }) => seq),
        upTo(200),
      );
      assert.equal(new Set(records.map(({ contentHash: hash }) => hash)).size, 200);
    },
  },
  {
    name: 'of two appends that expect the same record, one is refused and told where the log stands',
    async run({ store }) {
      await fill(store, 's', 3);
      const race = await Promise.allSettled(
        ['a', 'b'].map((t) => store.append('s', [say(t)], { expected: 3 })),
      );
      assert.deepEqual(race.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
      const error = await refusedWith('log-conflict', () => store.append('s', [say('c')], { expected: 2 }));
      assert.ok(error instanceof LogConflictError);
      assert.deepEqual([error.expected, error.actual], [2, 4]);
      assert.equal((await store.head('s')).seq, 4);
    },
  },
  {
    name: 'the race for one record is decided between handles too',
    needs: ['second'],
    async run({ store, second }) {
      assert.ok(second);
      for (const n of upTo(20)) {
        const race: readonly PromiseSettledResult<unknown>[] = await Promise.allSettled(
          [store, second].map((handle) => handle.append('s', [say('x')], { expected: n - 1 })),
        );
        assert.equal(race.filter(({ status }) => status === 'fulfilled').length, 1);
      }
      assert.equal((await store.head('s')).seq, 20);
    },
  },
  {
    name: 'expecting record 0 means an empty log',
    async run({ store }) {
      await store.append('s', [say('a')], { expected: 0 });
      await refusedWith('log-conflict', () => store.append('s', [say('b')], { expected: 0 }));
    },
  },
  {
    name: 'a batch is appended whole or not at all',
    async run({ store }) {
      await fill(store, 's', 1);
      const bad = toolCall('e1', create(ToolCallSchema, { args: { n: Number.NaN } }));
      await refusedWith('not-canonical', () => store.append('s', [say('a'), bad, say('b')]));
      await refusedWith('log-conflict', () => store.append('s', [say('a'), say('b')], { expected: 7 }));
      assert.equal((await store.head('s')).seq, 1);
      const [next] = await store.append('s', [say('c')]);
      assert.equal(next?.seq, 2);
    },
  },
  {
    name: 'nobody sees a part of a batch',
    needs: ['second'],
    async run({ store, second }) {
      assert.ok(second);
      let writing = true;
      const written = (async () => {
        for (const n of upTo(30))
          await store.append(
            's',
            upTo(10).map((m) => say(`${n}.${m}`)),
          );
        writing = false;
      })();
      while (writing) assert.equal((await second.head('s')).seq % 10, 0);
      await written;
    },
  },
  {
    name: 'half a character and a number that JSON lacks take no number',
    async run({ store }) {
      await refusedWith('not-canonical', () => store.append('s', [say(`half ${half}`)]));
      const infinite = toolCall('e1', create(ToolCallSchema, { args: { n: Number.POSITIVE_INFINITY } }));
      await refusedWith('not-canonical', () => store.append('s', [infinite]));
      const [first] = await store.append('s', [say('whole 😀')]);
      assert.equal(first?.seq, 1);
    },
  },
  {
    name: 'an event is stored as it is hashed: without what is only for its host',
    async run({ store }) {
      const model = create(ModelCallSchema, { model: 'm', id: 'c', messages: [{ role: 'user' }] });
      const event = create(EventSchema, { kind: 2, body: { case: 'model', value: model }, actor: {} });
      const [record] = await store.append('s', [event]);
      const [read] = await store.read('s', {});
      assert.ok(record && read);
      assert.equal(read.event.actor, undefined);
      assert.equal(read.event.body.case === 'model' && read.event.body.value.messages.length, 0);
      assert.equal(contentHash(read.event, '', 1), record.contentHash);
    },
  },
  {
    name: 'a record of a mebibyte comes back whole',
    async run({ store }) {
      const large = 'é'.repeat(MEBIBYTE / 2);
      await store.append('s', [say('before'), say(large), say('after')]);
      const [, record] = await store.read('s', {});
      assert.ok(record);
      assert.equal(textOfRecord(record), large);
    },
  },
  {
    name: 'both durabilities keep one order',
    async run({ store }) {
      const modes = ['group', 'full', 'group', 'group', 'full'] as const;
      const appended = await Promise.all(
        modes.map((durability, n) => store.append('s', [say(String(n))], { durability, expected: n })),
      );
      assert.deepEqual(
        appended.flat().map(({ seq }) => seq),
        upTo(5),
      );
    },
  },
  {
    name: 'the same source again answers the records of the first time',
    async run({ store }) {
      const batch = [say('a'), say('b')];
      const options: AppendOptions = { source: 'outbox/7', expected: 0 };
      const first = await store.append('s', batch, options);
      await store.append('s', [say('between')]);
      assert.deepEqual(await store.append('s', batch, options), first);
      assert.equal((await store.head('s')).seq, 3);
      await store.append('other', batch, options);
      assert.equal((await store.head('other')).seq, 2);
    },
  },
  {
    name: 'DUR-06 the same source with other events is refused',
    async run({ store }) {
      await store.append('s', [say('a'), say('b')], { source: 'x' });
      for (const other of [[say('a')], [say('a'), say('c')], [say('a'), say('b'), say('c')]])
        await refusedWith('source-reused', () => store.append('s', other, { source: 'x' }));
      assert.equal((await store.head('s')).seq, 2);
    },
  },
  {
    name: 'sources are remembered after a restart',
    needs: ['reopen'],
    async run({ store, reopen }) {
      const first = await store.append('s', [say('a')], { source: 'x' });
      const again = (await reopen?.()) ?? store;
      assert.deepEqual(await again.append('s', [say('a')], { source: 'x' }), first);
      await refusedWith('source-reused', () => again.append('s', [say('b')], { source: 'x' }));
      await again.close();
    },
  },
];
