import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BEAD_STORE_CASES, type BeadStoreCase } from '../../../conformance/beads/bead-store-cases.ts';
import { TRANSACTION_CASES } from '../../../conformance/beads/transaction-cases.ts';
import { WORK_CASES } from '../../../conformance/beads/work-cases.ts';
import { EVENT_BUS_CASES, type EventBusCase } from '../../../conformance/events/event-bus-cases.ts';
import type { EventBus } from '../../events/event.ts';
import { systemClock } from '../../platform/clock.ts';
import type { BeadStore } from '../store.ts';
import { type CityDatabase, openCityDatabase } from './city-database.ts';

const STORE_CASES = [...BEAD_STORE_CASES, ...WORK_CASES];

let dir: string;
let first: CityDatabase;
let second: CityDatabase;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-conf-'));
  first = openCityDatabase(join(dir, 'city.db'), systemClock);
  second = openCityDatabase(join(dir, 'city.db'), systemClock);
});
afterEach(() => {
  first.close();
  second.close();
  rmSync(dir, { recursive: true, force: true });
});

describe('bead store conformance: sqlite', () => {
  for (const test of STORE_CASES) {
    it(test.name, () => test.run({ store: first.beads, second: second.beads }));
  }
});

describe('work conformance: sqlite', () => {
  for (const test of TRANSACTION_CASES) {
    it(test.name, () =>
      test.run({ work: first.beads, second: second.beads, events: () => first.events.list({}) }),
    );
  }
});

describe('event bus conformance: sqlite', () => {
  for (const test of EVENT_BUS_CASES) {
    it(test.name, () => test.run({ bus: first.events, second: second.events }));
  }
});

/** Stores with one thing wrong. Each must be caught by the cases, else the cases prove nothing. */
const BROKEN_STORES: Readonly<Record<string, (good: BeadStore) => Partial<BeadStore>>> = {
  'forgets the revision guard': (good) => ({ update: (id, patch) => good.update(id, patch) }),
  'replaces metadata instead of merging': (good) => ({
    async update(id, patch, expected) {
      const { metadata } = await good.get(id);
      const wiped = Object.fromEntries(Object.keys(metadata).map((key) => [key, '']));
      return good.update(
        id,
        patch.metadata ? { ...patch, metadata: { ...wiped, ...patch.metadata } } : patch,
        expected,
      );
    },
  }),
  'lists closed beads': (good) => ({ list: (query) => good.list({ ...query, includeClosed: true }) }),
  'ignores the label filter': (good) => ({
    list: ({ label: _label, ...query }) => good.list({ allowScan: true, ...query }),
  }),
  'scans without being asked': (good) => ({ list: (query) => good.list({ ...query, allowScan: true }) }),
  'sorts one way only': (good) => ({ list: ({ sort: _sort, ...query }) => good.list(query) }),
  'ready ignores blockers': (good) => ({ ready: () => good.list({ type: 'task' }) }),
  'close overwrites': (good) => ({
    async close(id, metadata) {
      await good.close(id, metadata);
      return good.update(id, metadata ? { metadata } : {});
    },
  }),
  'delete does nothing': () => ({ delete: () => Promise.resolve() }),
  'gives a claimed bead to the next who asks': (good) => ({
    claim: (id, assignee, patch) => good.update(id, { status: 'in_progress', assignee, ...patch }),
  }),
  'ready ignores its filters': (good) => ({ ready: () => good.ready() }),
  'loses comments': () => ({ comments: () => Promise.resolve([]) }),
  'dependencies point one way': (good) => ({ dependencies: (id) => good.dependencies(id, 'down') }),
};

describe('bead store cases catch broken stores', () => {
  for (const [name, breakIt] of Object.entries(BROKEN_STORES)) {
    it(name, async () => {
      expect(await failures(STORE_CASES, (good) => ({ store: broken(good.beads, breakIt) }))).not.toEqual([]);
    });
  }
});

const BROKEN_BUSES: Readonly<Record<string, (good: EventBus) => Partial<EventBus>>> = {
  'drops the payload': (good) => ({ record: ({ payload: _payload, ...event }) => good.record(event) }),
  'lists from the number on, not after it': (good) => ({
    list: (filter) =>
      good.list(filter.afterSeq === undefined ? filter : { ...filter, afterSeq: filter.afterSeq - 1 }),
  }),
  'follows only what comes': (good) => ({
    async *follow(_after, signal) {
      yield* good.follow(await good.latestSeq(), signal);
    },
  }),
  'follows with duplicates': (good) => ({
    async *follow(after, signal) {
      for await (const event of good.follow(after, signal)) {
        yield event;
        yield event;
      }
    },
  }),
  'ignores the actor': (good) => ({ list: ({ actor: _actor, ...filter }) => good.list(filter) }),
};

describe('event bus cases catch broken buses', () => {
  for (const [name, breakIt] of Object.entries(BROKEN_BUSES)) {
    it(name, async () => {
      expect(await failures(EVENT_BUS_CASES, (good) => ({ bus: broken(good.events, breakIt) }))).not.toEqual(
        [],
      );
    });
  }
});

function broken<T extends object>(good: T, breakIt: (good: T) => Partial<T>): T {
  const changes = breakIt(good);
  return new Proxy(good, {
    get(target, key) {
      const changed = Reflect.get(changes, key) as unknown;
      if (changed !== undefined) return changed;
      const value = Reflect.get(target, key) as unknown;
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Names of the cases that do not hold, each tried on a store of its own. */
async function failures<C extends BeadStoreCase | EventBusCase>(
  cases: readonly C[],
  context: (good: CityDatabase) => Parameters<C['run']>[0],
): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const [index, test] of cases.entries()) {
    if (test.needs?.some((need) => need === 'second-handle')) continue;
    const good = openCityDatabase(join(dir, `broken-${index}`, 'city.db'), systemClock);
    const run = test.run as (given: Parameters<C['run']>[0]) => Promise<void>;
    await run(context(good)).catch(() => failed.push(test.name));
    good.close();
    if (failed.length > 0) break;
  }
  return failed;
}
