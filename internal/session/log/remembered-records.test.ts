import { describe, expect, it } from 'vitest';
import { input, textMessage } from '../../protocol/events.ts';
import { RememberedRecords } from './remembered-records.ts';
import type { ReadRange, SessionLog } from './session-log.ts';
import { MemoryLogStore } from './testing/memory-log-store.ts';

const say = (text: string) => input('e', textMessage('user', text));

async function rig(records: number, maxBytes?: number) {
  const store = new MemoryLogStore();
  for (let n = 1; n <= records; n += 1) await store.append('a', [say(`record ${n}`)]);
  const asked: ReadRange[] = [];
  const log: Pick<SessionLog, 'read'> = {
    read(uid, range) {
      asked.push(range);
      return store.read(uid, range);
    },
  };
  return { store, asked, remembered: new RememberedRecords(log, maxBytes) };
}

describe('a log that is read again', () => {
  it('is answered from memory, and only what is new is read', async () => {
    const { store, asked, remembered } = await rig(7);
    expect(await remembered.read('a', {})).toEqual(await store.read('a', {}));
    await store.append('a', [say('new')]);
    expect(await remembered.read('a', { from: 1, limit: 500 })).toHaveLength(7);
    expect(await remembered.read('a', { from: 8 })).toEqual(await store.read('a', { from: 8 }));
    expect(await remembered.read('a', { from: 3, to: 5 })).toEqual(await store.read('a', { from: 3, to: 5 }));
    expect(await remembered.read('a', { from: 2, limit: 3 })).toEqual(
      await store.read('a', { from: 2, limit: 3 }),
    );
    expect(asked).toEqual([{}, { from: 8 }]);
  });

  it('is read where it is asked for in the middle first, and nothing is made up', async () => {
    const { store, asked, remembered } = await rig(5);
    expect(await remembered.read('a', { from: 3 })).toEqual(await store.read('a', { from: 3 }));
    expect(await remembered.read('a', { from: 1, limit: 2 })).toHaveLength(2);
    expect(await remembered.read('a', { from: 3 })).toHaveLength(3);
    expect(asked).toHaveLength(3);
    expect(await remembered.read('b', {})).toEqual([]);
  });

  it('is forgotten when it is another one under the same name', async () => {
    const { store, remembered } = await rig(2);
    await remembered.read('a', {});
    await store.remove('a');
    for (const text of ['x', 'y', 'z']) await store.append('a', [say(text)]);
    expect(await remembered.read('a', { from: 3 })).toEqual(await store.read('a', { from: 3 }));
    expect(await remembered.read('a', {})).toEqual(await store.read('a', {}));
  });

  it('gives way to others when all together weigh too much', async () => {
    const { store, asked, remembered } = await rig(3, 2_000);
    await store.append('b', [say('x'.repeat(1_900))]);
    await remembered.read('a', {});
    await remembered.read('b', {});
    await remembered.read('a', {});
    expect(asked).toHaveLength(3);
  });
});
