import assert from 'node:assert/strict';
import type { Bead, BeadFilter, NewBead } from '../../internal/beads/store.ts';
import { codeOf } from '../../internal/platform/errors.ts';
import type { BeadStoreCase } from './bead-store-cases.ts';

const task = (title: string, more: Partial<NewBead> = {}): NewBead => ({ title, ...more });
const titles = (beads: readonly Bead[]): readonly string[] => beads.map((bead) => bead.title);

async function rejectsWith(code: string, work: Promise<unknown>): Promise<void> {
  await assert.rejects(work, (error) => codeOf(error) === code);
}

/** What people and scripts ask of a store that holds work. */
export const WORK_CASES: readonly BeadStoreCase[] = [
  {
    name: 'an id starts with the prefix that was asked for',
    async run({ store }) {
      const bead = await store.create(task('a', { prefix: 'fe' }));
      assert.match(bead.id, /^fe-\S+$/);
      assert.deepEqual(await store.get(bead.id), bead);
    },
  },
  {
    name: 'beads are found by the prefix of their ids, whatever its case',
    async run({ store }) {
      for (const prefix of ['fe', 'FE', 'fe-ui', 'be']) {
        await store.create(task(prefix, { prefix, assignee: 'a' }));
      }
      assert.deepEqual(titles(await store.list({ idPrefix: 'fe' })), ['fe', 'FE']);
      assert.deepEqual(titles(await store.list({ notIdPrefixes: ['fe', 'be'], allowScan: true })), ['fe-ui']);
      assert.deepEqual(titles(await store.ready({ idPrefix: 'be' })), ['be']);
    },
  },
  {
    name: 'ready work passes all filters that are given',
    needs: ['dependencies'],
    async run({ store }) {
      const routed = { metadata: { 'gc.routed_to': 'rig/worker' } };
      const blocker = await store.create(task('other'));
      await store.create(task('wanted', { ...routed, labels: ['x', 'y'], issue_type: 'bug' }));
      await store.create(task('blocked', { ...routed, labels: ['x', 'y'], needs: [blocker.id] }));
      await store.create(task('taken', { ...routed, labels: ['x', 'y'], assignee: 'me' }));
      await store.create(task('one label', { ...routed, labels: ['x'] }));
      const wanted: BeadFilter = { ...routed, labels: ['x', 'y'], assignee: '' };
      assert.deepEqual(titles(await store.ready(wanted)), ['wanted']);
      assert.deepEqual(titles(await store.ready({ assignee: 'me' })), ['taken']);
      assert.deepEqual(titles(await store.ready({ notTypes: ['task'] })), ['wanted']);
      assert.deepEqual(titles(await store.ready({ ...routed, limit: 1 })), ['wanted']);
    },
  },
  {
    name: 'work is sorted by priority, none counting as 2, then oldest first',
    async run({ store }) {
      for (const [title, priority] of [
        ['c', 2],
        ['e', 4],
        ['a', 0],
        ['b', 0],
      ] as const) {
        await store.create(task(title, { priority }));
      }
      await store.create(task('d'));
      assert.deepEqual(titles(await store.ready({ sort: 'priority' })), ['a', 'b', 'c', 'd', 'e']);
      assert.deepEqual(titles(await store.list({ type: 'task', sort: 'priority', limit: 2 })), ['a', 'b']);
    },
  },
  {
    name: 'several states can be asked for',
    async run({ store }) {
      const [, started, closed] = [
        await store.create(task('open')),
        await store.create(task('started')),
        await store.create(task('closed')),
      ];
      await store.update(started.id, { status: 'in_progress' });
      await store.close(closed.id);
      assert.deepEqual(titles(await store.list({ statuses: ['open', 'in_progress'] })), ['open', 'started']);
      assert.deepEqual(titles(await store.list({ statuses: ['closed'] })), ['closed']);
    },
  },
  {
    name: 'a bead says when it was closed, until it is opened again',
    async run({ store }) {
      const bead = await store.create(task('c'));
      const { closed_at: before, updated_at: made } = bead;
      assert.deepEqual([before, made], [undefined, bead.created_at]);
      const { closed_at: closedAt } = await store.close(bead.id);
      assert.ok(closedAt !== undefined && closedAt >= bead.created_at);
      await store.update(bead.id, { title: 'still closed' });
      assert.equal((await store.get(bead.id)).closed_at, closedAt);
      const at = Date.parse(closedAt);
      assert.deepEqual(titles(await store.list({ closedAfter: at - 1 })), ['still closed']);
      assert.deepEqual(await store.list({ closedAfter: at }), []);
      assert.equal((await store.update(bead.id, { status: 'open' })).closed_at, undefined);
    },
  },
  {
    name: 'priority and notes can be changed',
    async run({ store }) {
      const bead = await store.create(task('p'));
      const changed = await store.update(bead.id, { priority: 0, notes: 'half\ndone' });
      assert.deepEqual([changed.priority, changed.notes], [0, 'half\ndone']);
      assert.equal((await store.update(bead.id, { notes: '' })).notes, undefined);
    },
  },
  {
    name: 'claim takes a bead that nobody has, or that is the own one already',
    async run({ store }) {
      const bead = await store.create(task('c'));
      const claimed = await store.claim(bead.id, 'me', { metadata: { branch: 'b' } });
      assert.deepEqual(
        [claimed.status, claimed.assignee, claimed.metadata['branch']],
        ['in_progress', 'me', 'b'],
      );
      assert.deepEqual(await store.claim(bead.id, 'me'), claimed);
      await rejectsWith('bead-claimed', store.claim(bead.id, 'you'));
      assert.deepEqual(await store.get(bead.id), claimed);
      await store.close(bead.id);
      await rejectsWith('bead-closed', store.claim(bead.id, 'me'));
      await rejectsWith('bead-not-found', store.claim('gc-404', 'me'));
    },
  },
  {
    name: 'of many who claim at once exactly one gets the bead',
    async run({ store, second }) {
      const bead = await store.create(task('race'));
      const tries = Array.from({ length: 10 }, (_, n) =>
        (n % 2 === 0 ? store : (second ?? store)).claim(bead.id, `w${n}`),
      );
      const won = (await Promise.allSettled(tries)).filter((result) => result.status === 'fulfilled');
      assert.equal(won.length, 1);
      assert.equal((await store.get(bead.id)).assignee, won[0]?.value.assignee);
    },
  },
  {
    name: 'comments are kept in order and go with their bead',
    async run({ store }) {
      const bead = await store.create(task('talk'));
      for (const text of ['first', 'second\nline']) await store.addComment(bead.id, { author: 'me', text });
      const said = await store.comments(bead.id);
      assert.deepEqual(
        said.map(({ author, text }) => [author, text]),
        [
          ['me', 'first'],
          ['me', 'second\nline'],
        ],
      );
      assert.ok(said.every(({ created_at }) => !Number.isNaN(Date.parse(created_at))));
      await rejectsWith('bead-not-found', store.addComment('gc-404', { author: 'me', text: 'x' }));
      await store.delete(bead.id);
      assert.deepEqual(await store.comments(bead.id), []);
    },
  },
];
