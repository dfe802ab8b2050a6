import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../platform/fake-clock.ts';
import {
  addToConvoy,
  closeConvoy,
  closeDoneConvoys,
  convoyOf,
  convoysOf,
  createConvoy,
  landConvoy,
  type NewConvoy,
  openConvoys,
  progressText,
  setConvoyTarget,
  strandedWork,
} from './convoy.ts';
import { type CityDatabase, openCityDatabase } from './sqlite/city-database.ts';
import { SqliteWork } from './sqlite/sqlite-work.ts';
import type { NewBead } from './store.ts';

let dir: string;
let city: CityDatabase;
let work: SqliteWork;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-convoy-'));
  city = openCityDatabase(join(dir, 'city.db'), new FakeClock());
  work = new SqliteWork(city);
});
afterEach(() => {
  city.close();
  rmSync(dir, { recursive: true, force: true });
});

const issue = async (over: Partial<NewBead> = {}) => (await work.create({ title: 'work', ...over })).id;
const make = (over: Partial<NewConvoy> = {}) =>
  work.transaction((tx) =>
    createConvoy(tx, { name: 'release', issues: [], prefix: 'gc', owned: false, ...over }, 'human'),
  );
const seen = (id: string) => work.look((view) => convoyOf(view, id));
const events = async () => (await city.events.list({})).map(({ type, subject }) => `${type} ${subject}`);

describe('a convoy', () => {
  it('is the parent of its work, with what is to be known of it', async () => {
    const ids = [await issue(), await issue()];
    const { bead } = await make({
      issues: ids,
      owner: 'mayor',
      notify: 'human',
      merge: 'mr',
      target: 'main',
    });
    const { children, owned } = await seen(bead.id);
    expect(children.map(({ id }) => id)).toEqual(ids);
    expect([bead.title, bead.issue_type, owned]).toEqual(['release', 'convoy', false]);
    expect(bead.metadata).toEqual({
      'convoy.owner': 'mayor',
      'convoy.notify': 'human',
      'convoy.merge': 'mr',
      target: 'main',
    });
    expect(await events()).toContain(`convoy.created ${bead.id}`);
  });

  it('is not made at all when something cannot be in it', async () => {
    await expect(make({ issues: [await issue(), 'gc-99'] })).rejects.toMatchObject({
      code: 'bead-not-found',
    });
    expect(await work.look(openConvoys)).toEqual([]);
  });

  it('takes work in once, and only work that is nobody else’s', async () => {
    const first = (await make()).bead.id;
    const second = (await make()).bead.id;
    const id = await issue();
    const add = (convoy: string, item: string) =>
      work.transaction((tx) => addToConvoy(tx, convoy, item, 'human'));
    await add(first, id);
    await add(first, id);
    expect((await seen(first)).children).toHaveLength(1);
    await expect(add(second, id)).rejects.toMatchObject({ code: 'convoy-item' });
    await expect(add(second, second)).rejects.toMatchObject({ code: 'convoy-item' });
    await expect(add(id, second)).rejects.toMatchObject({ code: 'not-a-convoy' });
    await work.close(first);
    await add(second, id);
    expect((await seen(second)).children).toHaveLength(1);
    await expect(add(first, await issue())).rejects.toMatchObject({ code: 'convoy-closed' });
  });

  it('tells how far it is', async () => {
    const ids = [await issue(), await issue()];
    const { bead } = await make({ issues: ids });
    await work.close(ids[0] ?? '');
    expect(progressText(await seen(bead.id))).toBe('1/2 closed');
  });

  it('gets another target, and says so once', async () => {
    const { id } = (await make()).bead;
    const aim = () => work.transaction((tx) => setConvoyTarget(tx, id, 'release/2', 'human'));
    await aim();
    await aim();
    expect((await seen(id)).bead.metadata).toMatchObject({ target: 'release/2' });
    expect((await events()).filter((event) => event === `bead.updated ${id}`)).toHaveLength(1);
  });

  it.each([
    'bad branch',
    'a..b',
    '-x',
    '/x',
    'x/',
    'a//b',
    '.x',
    'a/.b',
    'x.lock',
    'x.',
    '@',
    'a@{b',
    'a~1',
    'x^',
    'a:b',
    'q?',
    's*',
    'b[',
    'c\\d',
    'x\n',
    'x\u001b[31m',
    '',
  ])('has no target that git would not take: %j', async (target) => {
    const { id } = (await make()).bead;
    const aim = work.transaction((tx) => setConvoyTarget(tx, id, target, 'human'));
    await expect(aim).rejects.toMatchObject({
      code: 'invalid-branch',
      next: `gc convoy target ${id} <branch>`,
    });
    expect((await seen(id)).bead.metadata['target'] ?? '').toBe('');
  });
});

describe('the end of a convoy', () => {
  const check = () => work.transaction((tx) => closeDoneConvoys(tx, 'human').map(({ bead }) => bead.id));

  it('comes when all its work is closed, and not without any', async () => {
    const id = await issue();
    const { bead } = await make({ issues: [id] });
    await make({ name: 'empty' });
    expect(await check()).toEqual([]);
    await work.close(id);
    expect(await check()).toEqual([bead.id]);
    expect(await check()).toEqual([]);
    expect((await seen(bead.id)).bead.status).toBe('closed');
    expect(await events()).toContain(`convoy.closed ${bead.id}`);
  });

  it('of an owned one comes by landing', async () => {
    const id = await issue();
    const convoy = (await make({ issues: [id], owned: true })).bead.id;
    const land = (force = false, dryRun = false) =>
      work.transaction((tx) => landConvoy(tx, convoy, { force, dryRun, actor: 'human' }));
    expect(await land()).toMatchObject({ kind: 'open-work', open: [{ id }] });
    expect(await land(true, true)).toMatchObject({ kind: 'would-land' });
    await work.close(id);
    expect(await check()).toEqual([]);
    expect(await land(false, true)).toMatchObject({ kind: 'would-land' });
    expect((await seen(convoy)).bead.status).toBe('open');
    expect(await land()).toMatchObject({ kind: 'landed' });
    await expect(land()).rejects.toMatchObject({ code: 'convoy-closed' });
  });

  it('of one that is not owned does not come by landing', async () => {
    const { id } = (await make()).bead;
    const land = work.transaction((tx) => landConvoy(tx, id, { force: true, dryRun: false, actor: 'human' }));
    await expect(land).rejects.toThrow('not owned');
  });

  it('can be told early, once', async () => {
    const { id } = (await make({ issues: [await issue()] })).bead;
    for (let i = 0; i < 2; i += 1) await work.transaction((tx) => closeConvoy(tx, id, 'human'));
    expect((await events()).filter((event) => event.startsWith('convoy.closed'))).toHaveLength(1);
  });

  it('is looked for among the convoys of what was closed', async () => {
    const [a, b] = [await issue(), await issue()];
    const { bead } = await make({ issues: [a] });
    const found = await work.look((view) => convoysOf(view, [a, b, 'gc-99']));
    expect(found.map((convoy) => convoy.bead.id)).toEqual([bead.id]);
  });
});

describe('stranded work', () => {
  it('is ready, in an open convoy, and in nobody’s hands', async () => {
    const free = await issue({ title: 'free' });
    const taken = await issue({ assignee: 'worker' });
    const routed = await issue({ metadata: { 'gc.routed_to': 'worker' } });
    const blocked = await issue({ needs: [free] });
    const { bead } = await make({ issues: [free, taken, routed, blocked] });
    await issue({ title: 'in no convoy' });
    const found = await work.look(strandedWork);
    expect(found.map((each) => [each.convoy.id, each.issue.id])).toEqual([[bead.id, free]]);
  });
});
