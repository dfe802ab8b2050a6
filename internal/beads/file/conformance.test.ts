import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BEAD_STORE_CASES } from '../../../conformance/beads/bead-store-cases.ts';
import { TRANSACTION_CASES } from '../../../conformance/beads/transaction-cases.ts';
import { WORK_CASES } from '../../../conformance/beads/work-cases.ts';
import { systemClock } from '../../platform/clock.ts';
import { type CityDatabase, openCityDatabase } from '../sqlite/city-database.ts';
import type { WorkBeads } from '../work.ts';
import { FileWork } from './file-work.ts';

let dir: string;
let cities: CityDatabase[];

/** As another process would have it. */
function handle(): FileWork {
  const city = openCityDatabase(join(dir, 'city.db'), systemClock);
  cities.push(city);
  return new FileWork({ file: join(dir, 'beads.json'), city, path: process.env['PATH'] ?? '' });
}

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-beads-'));
  cities = [];
});
afterEach(() => {
  for (const city of cities) city.close();
  rmSync(dir, { recursive: true, force: true });
});

describe('bead store conformance: file', () => {
  for (const test of [...BEAD_STORE_CASES, ...WORK_CASES]) {
    if (test.needs?.includes('counted-revisions')) continue;
    it(test.name, () => test.run({ store: handle(), second: handle() }));
  }
});

describe('work conformance: file', () => {
  for (const test of TRANSACTION_CASES) {
    it(test.name, () =>
      test.run({
        work: handle(),
        second: handle(),
        events: async () => (await cities[0]?.events.list({})) ?? [],
      }),
    );
  }
});

/** Places for work with one thing wrong. Each must be caught by the cases, else the cases prove nothing. */
const BROKEN: Readonly<Record<string, (good: FileWork) => Partial<WorkBeads>>> = {
  'keeps half of what failed': (good) => ({
    transaction: async (work) => {
      let failed: unknown;
      const result = await good.transaction((tx) => {
        try {
          return work(tx);
        } catch (error) {
          failed = error;
          return undefined;
        }
      });
      if (failed !== undefined) throw failed;
      return result as ReturnType<typeof work>;
    },
  }),
  'forgets events': (good) => ({
    transaction: (work) => good.transaction((tx) => work({ ...tx, recordEvent: () => undefined })),
  }),
  'notices nothing': () => ({ changeMarker: () => 'always' }),
  'notices what did not happen': () => {
    let n = 0;
    return {
      changeMarker: () => {
        n += 1;
        return String(n);
      },
    };
  },
};

describe('work cases catch broken places', () => {
  for (const [name, breakIt] of Object.entries(BROKEN)) {
    it(name, async () => {
      const failed: string[] = [];
      for (const test of TRANSACTION_CASES) {
        rmSync(dir, { recursive: true, force: true });
        dir = mkdtempSync(join(tmpdir(), 'gc-beads-'));
        const good = handle();
        const city = cities.at(-1);
        const changes = breakIt(good);
        const work = new Proxy<WorkBeads>(good, {
          get: (target, key) => {
            const value: unknown = Reflect.get(changes, key) ?? Reflect.get(target, key);
            return typeof value === 'function' ? value.bind(target) : value;
          },
        });
        const events = async () => (await city?.events.list({})) ?? [];
        await test.run({ work, second: handle(), events }).catch(() => failed.push(test.name));
        if (failed.length > 0) break;
      }
      expect(failed).not.toEqual([]);
    });
  }
});
