import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileWork } from '../beads/file/file-work.ts';
import { settleWork } from '../beads/open-work.ts';
import { type CityDatabase, openCityDatabase } from '../beads/sqlite/city-database.ts';
import type { WorkBeads } from '../beads/work.ts';
import { systemClock } from '../platform/clock.ts';
import { readBeadFacts } from './wait-keeper.ts';
import { timeOf } from './wait-views.ts';

describe('beads that sessions wait for', () => {
  let dir: string;
  let db: CityDatabase;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), 'gc-wait-facts-'));
    db = openCityDatabase(join(dir, 'city.db'), systemClock);
  });
  afterEach(() => {
    db.close();
    rmSync(dir, { recursive: true, force: true });
  });

  it('are not deleted because the file that holds them is away for a while', async () => {
    const file = join(dir, 'beads.json');
    const work = new FileWork({ file, city: db, path: process.env['PATH'] ?? '' });
    const open = await work.create({ title: 'open' });
    const done = await work.create({ title: 'done' });
    await work.close(done.id);
    const letter = await db.beads.create({ title: 'a record', prefix: 'record' });
    const ids = [open.id, done.id, letter.id, 'gc-404'];
    const facts = async () => [...(await readBeadFacts({ parts: { work, db } }, ids)).values()];
    expect(await facts()).toEqual(['open', 'closed', 'open', 'missing']);
    renameSync(file, `${file}.away`);
    expect(await facts()).toEqual(['unknown', 'unknown', 'open', 'unknown']);
    renameSync(`${file}.away`, file);
    expect(await facts()).toEqual(['open', 'closed', 'open', 'missing']);
  });
});

describe('beads of a city whose work was moved to another store', () => {
  it('are not deleted: the old store may hold them', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'gc-wait-moved-'));
    const city = openCityDatabase(join(dir, 'city.db'), systemClock);
    const opening = { city, path: process.env['PATH'] ?? '' };
    try {
      const first = await settleWork(opening, { provider: 'file', by: 'env' }, 'test');
      const { id } = await first.work.create({ title: 'left behind' });
      const { work } = await settleWork(opening, { provider: 'sqlite', by: 'env' }, 'test');
      const facts = async (of: WorkBeads) => [
        ...(await readBeadFacts({ parts: { work: of, db: city } }, [id])).values(),
      ];
      expect(await facts(work)).toEqual(['unknown']);
      const back = await settleWork(opening, { provider: 'file', by: 'env' }, 'test');
      expect(await facts(back.work)).toEqual(['open']);
    } finally {
      city.close();
      rmSync(dir, { recursive: true, force: true });
    }
  });
});

describe('a time that is waited for', () => {
  it.each([
    ['2024-02-29T00:00:00Z', Date.UTC(2024, 1, 29)],
    ['2026-12-31T23:59:59+01:00', Date.UTC(2026, 11, 31, 22, 59, 59)],
    ['2026-02-29T00:00:00Z', undefined],
    ['2026-04-31T00:00:00Z', undefined],
    ['2026-00-10T00:00:00Z', undefined],
    ['2026-13-01T00:00:00Z', undefined],
    ['2026-01-00T00:00:00Z', undefined],
    ['2026-01-01', undefined],
    ['', undefined],
    [undefined, undefined],
  ])('%s', (text, at) => {
    expect(timeOf(text)).toBe(at);
  });
});
