import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CityEvent } from '../../events/event.ts';
import { exportLine, JsonlExport } from '../../events/jsonl-export.ts';
import { systemClock } from '../../platform/clock.ts';
import { type CityDatabase, openCityDatabase } from './city-database.ts';

let dir: string;
let file: string;
let city: CityDatabase;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-export-'));
  file = join(dir, 'events.jsonl');
  city = openCityDatabase(join(dir, 'city.db'), systemClock);
});
afterEach(() => {
  city.close();
  rmSync(dir, { recursive: true, force: true });
});

const exporter = () => new JsonlExport({ file, bus: city.events, table: city.eventTable, access: city });

async function record(count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    await city.events.record({ type: 't', actor: 'gc', message: `m${n}`, payload: { n } });
  }
}

function exported(): readonly CityEvent[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as CityEvent);
}

/** The file is exactly the table, line by line. */
async function expectComplete(): Promise<void> {
  const rows = await city.events.list({});
  expect(readFileSync(file, 'utf8')).toBe(rows.map(exportLine).join(''));
}

describe('events.jsonl', () => {
  it('gets every event once, in order, owner-only', async () => {
    const out = exporter();
    await record(3);
    expect(await out.flush()).toBe(3);
    expect(await out.flush()).toBe(0);
    await record(1_200);
    expect(await out.flush()).toBe(1_200);
    await expectComplete();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(Object.keys(exported()[0] ?? {})).toEqual(['seq', 'type', 'ts', 'actor', 'message', 'payload']);
  });

  it('goes on where the file ends after a restart', async () => {
    await record(5);
    await exporter().flush();
    await record(5);
    expect(await exporter().flush()).toBe(5);
    await expectComplete();
  });

  it('is written anew when somebody deleted or emptied it, in the middle of a life too', async () => {
    const out = exporter();
    await record(4);
    await out.flush();
    unlinkSync(file);
    await record(1);
    expect(await out.flush()).toBe(5);
    truncateSync(file);
    expect(await out.flush()).toBe(5);
    await expectComplete();
  });

  it('EVT-01 mends an end of NUL bytes, and says so in an event', async () => {
    await record(3);
    await exporter().flush();
    appendFileSync(file, Buffer.alloc(4_096));
    await record(1);
    await exporter().flush();
    await expectComplete();
    const repairs = (await city.events.list({ type: 'events.repaired' })).map(({ message }) => message);
    expect(repairs).toEqual([expect.stringContaining('cut 4096 unreadable bytes')]);
  });

  it('mends a record torn at any byte', async () => {
    await record(3);
    await exporter().flush();
    const whole = readFileSync(file);
    const secondEnd = whole.indexOf('\n', whole.indexOf('\n') + 1) + 1;
    for (let cut = secondEnd; cut < whole.length; cut += 7) {
      writeFileSync(file, whole.subarray(0, cut));
      await exporter().flush();
      await expectComplete();
    }
  });

  it('ends a last line that only lacks its line end', async () => {
    writeFileSync(file, '{"seq":7,"type":"old","ts":"2026-01-01T00:00:00Z","actor":""}');
    await record(1);
    await exporter().flush();
    expect(exported().map(({ seq }) => seq)).toEqual([7, 8]);
  });

  it('keeps a copy of a file in which nothing can be read', async () => {
    writeFileSync(file, 'somebody else wrote this\n');
    await record(1);
    await exporter().flush();
    expect(readFileSync(`${file}.damaged`, 'utf8')).toBe('somebody else wrote this\n');
    await expectComplete();
  });

  it('finds the last record behind any amount of rubbish', async () => {
    await record(2);
    await exporter().flush();
    const good = readFileSync(file);
    const rubbish = fc.oneof(
      fc.constant(Buffer.alloc(70_000)),
      fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes)),
      fc.string({ maxLength: 400 }).map((text) => Buffer.from(`${text}\n`)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(rubbish, { maxLength: 4 }), async (parts) => {
        writeFileSync(file, Buffer.concat([good, ...parts]));
        await exporter().flush();
        const rows = await city.events.list({});
        expect(exported()).toEqual(rows);
      }),
      { numRuns: 60 },
    );
  });

  it('runs beside the city: each event is in the file soon after it is committed', async () => {
    const lifetime = new AbortController();
    const errors: unknown[] = [];
    await record(2);
    const running = exporter().run(lifetime.signal, (error) => errors.push(error));
    await record(2);
    const deadline = performance.now() + 10_000;
    const complete = () => {
      try {
        return exported().length === 4;
      } catch {
        // The file is not there yet.
        return false;
      }
    };
    while (!complete() && performance.now() < deadline) await delay(5);
    lifetime.abort();
    await running;
    await expectComplete();
    expect(errors).toEqual([]);
  });

  it('reports a file that cannot be written, and catches up when it can', async () => {
    file = join(dir, 'missing', 'events.jsonl');
    const out = new JsonlExport({
      file,
      bus: city.events,
      table: city.eventTable,
      access: city,
    });
    await record(1);
    await expect(out.flush()).rejects.toMatchObject({ code: 'events-unwritable' });
    mkdirSync(join(dir, 'missing'));
    expect(await out.flush()).toBe(1);
    await expectComplete();
  });

  it('EVT-02 reads the end of a large file only', async () => {
    const line = `${JSON.stringify({ seq: 1, type: 'x', ts: '', actor: '', message: 'y'.repeat(1_000) })}\n`;
    writeFileSync(file, line.repeat(60_000));
    appendFileSync(file, '{"seq":9,"type":"x","ts":"","actor":""}\n');
    const before = performance.now();
    await record(1);
    expect(await exporter().flush()).toBe(1);
    expect(performance.now() - before).toBeLessThan(1_000);
    const large = readFileSync(file, 'utf8');
    expect(large.slice(large.lastIndexOf('{"seq"'))).toMatch(/^\{"seq":10,/);
  });
});
