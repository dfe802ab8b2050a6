import { describe, expect, it } from 'vitest';
import { seededIds } from '../../platform/ids.ts';
import { cityFactOf, executionEnd, executionStart, input, textMessage } from '../../protocol/events.ts';
import { continueSession } from './continue.ts';
import { MemoryLogStore } from './testing/memory-log-store.ts';

const turn = (id: string) => [
  executionStart(id, { inputCount: 1, harness: 'echo' }),
  input(id, textMessage('user', id)),
  executionEnd(id),
];
const ids = seededIds(1);

async function source(): Promise<MemoryLogStore> {
  const store = new MemoryLogStore();
  await store.create({ uid: 'sess-a', project: 'town', harness: 'echo', model: 'small', name: 'a' });
  await store.append('sess-a', [...turn('one'), ...turn('two')]);
  return store;
}

describe('continuing a session', () => {
  it('makes a new one with the same harness whose log is one marker, and leaves the old one as it is', async () => {
    const store = await source();
    const before = await store.head('sess-a');
    const row = await continueSession(store, 'sess-a', { ids, name: 'b' });
    expect(row).toMatchObject({ project: 'town', harness: 'echo', model: 'small', name: 'b', lastSeq: 1 });
    const [marker] = await store.read(row.uid, {});
    expect(marker && cityFactOf(marker.event)).toEqual({ continued: { source: 'sess-a', seq: 6, turns: 2 } });
    expect(await store.head('sess-a')).toEqual(before);
  });

  it('counts the turns that were carried already', async () => {
    const store = await source();
    const second = await continueSession(store, 'sess-a', { ids, at: 3 });
    await store.append(second.uid, turn('three'));
    const third = await continueSession(store, second.uid, { ids });
    const [marker] = await store.read(third.uid, {});
    expect(marker && cityFactOf(marker.event)).toEqual({
      continued: { source: second.uid, seq: 4, turns: 2 },
    });
  });

  it('of one that is not there, was deleted, or is shorter fails and makes nothing', async () => {
    const store = await source();
    const failing = (uid: string, at?: number) => continueSession(store, uid, { ids, ...(at ? { at } : {}) });
    await expect(failing('sess-x')).rejects.toMatchObject({ code: 'session-not-found' });
    await expect(failing('sess-a', 7)).rejects.toMatchObject({ code: 'continue-beyond-head' });
    await store.markDeleted('sess-a');
    await expect(failing('sess-a')).rejects.toMatchObject({ code: 'session-deleted' });
    expect(await store.list({ limit: 10, includeDeleted: true })).toHaveLength(1);
  });
});
