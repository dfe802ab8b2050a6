import assert from 'node:assert/strict';
import type { Bead, BeadStore, NewBead } from '../../internal/beads/store.ts';
import { codeOf } from '../../internal/platform/errors.ts';

/** What a case works on: a fresh, empty store each time. */
export interface BeadStoreContext {
  readonly store: BeadStore;
  /** Another handle on the same data, as another process would have it. */
  readonly second?: BeadStore;
}

export type BeadStoreNeed =
  /** Two handles on one store. */
  | 'second-handle'
  /** Revisions guard updates. */
  | 'revisions'
  /** They are counted, too. */
  | 'counted-revisions'
  | 'dependencies';

/** A case holds when `run` resolves; it rejects with what was found otherwise. */
export interface BeadStoreCase {
  readonly name: string;
  readonly needs?: readonly BeadStoreNeed[];
  run(context: BeadStoreContext): Promise<void>;
}

const task = (title: string, more: Partial<NewBead> = {}): NewBead => ({ title, ...more });
const ids = (beads: readonly Bead[]): readonly string[] => beads.map((bead) => bead.id);
const titles = (beads: readonly Bead[]): readonly string[] => beads.map((bead) => bead.title);

async function rejectsWith(code: string, work: Promise<unknown>): Promise<void> {
  await assert.rejects(work, (error) => codeOf(error) === code);
}

/** What every bead store must do. */
export const BEAD_STORE_CASES: readonly BeadStoreCase[] = [
  {
    name: 'create fills in what was not given',
    async run({ store }) {
      const bead = await store.create(task('first'));
      assert.match(bead.id, /\S/);
      assert.equal(bead.status, 'open');
      assert.equal(bead.issue_type, 'task');
      assert.equal(bead.priority, undefined);
      assert.equal(bead.assignee, '');
      assert.deepEqual(bead.labels, []);
      assert.deepEqual({ ...bead.metadata }, {});
      assert.ok(!Number.isNaN(Date.parse(bead.created_at)));
    },
  },
  {
    name: 'create keeps every field, text of any kind included',
    async run({ store }) {
      const given = {
        title: 'snow ☃ and "quotes"',
        issue_type: 'bug',
        priority: 0,
        assignee: 'rig/worker',
        from: 'human',
        parent: 'gc-900',
        ref: 'step-1',
        description: 'line 1\nline 2\t\u0000end',
        labels: ['a', 'b', 'a'],
        metadata: { 'gc.routed_to': 'worker', 'with space': "it's" },
      };
      const { id } = await store.create(given);
      const read = await store.get(id);
      for (const key of Object.keys(given) as (keyof typeof given)[]) {
        assert.deepEqual(JSON.parse(JSON.stringify(read[key])), given[key], key);
      }
    },
  },
  {
    name: 'ids are unique and never given again',
    async run({ store }) {
      const first = await store.create(task('a'));
      const second = await store.create(task('b'));
      await store.delete(second.id);
      const third = await store.create(task('c'));
      assert.equal(new Set([first.id, second.id, third.id]).size, 3);
    },
  },
  {
    name: 'get of a missing bead is not found',
    async run({ store }) {
      await rejectsWith('bead-not-found', store.get('gc-404'));
    },
  },
  {
    name: 'update changes what is named and nothing else',
    async run({ store }) {
      const bead = await store.create(task('old', { assignee: 'a', description: 'kept' }));
      const changed = await store.update(bead.id, { title: 'new', status: 'in_progress', assignee: '' });
      assert.equal(changed.title, 'new');
      assert.equal(changed.status, 'in_progress');
      assert.equal(changed.assignee, '');
      assert.equal(changed.description, 'kept');
      assert.deepEqual(await store.get(bead.id), changed);
    },
  },
  {
    name: 'update of a missing bead is not found',
    async run({ store }) {
      await rejectsWith('bead-not-found', store.update('gc-404', { title: 'x' }));
    },
  },
  {
    name: 'metadata is merged, an empty value clears its key',
    async run({ store }) {
      const bead = await store.create(task('m', { metadata: { keep: '1', drop: '2' } }));
      const changed = await store.update(bead.id, { metadata: { drop: '', add: '3' } });
      assert.deepEqual({ ...changed.metadata }, { keep: '1', add: '3' });
    },
  },
  {
    name: 'labels are appended and removed',
    async run({ store }) {
      const bead = await store.create(task('l', { labels: ['a', 'b'] }));
      const changed = await store.update(bead.id, { addLabels: ['c', 'a'], removeLabels: ['b'] });
      assert.deepEqual([...changed.labels], ['a', 'c', 'a']);
    },
  },
  {
    name: 'close is final for lists and harmless when repeated',
    async run({ store }) {
      const bead = await store.create(task('c', { assignee: 'x' }));
      const closed = await store.close(bead.id, { close_reason: 'done' });
      assert.equal(closed.status, 'closed');
      assert.equal(closed.metadata['close_reason'], 'done');
      const again = await store.close(bead.id, { close_reason: 'other' });
      assert.equal(again.metadata['close_reason'], 'done');
      assert.deepEqual(await store.list({ assignee: 'x' }), []);
    },
  },
  {
    name: 'close of a missing bead is not found',
    async run({ store }) {
      await rejectsWith('bead-not-found', store.close('gc-404'));
    },
  },
  {
    name: 'a closed bead can be opened again',
    async run({ store }) {
      const bead = await store.create(task('again'));
      await store.close(bead.id);
      assert.equal((await store.update(bead.id, { status: 'open' })).status, 'open');
    },
  },
  {
    name: 'delete removes the bead',
    async run({ store }) {
      const bead = await store.create(task('gone'));
      await store.delete(bead.id);
      await rejectsWith('bead-not-found', store.get(bead.id));
    },
  },
  {
    name: 'a query without a filter is refused unless it asks for a scan',
    async run({ store }) {
      const bead = await store.create(task('one'));
      await assert.rejects(store.list({}));
      await assert.rejects(store.list({ includeClosed: true, limit: 1 }));
      assert.deepEqual(ids(await store.list({ allowScan: true })), [bead.id]);
    },
  },
  {
    name: 'all filters of a query must match',
    async run({ store }) {
      const wanted = await store.create(
        task('w', {
          issue_type: 'bug',
          labels: ['x', 'y'],
          assignee: 'a',
          parent: 'p',
          metadata: { k: 'v', l: 'w' },
        }),
      );
      await store.create(task('1', { issue_type: 'task', labels: ['x'], assignee: 'a', parent: 'p' }));
      await store.create(task('2', { issue_type: 'bug', labels: ['xy'], assignee: 'a', parent: 'p' }));
      await store.create(
        task('3', { issue_type: 'bug', labels: ['x'], assignee: 'b', metadata: { k: 'v' } }),
      );
      const query = { type: 'bug', label: 'x', assignee: 'a', parent: 'p', metadata: { k: 'v', l: 'w' } };
      assert.deepEqual(ids(await store.list(query)), [wanted.id]);
      for (const key of Object.keys(query) as (keyof typeof query)[]) {
        assert.ok(ids(await store.list({ [key]: query[key] })).includes(wanted.id), key);
      }
      assert.deepEqual(await store.list({ ...query, metadata: { k: 'other' } }), []);
      assert.deepEqual(await store.list({ metadata: { k: 'v', "x'; --": 'v' } }), []);
    },
  },
  {
    name: 'closed beads are listed when the query says so',
    async run({ store }) {
      const open = await store.create(task('open', { assignee: 'a' }));
      const closed = await store.create(task('closed', { assignee: 'a' }));
      await store.close(closed.id);
      assert.deepEqual(ids(await store.list({ assignee: 'a' })), [open.id]);
      assert.deepEqual(ids(await store.list({ assignee: 'a', includeClosed: true })), [open.id, closed.id]);
      assert.deepEqual(ids(await store.list({ status: 'closed' })), [closed.id]);
    },
  },
  {
    name: 'lists are in order of creation, in both directions, and can be cut',
    async run({ store }) {
      for (let n = 1; n <= 12; n += 1) await store.create(task(`t${n}`, { assignee: 'a' }));
      const ascending = titles(await store.list({ assignee: 'a', sort: 'created_asc' }));
      assert.deepEqual(
        ascending,
        Array.from({ length: 12 }, (_, n) => `t${n + 1}`),
      );
      const descending = titles(await store.list({ assignee: 'a', sort: 'created_desc' }));
      assert.deepEqual(descending, [...ascending].reverse());
      assert.deepEqual(titles(await store.list({ assignee: 'a', sort: 'created_desc', limit: 2 })), [
        't12',
        't11',
      ]);
    },
  },
  {
    name: 'ready is open work without open blockers',
    needs: ['dependencies'],
    async run({ store }) {
      const blocker = await store.create(task('blocker'));
      const waiting = await store.create(task('waiting', { needs: [blocker.id] }));
      const related = await store.create(task('related', { needs: [`related:${blocker.id}`] }));
      const missing = await store.create(task('missing', { needs: ['waits-for:gc-9999'] }));
      const started = await store.create(task('started'));
      await store.update(started.id, { status: 'in_progress' });
      for (const issue_type of [
        'session',
        'message',
        'gate',
        'molecule',
        'merge-request',
        'agent',
        'role',
        'rig',
      ]) {
        await store.create(task(issue_type, { issue_type }));
      }
      assert.deepEqual(ids(await store.ready()), [blocker.id, related.id]);
      await store.close(blocker.id);
      assert.deepEqual(ids(await store.ready()), [waiting.id, related.id]);
      assert.ok(!ids(await store.ready()).includes(missing.id));
    },
  },
  {
    name: 'dependencies are added, listed both ways and removed',
    needs: ['dependencies'],
    async run({ store }) {
      const a = await store.create(task('a'));
      const b = await store.create(task('b'));
      const link = { issue_id: a.id, depends_on_id: b.id, type: 'blocks' };
      await store.addDependency(link);
      await store.addDependency(link);
      assert.deepEqual(await store.dependencies(a.id, 'down'), [link]);
      assert.deepEqual(await store.dependencies(b.id, 'up'), [link]);
      assert.deepEqual(await store.dependencies(a.id, 'up'), []);
      assert.deepEqual((await store.get(a.id)).dependencies, [link]);
      await store.removeDependency(a.id, b.id);
      await store.removeDependency(a.id, b.id);
      assert.deepEqual(await store.dependencies(a.id, 'down'), []);
    },
  },
  {
    name: 'a dependency of a missing bead is not found',
    needs: ['dependencies'],
    async run({ store }) {
      const bead = await store.create(task('b'));
      const link = { issue_id: 'gc-404', depends_on_id: bead.id, type: 'blocks' };
      await rejectsWith('bead-not-found', store.addDependency(link));
    },
  },
  {
    name: 'a revision grows by one with every change',
    needs: ['counted-revisions'],
    async run({ store }) {
      const bead = await store.create(task('r'));
      const second = await store.update(bead.id, { title: 's' });
      assert.equal(second.revision, bead.revision + 1);
      assert.equal((await store.close(bead.id)).revision, bead.revision + 2);
    },
  },
  {
    name: 'every change makes another revision, and an older one guards nothing any more',
    needs: ['revisions'],
    async run({ store }) {
      const blocker = await store.create(task('b'));
      const bead = await store.create(task('r'));
      const changes = [
        () => store.update(bead.id, { metadata: { k: 'v' } }),
        () => store.addDependency({ issue_id: bead.id, depends_on_id: blocker.id, type: 'blocks' }),
        () => store.addComment(bead.id, { author: 'me', text: 'x' }),
        () => store.claim(bead.id, 'me'),
        () => store.close(bead.id),
      ];
      const seen = new Set([bead.revision]);
      for (const change of changes) {
        await change();
        seen.add((await store.get(bead.id)).revision);
      }
      assert.equal(seen.size, changes.length + 1);
      await rejectsWith('revision-conflict', store.update(bead.id, { title: 'lost' }, bead.revision));
      assert.equal((await store.get(bead.id)).title, 'r');
    },
  },
  {
    name: 'a revision guards updates',
    needs: ['revisions'],
    async run({ store }) {
      const bead = await store.create(task('r'));
      await store.update(bead.id, { title: 's' }, bead.revision);
      await rejectsWith('revision-conflict', store.update(bead.id, { title: 'lost' }, bead.revision));
      assert.equal((await store.get(bead.id)).title, 's');
    },
  },
  {
    name: 'an update that changes nothing leaves the revision',
    needs: ['revisions'],
    async run({ store }) {
      const bead = await store.create(task('r', { metadata: { k: 'v' } }));
      const same = await store.update(bead.id, { title: 'r', metadata: { k: 'v', absent: '' } });
      assert.equal(same.revision, bead.revision);
    },
  },
  {
    name: 'of many guarded updates at once exactly one wins',
    needs: ['revisions'],
    async run({ store, second }) {
      const bead = await store.create(task('race'));
      const tries = Array.from({ length: 10 }, (_, n) =>
        (n % 2 === 0 ? store : (second ?? store)).update(bead.id, { title: `w${n}` }, bead.revision),
      );
      const results = await Promise.allSettled(tries);
      assert.equal(results.filter((result) => result.status === 'fulfilled').length, 1);
    },
  },
  {
    name: 'another handle sees every change at once',
    needs: ['second-handle'],
    async run({ store, second }) {
      assert.ok(second);
      const bead = await store.create(task('shared', { assignee: 'a' }));
      assert.deepEqual(await second.get(bead.id), bead);
      const changed = await second.update(bead.id, { title: 'theirs' });
      assert.deepEqual(await store.get(bead.id), changed);
      assert.deepEqual(ids(await second.list({ assignee: 'a' })), [bead.id]);
    },
  },
  {
    name: 'two handles that create at once share the ids',
    needs: ['second-handle'],
    async run({ store, second }) {
      assert.ok(second);
      const both = [store, second];
      const made = await Promise.all(
        Array.from(
          { length: 40 },
          (_, n) => both[n % 2]?.create(task(`n${n}`)) ?? Promise.reject(new Error()),
        ),
      );
      assert.equal(new Set(ids(made)).size, 40);
      assert.equal((await store.list({ allowScan: true })).length, 40);
    },
  },
  {
    name: 'ping answers',
    async run({ store }) {
      await store.ping();
    },
  },
];
