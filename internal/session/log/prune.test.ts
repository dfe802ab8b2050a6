import { describe, expect, it } from 'vitest';
import { seededIds } from '../../platform/ids.ts';
import { input, textMessage, toolResult } from '../../protocol/events.ts';
import { ToolResultSchema } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import { create } from '../../protocol/protobuf.ts';
import { continueSession } from './continue.ts';
import { type PruneRequest, prune } from './prune.ts';
import { MemoryLogStore } from './testing/memory-log-store.ts';

const START = Date.UTC(2026, 0, 1);
const DAY = 86_400_000;
const question = input('e1', textMessage('user', 'x'.repeat(1_000)));

class Town {
  now = START;
  readonly store = new MemoryLogStore(() => this.now);

  async log(uid: string): Promise<void> {
    await this.store.append(uid, [question]);
  }

  prune(request: Partial<PruneRequest>) {
    const budget = { maxAgeMs: 30 * DAY, maxBytes: 0, keep: 0 };
    return prune(this.store, { budget, live: new Set(), now: this.now, dryRun: false, ...request });
  }
}

const uids = (logs: readonly { readonly uid: string }[]) => logs.map(({ uid }) => uid);

describe('pruning a store', () => {
  it('removes what rested too long, and only says so when it is asked to', async () => {
    const town = new Town();
    for (const uid of ['a', 'b']) {
      await town.log(uid);
      town.now += 1_000;
    }
    town.now += 31 * DAY;
    await town.log('c');
    expect(uids((await town.prune({ dryRun: true })).removed)).toEqual(['a', 'b']);
    const report = await town.prune({ live: new Set(['a']) });
    expect([uids(report.removed), report.kept]).toEqual([['b'], 2]);
    expect(uids(await town.store.list({ limit: 9 }))).toEqual(['c', 'a']);
  });

  it('keeps a log that a kept one continues', async () => {
    const town = new Town();
    await town.log('a');
    town.now += 60 * DAY;
    await continueSession(town.store, 'a', { ids: seededIds(1) });
    expect((await town.prune({})).removed).toEqual([]);
  });

  it('measures logs against the budget of bytes, unless all of them are known to fit', async () => {
    const town = new Town();
    for (const uid of ['a', 'b', 'c']) {
      await town.log(uid);
      town.now += DAY;
    }
    const budget = { maxAgeMs: 0, maxBytes: 2_500, keep: 0 };
    expect((await town.prune({ budget, atMostBytes: 2_500 })).removed).toEqual([]);
    expect(uids((await town.prune({ budget })).removed)).toEqual(['a']);
  });

  it('leaves a log that was written a moment ago, or while it was judged', async () => {
    const town = new Town();
    await town.log('a');
    const budget = { maxAgeMs: 1, maxBytes: 0, keep: 0 };
    town.now += 60_000;
    expect((await town.prune({ budget })).removed).toEqual([]);
    town.now += DAY;
    const get = town.store.get.bind(town.store);
    town.store.get = async (uid) => {
      town.store.get = get;
      await town.log(uid);
      return get(uid);
    };
    expect((await town.prune({ budget })).removed).toEqual([]);
    expect(await town.store.head('a')).toMatchObject({ seq: 2 });
  });

  it('collects the blobs that only removed logs named', async () => {
    const town = new Town();
    const [mine, shared] = ['1'.repeat(64), '2'.repeat(64)];
    const named = (hash: string) =>
      toolResult('e1', create(ToolResultSchema, { id: 'x', outputUri: `blob:sha256:${hash}` }));
    await town.store.append('old', [named(mine), named(shared)]);
    town.now += 31 * DAY;
    await town.store.append('new', [named(shared)]);
    const gone: string[] = [];
    const blobs = {
      async *list() {
        for (const hash of [mine, shared]) yield { hash, bytes: 5, putAt: START };
      },
      remove: async (hash: string) => gone.push(hash) > 0,
    };
    expect((await town.prune({ blobs })).blobs).toEqual({ count: 1, bytes: 5 });
    expect(gone).toEqual([mine]);
  });
});
