import assert from 'node:assert/strict';
import type { WorkBeads } from '../../internal/beads/work.ts';
import type { CityEvent } from '../../internal/events/event.ts';
import { codeOf } from '../../internal/platform/errors.ts';

export interface WorkContext {
  readonly work: WorkBeads;
  /** Another handle on the same data, as another process would have it. */
  readonly second: WorkBeads;
  /** What was recorded so far, oldest first. */
  events(): Promise<readonly CityEvent[]>;
}

export interface WorkCase {
  readonly name: string;
  run(context: WorkContext): Promise<void>;
}

const told = (type: string, subject: string) => ({ type, actor: 'me', subject });

/** What a place for work must do for changes of several beads and for what is told of them. */
export const TRANSACTION_CASES: readonly WorkCase[] = [
  {
    name: 'several beads and their events are changed together',
    async run({ work, second, events }) {
      const made = await work.transaction((tx) => {
        const first = tx.createBead({ title: 'a' });
        const next = tx.createBead({ title: 'b', needs: [first.id] });
        tx.beads.claim(first.id, 'me');
        for (const { id } of [first, next]) tx.recordEvent(told('bead.created', id));
        return [first.id, next.id];
      });
      const beads = await second.list({ allowScan: true });
      assert.deepEqual(
        beads.map(({ id, status }) => [id, status]),
        [
          [made[0], 'in_progress'],
          [made[1], 'open'],
        ],
      );
      assert.deepEqual(
        (await events()).map(({ subject }) => subject),
        made,
      );
    },
  },
  {
    name: 'of a transaction that fails nothing is there, neither beads nor events',
    async run({ work, events }) {
      const kept = await work.create({ title: 'kept', labels: ['x'] });
      const failing = work.transaction((tx) => {
        tx.createBead({ title: 'never' });
        tx.beads.update(kept.id, { title: 'changed' });
        tx.recordEvent(told('bead.updated', kept.id));
        tx.beads.close('gc-404');
      });
      await assert.rejects(failing, (error) => codeOf(error) === 'bead-not-found');
      assert.deepEqual(await work.list({ allowScan: true }), [kept]);
      assert.deepEqual(await events(), []);
    },
  },
  {
    name: 'one that fails takes none of those with it that were begun beside it',
    async run({ work }) {
      const tries = Array.from({ length: 6 }, (_, n) =>
        work.transaction((tx) => {
          tx.createBead({ title: `t${n}` });
          if (n % 2 === 1) tx.beads.get('gc-404');
        }),
      );
      const done = await Promise.allSettled(tries);
      assert.equal(done.filter(({ status }) => status === 'fulfilled').length, 3);
      assert.equal((await work.list({ allowScan: true })).length, 3);
    },
  },
  {
    name: 'a transaction sees its own changes, and a look sees one moment',
    async run({ work }) {
      await work.transaction((tx) => {
        const { id } = tx.createBead({ title: 'a' });
        assert.deepEqual(
          tx.beads.ready().map((bead) => bead.id),
          [id],
        );
        tx.beads.delete(id);
        assert.equal(tx.beads.find(id), undefined);
      });
      assert.deepEqual(await work.look((view) => [view.find('gc-1'), view.list({ allowScan: true })]), [
        undefined,
        [],
      ]);
    },
  },
  {
    name: 'what waits for what is followed over several steps',
    async run({ work }) {
      await work.transaction((tx) => {
        const a = tx.createBead({ title: 'a' });
        const b = tx.createBead({ title: 'b', needs: [a.id] });
        const c = tx.createBead({ title: 'c', needs: [b.id] });
        assert.ok(tx.beads.waitsFor(c.id, a.id, 'blocks'));
        assert.ok(!tx.beads.waitsFor(a.id, c.id, 'blocks'));
        assert.ok(!tx.beads.waitsFor(c.id, a.id, 'related'));
        tx.beads.addDependency({ issue_id: a.id, depends_on_id: c.id, type: 'blocks' });
        assert.ok(tx.beads.waitsFor(a.id, b.id, 'blocks'));
      });
    },
  },
  {
    name: 'the mark of changes stays while nothing changes, and not when another handle writes',
    async run({ work, second }) {
      await work.create({ title: 'a' });
      const mark = work.changeMarker();
      await work.list({ allowScan: true });
      assert.equal(work.changeMarker(), mark);
      await second.create({ title: 'b' });
      assert.notEqual(work.changeMarker(), mark);
    },
  },
];
