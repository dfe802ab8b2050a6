import type { SqliteDatabase } from '../../platform/sqlite.ts';

/**
 * What belongs to the city and to no session: the provider in force, the environment it was started with, when its
 * controller came up.
 */
export class StateTable {
  readonly #db: SqliteDatabase;

  constructor(db: SqliteDatabase) {
    this.#db = db;
  }

  /** `''` when unset. */
  get(key: string): string {
    const row = this.#db
      .prepare<[string], { value: string }>('SELECT value FROM city_state WHERE key = ?')
      .get(key);
    return row?.value ?? '';
  }

  all(): Readonly<Record<string, string>> {
    const rows = this.#db
      .prepare<[], { key: string; value: string }>('SELECT key, value FROM city_state ORDER BY key')
      .all();
    return Object.fromEntries(rows.map(({ key, value }) => [key, value]));
  }

  /** An empty value removes the key; the value it already has is not written again. */
  set(key: string, value: string): void {
    if (value === '') {
      this.#db.prepare('DELETE FROM city_state WHERE key = ?').run(key);
      return;
    }
    this.#db
      .prepare(
        `INSERT INTO city_state (key, value) VALUES (?, ?)
         ON CONFLICT (key) DO UPDATE SET value = excluded.value WHERE value <> excluded.value`,
      )
      .run(key, value);
  }
}
