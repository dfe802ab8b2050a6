import { describe, expect, it } from 'vitest';
import { cityFact } from '../../../protocol/events.ts';
import { ChainWalk } from '../../../protocol/hash-chain.ts';
import type { FollowItem } from '../session-log.ts';
import { MemoryLogStore } from './memory-log-store.ts';

const fact = (n: number) => cityFact({ n });

describe('the log store in memory', () => {
  it('chains, checks the expected record before the fence, and repeats a source', async () => {
    const store = new MemoryLogStore();
    const first = await store.append('s', [fact(1), fact(2)], { expected: 0, fence: 1, source: 'x' });
    expect(await store.append('s', [fact(1), fact(2)], { source: 'x' })).toEqual(first);
    await expect(store.append('s', [fact(3)], { source: 'x' })).rejects.toMatchObject({
      code: 'source-reused',
    });
    await expect(store.append('s', [fact(3)], { expected: 1, fence: 0 })).rejects.toMatchObject({
      code: 'log-conflict',
    });
    await expect(store.append('s', [fact(3)], { expected: 2, fence: 0 })).rejects.toMatchObject({
      code: 'stale-fence',
    });
    const walk = new ChainWalk();
    for (const record of await store.read('s', {})) walk.check(record);
    expect(walk.seq).toBe(2);
  });

  it('tells followers everything once, in order, and cuts off one that is too slow', async () => {
    const store = new MemoryLogStore();
    await store.append('s', [fact(1), fact(2)]);
    const end = new AbortController();
    const seen: FollowItem[] = [];
    for await (const item of store.follow('s', { from: 1, signal: end.signal, buffer: 2 })) {
      seen.push(item);
      if (item.kind === 'record' && item.record.seq === 2) {
        queueMicrotask(async () => {
          await store.append('s', [fact(3)]);
        });
      }
      if (item.kind === 'record' && item.record.seq === 3) await store.append('s', [4, 5, 6].map(fact));
    }
    expect(seen.map((item) => (item.kind === 'record' ? item.record.seq : item))).toEqual([
      1,
      2,
      3,
      { kind: 'lagged', resumeFrom: 4 },
    ]);
  });
});
