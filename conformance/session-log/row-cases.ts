import assert from 'node:assert/strict';
import { errorEvent, executionEnd, executionStart, lifecycle } from '../../internal/protocol/events.ts';
import { type Event, EventSchema } from '../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import { create } from '../../internal/protocol/protobuf.ts';
import type { SessionRow } from '../../internal/session/log/session-log.ts';
import { fill, identityOf, type LogCase, readAll, refusedWith, say, upTo } from './case.ts';

const uids = (rows: readonly SessionRow[]): readonly string[] => rows.map(({ uid }) => uid);
const ofKind = (kind: number): Event => create(EventSchema, { executionId: 'e1', kind });

/** What each kind of record makes of a session that is COLD. Source: agentsessions.v1, compute-state projection. */
const PROJECTION: readonly (readonly [string, Event, string])[] = [
  ['output', say('x'), 'LIVE'],
  ['execution start', executionStart('e1', { inputCount: 0, harness: 'h' }), 'LIVE'],
  ['end', executionEnd('e1'), 'LIVE'],
  ['error', errorEvent('e1', 'no'), 'LIVE'],
  ['approval request', ofKind(6), 'COLD'],
  ['approval result', ofKind(7), 'COLD'],
  ['resume', lifecycle(2), 'LIVE'],
  ['suspend', lifecycle(1), 'COLD'],
  ['fork', lifecycle(3), 'COLD'],
  ['baseline', lifecycle(4), 'COLD'],
  ['cancel', lifecycle(5), 'COLD'],
  ['city fact', lifecycle(0, { detail: '{}' }), 'COLD'],
  ['lifecycle without body', ofKind(9), 'COLD'],
];

/** What the log cannot say about a session. */
export const ROW_CASES: readonly LogCase[] = [
  {
    name: 'a session is created with everything it was given',
    async run({ store }) {
      const given = {
        uid: 's',
        project: 'p',
        name: 'n',
        harness: 'h',
        model: 'm',
        labels: { a: 'ä' },
        annotations: { b: '"' },
        origin: '{"source":"x"}',
        identity: '{"principal":"y"}',
      };
      const made = await store.create(given);
      const { createdAt, updatedAt, ...rest } = made;
      assert.ok(createdAt > 0n && updatedAt >= createdAt);
      assert.deepEqual(rest, {
        ...given,
        parentUid: '',
        forkSeq: 0,
        computeState: 'NONE',
        lastSeq: 0,
        fence: 0,
        deletedAt: undefined,
      });
      assert.deepEqual(await store.get('s'), made);
      await refusedWith('session-exists', () => store.create({ uid: 's', project: 'p' }));
    },
  },
  {
    name: 'what a guard throws undoes the session',
    async run({ store }) {
      const no = new Error('no');
      await assert.rejects(
        store.create({ uid: 's', project: 'p' }, () => {
          throw no;
        }),
        (error) => error === no,
      );
      assert.equal(await store.get('s'), undefined);
      await store.create({ uid: 's', project: 'p' }, () => {});
    },
  },
  {
    name: 'appending to a session nobody created makes its row',
    async run({ store }) {
      await store.append('s', [lifecycle(0, { detail: 'x' })]);
      const row = await store.get('s');
      assert.deepEqual([row?.project, row?.computeState, row?.lastSeq], ['', 'NONE', 1]);
      await store.newFence('t');
      assert.equal((await store.get('t'))?.fence, 1);
    },
  },
  {
    name: 'the compute state follows the records as the protocol says',
    async run({ store }) {
      for (const [name, event, expected] of PROJECTION) {
        await store.append(name, [lifecycle(1)]);
        await store.append(name, [event]);
        assert.equal((await store.get(name))?.computeState, expected, name);
      }
      await store.append('batch', [say('a'), lifecycle(1), ofKind(6)]);
      assert.equal((await store.get('batch'))?.computeState, 'COLD');
    },
  },
  {
    name: 'appending moves the time of the last change and leaves what was given',
    async run({ store }) {
      const made = await store.create({ uid: 's', project: 'p', name: 'n' });
      await store.append('s', [say('a')]);
      const row = await store.get('s');
      assert.ok(row && row.updatedAt > made.updatedAt);
      assert.deepEqual([row.createdAt, row.name, row.lastSeq], [made.createdAt, 'n', 1]);
    },
  },
  {
    name: 'sessions are made at different times, each later than the one before',
    async run({ store }) {
      const rows: SessionRow[] = [];
      for (const n of upTo(20)) rows.push(await store.create({ uid: `s${n}`, project: 'p' }));
      for (const [index, row] of rows.entries())
        assert.ok(index === 0 || row.createdAt > (rows[index - 1]?.createdAt ?? 0n));
    },
  },
  {
    name: 'lists go from the newest, page by page, of one project or of all',
    async run({ store }) {
      for (const n of upTo(7)) await store.create({ uid: `s${n}`, project: n % 2 === 0 ? 'even' : 'odd' });
      await fill(store, 's3', 3);
      const all = await store.list({ limit: 100 });
      assert.deepEqual(uids(all), ['s7', 's6', 's5', 's4', 's3', 's2', 's1']);
      assert.equal(all[4]?.lastSeq, 3);
      assert.deepEqual(uids(await store.list({ project: 'even', limit: 100 })), ['s6', 's4', 's2']);
      const first = await store.list({ project: 'odd', limit: 2 });
      assert.deepEqual(uids(first), ['s7', 's5']);
      const after = first[1];
      assert.ok(after);
      assert.deepEqual(uids(await store.list({ project: 'odd', after, limit: 2 })), ['s3', 's1']);
      assert.deepEqual(await store.list({ project: 'none', limit: 5 }), []);
    },
  },
  {
    name: 'a rename changes the name and nothing else',
    async run({ store }) {
      const made = await store.create({ uid: 's', project: 'p', name: 'old', labels: { a: 'b' } });
      const { updatedAt, ...rest } = await store.update('s', { name: 'new' });
      const { updatedAt: _, ...before } = made;
      assert.deepEqual(rest, { ...before, name: 'new' });
      assert.ok(updatedAt > made.updatedAt);
      assert.equal((await store.update('s', {})).name, 'new');
      await refusedWith('session-not-found', () => store.update('none', { name: 'x' }));
    },
  },
  {
    name: 'a deleted session is read, not continued, and not listed unless asked for',
    async run({ store }) {
      await store.create({ uid: 's', project: 'p' });
      await fill(store, 's', 2);
      const first = await store.markDeleted('s');
      assert.ok(first.deletedAt !== undefined);
      assert.equal((await store.markDeleted('s')).deletedAt, first.deletedAt);
      await refusedWith('session-deleted', () => store.append('s', [say('late')]));
      await refusedWith('session-deleted', () => store.append('s', [say('late')], { newIncarnation: true }));
      await refusedWith('session-deleted', () => store.update('s', { name: 'x' }));
      assert.equal((await readAll(store, 's')).length, 2);
      assert.deepEqual(await store.list({ limit: 5 }), []);
      assert.deepEqual(uids(await store.list({ limit: 5, includeDeleted: true })), ['s']);
      await refusedWith('session-not-found', () => store.markDeleted('none'));
    },
  },
  {
    name: 'deleting stops a writer of another handle',
    needs: ['second'],
    async run({ store, second }) {
      await store.create({ uid: 's', project: 'p' });
      await store.append('s', [say('a')]);
      await second?.markDeleted('s');
      await refusedWith('session-deleted', () => store.append('s', [say('b')], { expected: 1 }));
    },
  },
  {
    name: 'what is removed is gone, and only that',
    async run({ store }) {
      await fill(store, 's', 1_500);
      await store.append('s', [say('x')], { source: 'x' });
      await fill(store, 'other', 3);
      const kept = (await readAll(store, 'other')).map(identityOf);
      await store.remove('s');
      assert.equal(await store.get('s'), undefined);
      assert.deepEqual(await store.head('s'), { seq: 0, hash: '', fence: 0 });
      assert.deepEqual(await store.read('s', {}), []);
      assert.deepEqual((await readAll(store, 'other')).map(identityOf), kept);
      await refusedWith('session-not-found', () => store.remove('s'));
      const [first] = await store.append('s', [say('again')], { source: 'x', expected: 0 });
      assert.equal(first?.seq, 1);
    },
  },
  {
    name: 'rows and logs survive a restart',
    needs: ['reopen'],
    async run({ store, reopen }) {
      await store.create({ uid: 's', project: 'p', labels: { a: 'b' } });
      await store.newFence('s');
      await fill(store, 's', 3);
      await store.create({ uid: 'gone', project: 'p' });
      await store.markDeleted('gone');
      const before = [await store.get('s'), await store.get('gone'), await store.head('s')];
      const records = await readAll(store, 's');
      const again = (await reopen?.()) ?? store;
      assert.deepEqual([await again.get('s'), await again.get('gone'), await again.head('s')], before);
      assert.deepEqual(await readAll(again, 's'), records);
      await again.close();
    },
  },
];
