import { describe, expect, it } from 'vitest';
import { seededIds } from '../../platform/ids.ts';
import {
  cityFact,
  cityFactOf,
  executionEnd,
  executionStart,
  input,
  textMessage,
} from '../../protocol/events.ts';
import { browse } from './browse.ts';
import { continueSession } from './continue.ts';
import type { ReadRange } from './session-log.ts';
import { MemoryLogStore } from './testing/memory-log-store.ts';
import { NO_TITLE } from './title.ts';
import { renameSession } from './title-rename.ts';

const turn = (id: string, text: string) => [
  executionStart(id, { inputCount: 1, harness: 'echo' }),
  input(id, textMessage('user', text)),
  executionEnd(id),
];

class CountingStore extends MemoryLogStore {
  records = 0;

  override async read(uid: string, range: ReadRange) {
    const page = await super.read(uid, range);
    this.records += page.length;
    return page;
  }
}

async function summaries(store: MemoryLogStore, options: Parameters<typeof browse>[1] = {}) {
  const all = [];
  for await (const each of browse(store, options)) all.push(each);
  return all;
}

describe('the list of sessions', () => {
  it('is newest first and says what each is about', async () => {
    let now = Date.UTC(2026, 0, 1);
    const store = new MemoryLogStore(() => now);
    await store.create({ uid: 'a', project: 'town', harness: 'echo' });
    await store.append('a', [
      cityFact({ started: { reason: 'wanted' } }),
      ...turn('1', 'Fix it\nnow'),
      ...turn('2', 'more'),
    ]);
    now += 60_000;
    await store.create({ uid: 'b', project: 'other', name: 'bee' });
    await store.markDeleted('b');
    now += 60_000;
    await store.append('a', turn('3', 'and more'));
    const [all, town] = [
      await summaries(store, { includeDeleted: true }),
      await summaries(store, { project: 'town' }),
    ];
    expect(all.map(({ uid, name, title, state, turns }) => [uid, name, title, state, turns])).toEqual([
      ['b', 'bee', NO_TITLE, 'deleted', 0],
      ['a', '', 'Fix it', 'live', 3],
    ]);
    expect(town).toHaveLength(1);
    expect(town[0]).toMatchObject({
      records: 10,
      partial: false,
      startedAt: Date.UTC(2026, 0, 1),
      lastActivityAt: Date.UTC(2026, 0, 1, 0, 2),
    });
  });

  it('EVT-02 reads the beginning of a long log only, and says that it did', async () => {
    const store = new CountingStore();
    for (let n = 0; n < 400; n += 1) await store.append('a', turn(`e${n}`, `question ${n}`));
    const [summary] = await summaries(store);
    expect(store.records).toBe(200);
    expect(summary).toMatchObject({ title: 'question 0', records: 1_200, turns: 67, partial: true });
  });

  it('shows the title of what is continued', async () => {
    const store = new MemoryLogStore();
    await store.append('a', turn('1', 'the first question'));
    const next = await continueSession(store, 'a', { ids: seededIds(1) });
    await store.append(next.uid, turn('2', 'a later one'));
    const last = await continueSession(store, next.uid, { ids: seededIds(2) });
    const titles = new Map((await summaries(store)).map(({ uid, title }) => [uid, title]));
    expect([titles.get(next.uid), titles.get(last.uid)]).toEqual([
      'the first question',
      'the first question',
    ]);
    await store.remove('a');
    expect((await summaries(store)).map(({ title }) => title)).toEqual(['a later one', 'a later one']);
  });
});

describe('the title of an agent whose conversation cannot be read', () => {
  const nudged = (text: string) => cityFact({ kind: 'nudged', id: 'm1', text });

  it('is the first thing that it was told, until a question is in the log', async () => {
    const store = new MemoryLogStore();
    await store.append('a', [cityFact({ kind: 'created' }), nudged('look at p-19'), nudged('and p-20')]);
    expect((await summaries(store)).map(({ title }) => title)).toEqual(['look at p-19']);
    await store.append('a', turn('1', 'a question'));
    expect((await summaries(store)).map(({ title }) => title)).toEqual(['a question']);
  });
});

const ANN = { by: 'ann', now: Date.UTC(2026, 0, 1) };

describe('renaming', () => {
  it('changes the row, notes it in the log once, and gives the title back when it is empty', async () => {
    const store = new MemoryLogStore();
    await store.append('a', turn('1', 'question'));
    await renameSession(store, 'a', ' the parser ', ANN);
    await renameSession(store, 'a', 'the parser', ANN);
    await renameSession(store, 'a', '', ANN);
    const facts = (await store.read('a', {})).map(({ event }) => cityFactOf(event)).filter((each) => each);
    const fact = { kind: 'renamed', at: '2026-01-01T00:00:00Z', actor: 'ann', evidence: 'record' };
    expect(facts).toEqual([
      { ...fact, name: 'the parser' },
      { ...fact, name: '' },
    ]);
    expect(await store.get('a')).toMatchObject({ name: '' });
  });

  it('refuses what is not there, was deleted, or is too long, and notes nothing', async () => {
    const store = new MemoryLogStore();
    await store.append('a', turn('1', 'question'));
    await expect(renameSession(store, 'b', 'x', ANN)).rejects.toMatchObject({ code: 'session-not-found' });
    await expect(renameSession(store, 'a', 'x'.repeat(121), ANN)).rejects.toMatchObject({
      code: 'invalid-name',
    });
    await store.markDeleted('a');
    await expect(renameSession(store, 'a', 'x', ANN)).rejects.toMatchObject({ code: 'session-deleted' });
    expect((await store.head('a')).seq).toBe(3);
  });
});
