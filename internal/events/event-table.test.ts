import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openDatabase, type SqliteDatabase } from '../platform/sqlite.ts';
import type { EventFilter } from './event.ts';
import { EVENT_SCHEMA, EventTable } from './event-table.ts';

let dir: string;
let db: SqliteDatabase;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-events-'));
  db = openDatabase(join(dir, 'events.db'), { migrations: [EVENT_SCHEMA] });
});
afterEach(() => {
  db.close();
  rmSync(dir, { recursive: true });
});

/** How SQLite carries out what the table asks it for. */
function planOf(filter: EventFilter): string {
  let asked = '';
  const listening = new Proxy(db, {
    get: (target, key) =>
      key === 'prepare'
        ? (sql: string) => {
            asked = sql;
            return target.prepare(sql);
          }
        : Reflect.get(target, key),
  });
  new EventTable(listening).list(filter);
  const values = [...asked.matchAll(/\?/g)].map(() => 1);
  const steps = db.prepare(`EXPLAIN QUERY PLAN ${asked}`).all(...values) as { readonly detail: string }[];
  return steps.map(({ detail }) => detail).join('; ');
}

describe('EVT-02 however long the history is', () => {
  it.each<EventFilter>([
    { since: 5 },
    { since: 5, actor: 'gc' },
    { since: 5, type: 'session.woke' },
    { since: 5, limit: 3 },
    { type: 'session.woke' },
    { afterSeq: 7, limit: 1 },
  ])('%j reads what is asked for, not all of it', (filter) => {
    expect(planOf(filter)).toMatch(/^SEARCH events USING (INDEX|INTEGER PRIMARY KEY)/);
  });

  it('a time finds what happened since, in order, also after the clock was set back', () => {
    const table = new EventTable(db);
    for (const at of [10, 30, 20, 40, 25]) table.insert({ type: 't', actor: 'gc' }, at);
    expect(table.list({ since: 25 }).map(({ seq }) => seq)).toEqual([2, 4, 5]);
    expect(table.list({ since: 20, afterSeq: 2, limit: 2 }).map(({ seq }) => seq)).toEqual([3, 4]);
  });
});
