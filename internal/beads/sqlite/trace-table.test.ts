import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase, type SqliteDatabase } from '../../platform/sqlite.ts';
import { CITY_MIGRATIONS } from './schema.ts';
import { type NewTraceRow, TRACE_KEPT_MS, TraceTable } from './trace-table.ts';

const NOW = Date.UTC(2026, 0, 2);
const MINUTE_MS = 60_000;

let dir: string;
let db: SqliteDatabase;
let table: TraceTable;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-trace-'));
  db = openDatabase(join(dir, 'city.db'), { migrations: CITY_MIGRATIONS });
  table = new TraceTable(db);
});
afterEach(() => {
  db.close();
  rmSync(dir, { recursive: true, force: true });
});

const arm = (template: string, over: Partial<Parameters<TraceTable['arm']>[0]> = {}) =>
  table.arm({
    template,
    source: 'manual',
    level: 'baseline',
    armedMs: NOW,
    expiresMs: NOW + MINUTE_MS,
    ...over,
  });

const row = (over: Partial<NewTraceRow> = {}): NewTraceRow => ({
  traceId: 'life-1',
  tick: 1,
  atMs: NOW,
  template: 'mayor',
  session: 'mayor',
  type: 'decision',
  what: 'wait',
  reason: 'backing off',
  inputs: { strikes: 2 },
  ...over,
});

const seqs = (query: Parameters<TraceTable['records']>[0]) => table.records(query).map(({ seq }) => seq);

describe('what is watched', () => {
  it('ends at its time, exactly', () => {
    arm('mayor');
    expect(table.arms(NOW + MINUTE_MS - 1)).toHaveLength(1);
    expect(table.arms(NOW + MINUTE_MS)).toEqual([]);
    table.forgetExpired(NOW + MINUTE_MS);
    expect(table.arms(NOW)).toEqual([]);
  });

  it('is one per template and source, the newest', () => {
    arm('mayor');
    arm('mayor', { level: 'detail', expiresMs: NOW + 5 * MINUTE_MS });
    arm('mayor', { source: 'auto' });
    expect(table.arms(NOW).map(({ source, level }) => `${source} ${level}`)).toEqual([
      'auto baseline',
      'manual detail',
    ]);
  });

  it('is ended by source, and altogether', () => {
    for (const template of ['mayor', 'worker']) {
      arm(template);
      arm(template, { source: 'auto' });
    }
    table.disarm('mayor', 'manual');
    expect(table.arms(NOW).map(({ template, source }) => `${template} ${source}`)).toEqual([
      'mayor auto',
      'worker auto',
      'worker manual',
    ]);
    table.disarm('worker', undefined);
    expect(table.arms(NOW)).toHaveLength(1);
    table.disarm(undefined, undefined);
    expect(table.arms(NOW)).toEqual([]);
  });
});

describe('what was written', () => {
  it('comes back as it was, in order', () => {
    table.insert([row(), row({ inputs: { exit: { code: 3 }, none: null } })]);
    expect(table.records({})).toEqual([
      { seq: 1, ...row() },
      { seq: 2, ...row({ inputs: { exit: { code: 3 }, none: null } }) },
    ]);
  });

  it('is found by everything it carries', () => {
    table.insert([
      row({ session: 'a' }),
      row({ template: 'worker', tick: 2, traceId: 'life-2' }),
      row({ type: 'action', reason: 'due', atMs: NOW + 1 }),
    ]);
    expect(seqs({ session: 'a' })).toEqual([1]);
    expect(seqs({ template: 'worker' })).toEqual([2]);
    expect(seqs({ tick: 2, traceId: 'life-2' })).toEqual([2]);
    expect(seqs({ type: 'action' })).toEqual([3]);
    expect(seqs({ reason: 'due', template: 'mayor' })).toEqual([3]);
    expect(seqs({ sinceMs: NOW + 1 })).toEqual([3]);
    expect(seqs({ afterSeq: 1 })).toEqual([2, 3]);
    expect(seqs({ afterSeq: 0, limit: 2 })).toEqual([1, 2]);
    expect(seqs({ last: 2 })).toEqual([2, 3]);
    expect(seqs({ last: 1, limit: 99, template: 'mayor' })).toEqual([3]);
  });

  it('is counted by reason, the most frequent first', () => {
    table.insert([row({ reason: 'rare' }), row(), row(), row({ template: 'worker' })]);
    expect(Object.entries(table.reasons({ template: 'mayor' }))).toEqual([
      ['backing off', 2],
      ['rare', 1],
    ]);
  });

  it('is bounded in number, and its numbers go on', () => {
    table.insert(Array.from({ length: 30 }, () => row()));
    table.prune(NOW, 10);
    expect([table.count(), seqs({}).at(0), seqs({}).at(-1)]).toEqual([10, 21, 30]);
    table.insert([row()]);
    expect(seqs({ last: 1 })).toEqual([31]);
  });

  it('is bounded in age', () => {
    table.insert([row(), row({ atMs: NOW + MINUTE_MS })]);
    table.prune(NOW + TRACE_KEPT_MS);
    expect(table.count()).toBe(2);
    table.prune(NOW + TRACE_KEPT_MS + 1);
    expect(seqs({})).toEqual([2]);
    expect(table.oldest()).toBe(NOW + MINUTE_MS);
  });

  it('bounds texts', () => {
    table.insert([row({ reason: 'x'.repeat(9_999), inputs: { screen: 'y'.repeat(9_999) } })]);
    const [found] = table.records({});
    expect(found?.reason).toHaveLength(500);
    expect(found?.inputs).toEqual({ left_out_characters: 10_012 });
  });
});
