import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FOREIGN_CHANGE_POLL_MS } from '../../events/sqlite-bus.ts';
import { FakeClock } from '../../platform/fake-clock.ts';
import { type CityDatabase, openCityDatabase } from './city-database.ts';

let dir: string;
let clock: FakeClock;
let city: CityDatabase;
let other: CityDatabase;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-follow-'));
  clock = new FakeClock();
  city = openCityDatabase(join(dir, 'city.db'), clock);
  other = openCityDatabase(join(dir, 'city.db'), clock);
});
afterEach(() => {
  city.close();
  other.close();
  rmSync(dir, { recursive: true, force: true });
});

function follow(signal: AbortSignal): { readonly seen: number[]; readonly ended: Promise<void> } {
  const seen: number[] = [];
  const ended = (async () => {
    for await (const { seq } of city.events.follow(0, signal)) seen.push(seq);
  })();
  return { seen, ended };
}

describe('following events', () => {
  it('tells of its own events without waiting, and of other processes’ within a quarter of a second', async () => {
    const lifetime = new AbortController();
    const { seen, ended } = follow(lifetime.signal);
    await city.events.record({ type: 'own', actor: 'gc' });
    await clock.advance(0);
    expect(seen).toEqual([1]);
    await other.events.record({ type: 'theirs', actor: 'cli' });
    expect(FOREIGN_CHANGE_POLL_MS).toBeLessThanOrEqual(250);
    await clock.advance(FOREIGN_CHANGE_POLL_MS);
    expect(seen).toEqual([1, 2]);
    lifetime.abort();
    await ended;
  });

  it('watches the file only while somebody follows, once for all of them', async () => {
    expect(clock.pending).toBe(0);
    const lifetimes = [new AbortController(), new AbortController()];
    const followers = lifetimes.map(({ signal }) => follow(signal));
    await clock.advance(0);
    expect(clock.pending).toBe(1);
    for (const lifetime of lifetimes) lifetime.abort();
    await Promise.all(followers.map(({ ended }) => ended));
    await clock.advance(0);
    expect(clock.pending).toBe(0);
  });

  it('writes nothing in an hour without news', async () => {
    await city.events.record({ type: 'x', actor: 'gc' });
    const lifetime = new AbortController();
    const { ended } = follow(lifetime.signal);
    const before = other.changeMarker();
    const size = statSync(join(dir, 'city.db-wal')).size;
    await clock.advance(3_600_000);
    expect(other.changeMarker()).toBe(before);
    expect(statSync(join(dir, 'city.db-wal')).size).toBe(size);
    lifetime.abort();
    await ended;
  });

  it('ends its followers when the city is closed', async () => {
    const { ended } = follow(new AbortController().signal);
    await clock.advance(0);
    city.events.close();
    await ended;
  });

  it('tells of nothing that was rolled back', async () => {
    const lifetime = new AbortController();
    const { seen, ended } = follow(lifetime.signal);
    await expect(
      city.transaction((tx) => {
        tx.recordEvent({ type: 'lost', actor: 'gc' });
        throw new Error('changed its mind');
      }),
    ).rejects.toThrow('changed its mind');
    await city.events.record({ type: 'kept', actor: 'gc' });
    await clock.advance(0);
    expect(seen).toEqual([1]);
    expect((await city.events.list({}))[0]?.type).toBe('kept');
    lifetime.abort();
    await ended;
  });
});
