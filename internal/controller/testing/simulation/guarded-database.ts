import type { CityDatabase } from '../../../beads/sqlite/city-database.ts';
import { type Life, never } from './life.ts';

export interface GuardOptions {
  readonly version: Version;
  readonly fateOf: () => CommitFate;
  readonly kill: () => void;
}

/** What happens to one transaction. */
export type CommitFate = 'fine' | 'busy' | 'full' | 'dies before' | 'dies after';

/** Grows with every change of a city's database, by whichever process. */
export interface Version {
  value: number;
}

/**
 * One process's connection to the city's database: a dead process gets no answer any more and changes nothing, and each
 * transaction has a fate. Statements are prepared once.
 */
export function guardDatabase(db: CityDatabase, life: Life, { version, fateOf, kill }: GuardOptions): void {
  const read = db.read.bind(db);
  const write = db.write.bind(db);
  const changes = db.connection.prepare<[], { n: number }>('SELECT total_changes() AS n');
  const changed = () => changes.get()?.n ?? 0;
  const guardedWrite = async <T>(work: () => T): Promise<T> => {
    await life.goesOn();
    const fate = fateOf();
    if (fate === 'dies before') return dies(kill);
    const before = changed();
    const result = await write(fate === 'busy' ? busyOnce(work) : fate === 'full' ? full : work);
    if (life.dead) return never();
    if (changed() !== before) version.value += 1;
    if (fate === 'dies after') return dies(kill);
    await life.goesOn();
    return result;
  };
  const guardedRead = async <T>(work: () => T): Promise<T> => {
    await life.goesOn();
    const result = await read(work);
    await life.goesOn();
    return result;
  };
  Object.assign(db, {
    read: guardedRead,
    write: guardedWrite,
    changeMarker: () => `${version.value}`,
    isRemoved: () => false,
  });
  version.value += 1;
  keepStatements(db);
  keepLists(db, version);
}

/** What was listed is listed again only when something changed since. */
function keepLists({ beadTable, connection }: CityDatabase, version: Version): void {
  const list = beadTable.list.bind(beadTable);
  const kept = new Map<string, ReturnType<typeof list>>();
  let at = -1;
  Object.assign(beadTable, {
    list: (query: Parameters<typeof list>[0]) => {
      if (connection.inTransaction) return list(query);
      if (at !== version.value) kept.clear();
      at = version.value;
      const key = JSON.stringify(query);
      const known = kept.get(key) ?? list(query);
      kept.set(key, known);
      return known;
    },
  });
}

function dies(kill: () => void): Promise<never> {
  kill();
  return never();
}

/** Somebody else holds the file for two tries. */
function busyOnce<T>(work: () => T): () => T {
  let tries = 2;
  return () => {
    tries -= 1;
    if (tries >= 0) throw Object.assign(new Error('database is locked'), { code: 'SQLITE_BUSY' });
    return work();
  };
}

function full(): never {
  throw Object.assign(new Error('database or disk is full'), { code: 'SQLITE_FULL' });
}

function keepStatements({ connection }: CityDatabase): void {
  const prepare = connection.prepare.bind(connection);
  const kept = new Map<string, ReturnType<typeof prepare>>();
  const keep = (sql: string) => {
    const known = kept.get(sql);
    if (known) return known;
    const statement = prepare(sql);
    kept.set(sql, statement);
    return statement;
  };
  Object.assign(connection, { prepare: keep });
  connection.pragma('synchronous = OFF');
}
