import { GcError } from '../../../platform/errors.ts';
import type { HarnessRow, HarnessTable } from '../harness-table.ts';
import type { UniqueNanos } from '../unique-nanos.ts';
import type { LogDatabase } from './log-database.ts';

interface Row {
  readonly name: string;
  readonly uid: string;
  readonly spec: string;
  readonly spec_digest: string;
  readonly state: string;
  readonly retire_reason: string;
  readonly retired_at: bigint;
  readonly created_at: bigint;
  readonly updated_at: bigint;
}

/** The tables `harnesses` and `reserved_harness_names`. */
export class SqliteHarnessTable implements HarnessTable {
  readonly #database: LogDatabase;
  readonly #nanos: UniqueNanos;
  readonly #find;
  readonly #list;
  readonly #reserved;
  readonly #reserve;
  readonly #put;

  constructor(database: LogDatabase, nanos: UniqueNanos) {
    const { db } = database;
    this.#database = database;
    this.#nanos = nanos;
    this.#find = db.prepare<[string], Row>('SELECT * FROM harnesses WHERE name = ?').safeIntegers();
    this.#list = db.prepare<[], Row>('SELECT * FROM harnesses ORDER BY name').safeIntegers();
    this.#reserved = db.prepare<[string]>('SELECT 1 FROM reserved_harness_names WHERE name = ?');
    this.#reserve = db.prepare<[string, bigint]>(
      'INSERT OR IGNORE INTO reserved_harness_names (name, reserved_at) VALUES (?, ?)',
    );
    this.#put = db.prepare(
      `INSERT OR REPLACE INTO harnesses
         (name, uid, spec, spec_digest, state, retire_reason, retired_at, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
  }

  find(name: string): HarnessRow | undefined {
    const row = this.#find.get(name);
    return row && harnessOf(row);
  }

  list(): Promise<readonly HarnessRow[]> {
    return this.#database.patiently(() => this.#list.all().map(harnessOf));
  }

  isReserved(name: string): boolean {
    return this.#reserved.get(name) !== undefined;
  }

  reserve(names: readonly string[]): Promise<void> {
    return this.#write(() => {
      const taken = names.find((name) => this.find(name));
      if (taken !== undefined) {
        throw new GcError('harness-registered', `a harness ${JSON.stringify(taken)} is registered already`, {
          next: 'retire it, or give the built-in one another name',
        });
      }
      for (const name of names) this.#reserve.run(name, this.now());
    });
  }

  put(
    name: string,
    decide: (current: HarnessRow | undefined) => HarnessRow | undefined,
  ): Promise<HarnessRow | undefined> {
    return this.#write(() => {
      const next = decide(this.find(name));
      if (!next) return undefined;
      const { uid, spec, specDigest, state, retireReason, retiredAt, createdAt, updatedAt } = next;
      this.#put.run(name, uid, spec, specDigest, state, retireReason, retiredAt, createdAt, updatedAt);
      return { ...next, name };
    });
  }

  now(): bigint {
    return this.#nanos.next();
  }

  #write<T>(work: () => T): Promise<T> {
    return this.#database.patiently(() => this.#database.transact('full', work));
  }
}

function harnessOf(row: Row): HarnessRow {
  return {
    name: row.name,
    uid: row.uid,
    spec: row.spec,
    specDigest: row.spec_digest,
    state: row.state === 'retired' ? 'retired' : 'active',
    retireReason: row.retire_reason,
    retiredAt: row.retired_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
