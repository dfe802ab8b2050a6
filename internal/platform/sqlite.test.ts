import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from './clock.ts';
import { seededIds } from './ids.ts';
import { inTransaction, openDatabase, withRetry } from './sqlite.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gc-sqlite-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const migrations = ['CREATE TABLE t (n INTEGER)'];

describe('sqlite', () => {
  it('makes the file and its folder owner-only, and migrates once', () => {
    const file = join(dir, 'sub', 'a.db');
    const db = openDatabase(file, { migrations });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(dir, 'sub')).mode & 0o777).toBe(0o700);
    db.close();
    const again = openDatabase(file, { migrations: [...migrations, 'ALTER TABLE t ADD COLUMN m TEXT'] });
    expect(again.pragma('user_version', { simple: true })).toBe(2);
    again.close();
  });

  it('refuses a newer schema and a file that is no database, naming the way out', () => {
    const file = join(dir, 'b.db');
    openDatabase(file, { migrations: [...migrations, ''] }).close();
    expect(() => openDatabase(file, { migrations })).toThrow(
      expect.objectContaining({ code: 'store-newer' }),
    );
    const garbage = join(dir, 'c.db');
    writeFileSync(
      garbage,
      'this is not a database, and it is long enough to be looked at by the library\n'.repeat(50),
    );
    expect(() => openDatabase(garbage, { migrations })).toThrow(
      expect.objectContaining({ code: 'store-corrupt' }),
    );
    const folder = join(dir, 'd');
    mkdirSync(folder);
    expect(() => openDatabase(folder, { migrations })).toThrow(
      expect.objectContaining({ code: 'store-unwritable' }),
    );
    chmodSync(dir, 0o700);
  });

  it('waits outside the event loop while another connection writes', async () => {
    const file = join(dir, 'e.db');
    const first = openDatabase(file, { migrations });
    const second = openDatabase(file, { migrations });
    first.exec('BEGIN IMMEDIATE');
    let turns = 0;
    const ticking = setInterval(() => {
      turns += 1;
      if (turns === 5) first.exec('COMMIT');
    }, 5);
    await withRetry(systemClock, seededIds(1), () =>
      inTransaction(second, () => second.exec('INSERT INTO t VALUES (1)')),
    );
    clearInterval(ticking);
    expect(turns).toBeGreaterThanOrEqual(5);
    expect(second.prepare('SELECT count(*) AS n FROM t').get()).toEqual({ n: 1 });
    first.close();
    second.close();
  });
});
