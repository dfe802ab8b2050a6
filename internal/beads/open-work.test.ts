import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../platform/clock.ts';
import { leftBehind, openWork, settleWork } from './open-work.ts';
import { type CityDatabase, openCityDatabase } from './sqlite/city-database.ts';
import { chooseWork, DEFAULT_WORK, recordedWork, type WorkChoice } from './work-choice.ts';

const FILE: WorkChoice = { provider: 'file', by: 'env' };
let dir: string;
let city: CityDatabase;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-work-'));
  city = openCityDatabase(join(dir, 'city.db'), systemClock);
});
afterEach(() => {
  city.close();
  rmSync(dir, { recursive: true, force: true });
});

const settle = (choice: WorkChoice) =>
  settleWork({ city, path: process.env['PATH'] ?? '' }, choice, 'controller');
const session = () => city.transaction((tx) => tx.createBead(() => ({ title: 's', issue_type: 'session' })));

describe('where work is', () => {
  it.each([
    [{ env: 'file', config: 'bd', recorded: undefined }, 'file', 'env'],
    [{ env: '', config: 'file', recorded: FILE }, 'file', 'config'],
    [{ env: undefined, config: 'sqlite', recorded: FILE }, 'sqlite', 'config'],
    [{ env: undefined, config: undefined, recorded: FILE }, 'file', 'env'],
    [
      { env: undefined, config: undefined, recorded: { provider: 'file', by: 'config' } as const },
      'sqlite',
      'default',
    ],
    [{ env: undefined, config: undefined, recorded: undefined }, 'sqlite', 'default'],
    [{ env: 'exec:/x.sh', config: undefined, recorded: undefined }, 'exec:/x.sh', 'env'],
  ])('is decided: %j', (wishes, provider, by) => {
    expect(chooseWork(wishes)).toEqual({ provider, by });
  });

  it('is not where nobody knows', () => {
    for (const env of ['files', 'exec:', 'File']) {
      expect(() => chooseWork({ env, config: undefined, recorded: FILE })).toThrow(`"${env}"`);
    }
  });

  it('is recorded, and a new file is its owner’s alone', async () => {
    const { work, told } = await settle(FILE);
    expect([work.kind, told]).toEqual(['file', undefined]);
    expect(await recordedWork(city)).toEqual(FILE);
    expect(JSON.parse(readFileSync(join(dir, 'beads.json'), 'utf8'))).toEqual({ seq: 0, beads: [] });
    expect(statSync(join(dir, 'beads.json')).mode & 0o777).toBe(0o600);
    expect(await city.events.list({})).toEqual([]);
  });

  it('does not touch a file that is there', async () => {
    const text = '{"seq":7,"beads":[{"id":"gc-7","title":"theirs"}]}';
    writeFileSync(join(dir, 'beads.json'), text, { mode: 0o644 });
    const { work } = await settle(FILE);
    expect(readFileSync(join(dir, 'beads.json'), 'utf8')).toBe(text);
    await work.create({ title: 'ours' });
    expect(statSync(join(dir, 'beads.json')).mode & 0o777).toBe(0o644);
  });

  it('can change both ways: nothing is lost, it is said, and no id means two beads', async () => {
    await settle(DEFAULT_WORK);
    expect(existsSync(join(dir, 'beads.json'))).toBe(false);
    const first = await city.beads.create({ title: 'a' });
    const old = await session();
    expect([first.id, old.id]).toEqual(['gc-1', 'gc-2']);

    const there = await settle(FILE);
    expect(there.told).toContain(`1 open bead stays in ${city.file}`);
    expect(await leftBehind(city)).toBe(there.told);
    const ids = [
      (await there.work.create({ title: 'b' })).id,
      (await session()).id,
      (await there.work.create({ title: 'c', prefix: 'fe' })).id,
      (await session()).id,
    ];
    expect(ids).toEqual(['gc-3', 'gc-s3', 'fe-4', 'gc-s4']);

    const back = await settle({ provider: 'sqlite', by: 'config' });
    expect(back.told).toContain('2 open beads stay in');
    expect(back.told).toContain('GC_BEADS=file');
    expect((await back.work.list({ type: 'task' })).map(({ id }) => id)).toEqual([first.id]);
    const after = [(await back.work.create({ title: 'd' })).id, (await session()).id];
    expect(after).toEqual(['gc-5', 'gc-6']);

    const again = await settle(FILE);
    expect((await again.work.list({ type: 'task' })).map(({ title }) => title)).toEqual(['b', 'c']);
    expect((await again.work.create({ title: 'e' })).id).toBe('gc-7');
    expect((await city.events.list({ type: 'provider.swapped' })).map(({ message }) => message)).toEqual([
      'beads: sqlite → file',
      'beads: file → sqlite',
      'beads: sqlite → file',
    ]);
  });

  it('gives no number again when a file and the city’s memory of it are asked', async () => {
    const { work } = await settle(FILE);
    await work.create({ title: 'a' });
    await work.create({ title: 'b' });
    rmSync(work.file);
    const opened = await openWork({ city, path: process.env['PATH'] ?? '' }, 'file');
    expect(await opened.list({ allowScan: true })).toEqual([]);
    expect((await opened.create({ title: 'c' })).id).toBe('gc-3');
  });
});
