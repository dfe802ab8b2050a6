import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { findOnPath } from '../../platform/executable.ts';
import { type CityDatabase, openCityDatabase } from '../sqlite/city-database.ts';
import { FileWork } from './file-work.ts';
import { type ChildWork, startChildWork } from './testing/child-work.ts';

const DEADLINE_MS = 40_000;
const PATH = process.env['PATH'] ?? '';
const FLOCK = findOnPath(PATH, 'flock');
const LACKING = FLOCK ? '' : ' (flock is not installed)';

let dir: string;
let file: string;
let city: CityDatabase;
let work: FileWork;
let children: ChildWork[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-beads-'));
  file = join(dir, 'beads.json');
  city = openCityDatabase(join(dir, 'city.db'), systemClock);
  work = new FileWork({ file, city, path: PATH });
  children = [];
});
afterEach(async () => {
  for (const child of children) child.process.kill('SIGKILL');
  await Promise.all(children.map((child) => child.ended));
  city.close();
  rmSync(dir, { recursive: true, force: true });
});

async function child(label: string, count: number): Promise<ChildWork> {
  const started = await startChildWork(dir, label, count);
  children.push(started);
  return started;
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('the condition did not come true in time');
    await delay(5);
  }
}

const said = (all: readonly ChildWork[], word: string): readonly string[] =>
  all.flatMap(({ lines }) =>
    lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.slice(word.length + 1)),
  );

it('gives each id once and each bead to one, whichever process asks', async () => {
  const prizes = await Promise.all(
    Array.from({ length: 12 }, (_, n) => work.create({ title: `p${n}`, labels: ['race'] })),
  );
  const both = await Promise.all([child('a', 15), child('b', 15)]);
  for (const each of both) each.go();
  await Promise.all(both.map(({ ended }) => ended));
  const made = said(both, 'made');
  expect(new Set(made).size).toBe(30);
  expect(said(both, 'won').toSorted()).toEqual(prizes.map(({ id }) => id).toSorted());
  for (const each of both) {
    for (const id of said([each], 'won'))
      expect((await work.get(id)).assignee).toBe(each === both[0] ? 'a' : 'b');
  }
  expect((await work.list({ allowScan: true })).length).toBe(42);
  expect((await city.events.list({ type: 'bead.created' })).map(({ subject }) => subject).toSorted()).toEqual(
    [...made].toSorted(),
  );
});

it('keeps what was acknowledged, whole, of a writer that is killed, and its lock goes with it', async () => {
  const victim = await child('v', 100_000);
  victim.go();
  await until(() => said([victim], 'made').length >= 15);
  victim.process.kill('SIGKILL');
  await victim.ended;
  const acknowledged = said([victim], 'made');
  const { beads } = JSON.parse(readFileSync(file, 'utf8')) as {
    beads: { id: string; description: string }[];
  };
  expect(beads.map(({ id }) => id)).toEqual(expect.arrayContaining([...acknowledged]));
  expect(beads.every(({ description }) => description.length === 3_000)).toBe(true);
  const next = await work.create({ title: 'after it' });
  expect(beads.map(({ id }) => id)).not.toContain(next.id);
  expect(readdirSync(dir).filter((name) => name.endsWith('.gc-tmp'))).toEqual([]);
});

/** As a program of somebody else may do it: in place, without knowing what the other keys mean. */
const FOREIGN = `
  const fs = require('fs');
  const file = process.argv[1];
  const data = JSON.parse(fs.readFileSync(file, 'utf8'));
  data.seq += 1;
  data.theirs = (data.theirs || 0) + 1;
  data.beads.push({ id: 'gc-' + data.seq, title: 'foreign', status: 'open', issue_type: 'task',
    created_at: new Date().toISOString(), estimate: { hours: 3 } });
  fs.writeFileSync(file, JSON.stringify(data));
`;

it.skipIf(!FLOCK)(
  `shares the file with a foreign writer under flock(1): nobody loses anything${LACKING}`,
  async () => {
    await work.create({ title: 'first' });
    const run = promisify(execFile);
    const foreign = (async () => {
      for (let n = 0; n < 10; n += 1) {
        await run(FLOCK ?? '', [`${file}.lock`, process.execPath, '-e', FOREIGN, file], { env: { PATH } });
      }
    })();
    let isOver = false;
    const reading = (async () => {
      while (!isOver) {
        await work.list({ allowScan: true });
        await delay(1);
      }
    })();
    for (let n = 0; n < 20; n += 1) await work.create({ title: 'own' });
    await foreign;
    isOver = true;
    await reading;
    const beads = await work.list({ allowScan: true });
    expect(beads.filter(({ title }) => title === 'own')).toHaveLength(20);
    expect(beads.filter(({ title }) => title === 'foreign')).toHaveLength(10);
    expect(new Set(beads.map(({ id }) => id)).size).toBe(31);
    const [theirs] = beads.filter(({ title }) => title === 'foreign');
    await work.claim(theirs?.id ?? '', 'me');
    const data = JSON.parse(readFileSync(file, 'utf8')) as {
      theirs: number;
      beads: { id: string; estimate?: unknown; status: string }[];
    };
    expect(data.theirs).toBe(10);
    expect(data.beads.find(({ id }) => id === theirs?.id)).toMatchObject({
      estimate: { hours: 3 },
      status: 'in_progress',
    });
  },
);

it.skipIf(!FLOCK)(`says which lock it could not get, and changes nothing${LACKING}`, async () => {
  await work.create({ title: 'first' });
  const before = readFileSync(file, 'utf8');
  const run = execFile(FLOCK ?? '', [`${file}.lock`, 'sh', '-c', 'echo held; read line'], { env: { PATH } });
  await new Promise((resolve) => run.stdout?.once('data', resolve));
  const hasty = new FileWork({ file, city, path: PATH, lockTimeoutMs: 80 });
  await expect(hasty.create({ title: 'x' })).rejects.toMatchObject({
    code: 'store-busy',
    message: expect.stringContaining(`${file}.lock`) as string,
  });
  expect(await hasty.list({ allowScan: true })).toHaveLength(1);
  run.stdin?.end('\n');
  await new Promise((resolve) => run.once('close', resolve));
  expect(readFileSync(file, 'utf8')).toBe(before);
  expect((await hasty.create({ title: 'y' })).id).toBe('gc-2');
});

it('refuses what is no bead file, leaves it as it is, and gives no number of a lost one again', async () => {
  for (let n = 0; n < 3; n += 1) await work.create({ title: `t${n}` });
  writeFileSync(file, '{"seq": 3, "beads": [');
  await expect(work.create({ title: 'x' })).rejects.toMatchObject({ code: 'store-corrupt' });
  await expect(work.list({ allowScan: true })).rejects.toThrow(file);
  expect(readFileSync(file, 'utf8')).toBe('{"seq": 3, "beads": [');
  rmSync(file);
  expect((await work.create({ title: 'again' })).id).toBe('gc-4');
});
