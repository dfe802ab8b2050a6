import { lstatSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { codeOf } from '../../platform/errors.ts';
import { type CityDatabase, openCityDatabase } from '../sqlite/city-database.ts';
import { FileWork } from './file-work.ts';

let dir: string;
let city: CityDatabase;
let file: string;
let work: FileWork;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-bead-file-'));
  city = openCityDatabase(join(dir, 'city.db'), systemClock);
  file = join(dir, 'beads.json');
  work = new FileWork({ file, city, path: process.env['PATH'] ?? '' });
});
afterEach(() => {
  city.close();
  rmSync(dir, { recursive: true, force: true });
});

const refusal = (made: Promise<unknown>) => made.then(() => 'done', codeOf);

describe('a bead file that is a link', () => {
  it('stays one: what it leads to is replaced', async () => {
    const real = join(dir, 'elsewhere.json');
    await work.create({ title: 'first' });
    renameSync(file, real);
    symlinkSync(real, file);
    await work.create({ title: 'second' });
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(readFileSync(real, 'utf8')).toContain('second');
    expect(readdirSync(dir).filter((name) => name.endsWith('.gc-tmp'))).toEqual([]);
  });

  it('to what is no file is refused, and never waited for', async () => {
    symlinkSync('/dev/zero', file);
    expect(await refusal(work.list({ status: 'open' }))).toBe('store-unwritable');
    expect(await refusal(work.create({ title: 'x' }))).toBe('store-unwritable');
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
  });
});

describe('a bead file that is gone', () => {
  it('is not made anew by copies of records or by a start, but by new work', async () => {
    await work.prepare(0);
    const { id } = await work.create({ title: 'first' });
    rmSync(file);
    expect(work.isMissing()).toBe(true);
    const record = { id: 'gc-s1', title: 's', status: 'open', issue_type: 'session' } as const;
    const copies = [{ ...record, created_at: '2026-01-02T03:04:05Z', labels: [], metadata: {} }];
    expect(await refusal(work.mirror(copies))).toBe('store-removed');
    await work.prepare(0);
    expect(work.isMissing()).toBe(true);
    expect((await work.create({ title: 'second' })).id).not.toBe(id);
    expect(work.isMissing()).toBe(false);
    expect(await work.mirror(copies)).toBe(1);
  });
});
