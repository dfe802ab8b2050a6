import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { CityEvent } from '../../events/event.ts';
import { systemClock } from '../../platform/clock.ts';
import { type CityDatabase, openCityDatabase } from './city-database.ts';
import { type ChildWriter, startChildWriter } from './testing/child-writer.ts';

const DEADLINE_MS = 30_000;
let dir: string;
let file: string;
let city: CityDatabase;
let children: ChildWriter[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-procs-'));
  file = join(dir, 'city.db');
  city = openCityDatabase(file, systemClock);
  children = [];
});
afterEach(async () => {
  for (const child of children) child.process.kill('SIGKILL');
  await Promise.all(children.map((child) => child.ended));
  city.close();
  rmSync(dir, { recursive: true, force: true });
});

function writer(label: string, count: number): ChildWriter {
  const child = startChildWriter(file, label, count);
  children.push(child);
  return child;
}

async function until(condition: () => boolean): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error('the condition did not come true in time');
    await delay(5);
  }
}

/** Every bead has its three events and its decision; nothing else is there. */
async function expectWholeTransactions(): Promise<number> {
  const beads = await city.beads.list({ allowScan: true });
  const events = await city.events.list({});
  const bySubject = groupBySubject(events);
  expect(bySubject.size).toBe(beads.length);
  for (const bead of beads) {
    expect(bySubject.get(bead.id)).toEqual(['one', 'two', 'three']);
    expect(await city.decisions(bead.id, 5)).toHaveLength(1);
  }
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect(city.connection.pragma('integrity_check', { simple: true })).toBe('ok');
  return beads.length;
}

function groupBySubject(events: readonly CityEvent[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const { subject, type } of events)
    groups.set(subject ?? '', [...(groups.get(subject ?? '') ?? []), type]);
  return groups;
}

it('shares the file with other processes that write at the same time, and follows their events', async () => {
  const each = 60;
  const lifetime = new AbortController();
  const followed: number[] = [];
  const following = (async () => {
    for await (const { seq } of city.events.follow(0, lifetime.signal)) followed.push(seq);
  })();
  const a = writer('a', each);
  const b = writer('b', each);
  for (let n = 1; n <= each; n += 1) {
    await city.transaction((tx) => {
      const bead = tx.createBead({ title: `own${n}` });
      for (const type of ['one', 'two', 'three']) tx.recordEvent({ type, actor: 'own', subject: bead.id });
      tx.recordDecision({ sessionId: bead.id, what: 'start', why: 'own', inputs: { n } });
    });
  }
  await Promise.all([a.ended, b.ended]);
  expect([a.acknowledged(), b.acknowledged()]).toEqual([each, each]);
  expect(await expectWholeTransactions()).toBe(3 * each);
  await until(() => followed.length >= 9 * each);
  lifetime.abort();
  await following;
  expect(followed).toEqual(Array.from({ length: 9 * each }, (_, index) => index + 1));
});

it('keeps every acknowledged commit, and only whole ones, of writers killed in the middle', async () => {
  let acknowledged = 0;
  for (const round of [1, 2, 3]) {
    const child = writer(`r${round}-`, 100_000);
    await until(() => child.acknowledged() >= 20 * round);
    child.process.kill('SIGKILL');
    await child.ended;
    acknowledged += child.acknowledged();
    const count = Number(await city.state(`count.r${round}-`));
    expect(count).toBeGreaterThanOrEqual(child.acknowledged());
  }
  expect(await expectWholeTransactions()).toBeGreaterThanOrEqual(acknowledged);
});
