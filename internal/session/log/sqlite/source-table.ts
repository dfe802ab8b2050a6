import type { SqliteDatabase } from '../../../platform/sqlite.ts';

/** Where batches came from. Synchronous. */
export class SourceTable {
  readonly #find;
  readonly #insert;

  constructor(db: SqliteDatabase) {
    this.#find = db.prepare<[string, string], { readonly first: number; readonly last: number }>(
      'SELECT first_seq AS first, last_seq AS last FROM gascity_sources WHERE session = ? AND source = ?',
    );
    this.#insert = db.prepare<[string, string, number, number]>(
      'INSERT INTO gascity_sources (session, source, first_seq, last_seq) VALUES (?, ?, ?, ?)',
    );
  }

  find(uid: string, source: string): { readonly first: number; readonly last: number } | undefined {
    return this.#find.get(uid, source);
  }

  insert(uid: string, source: string, first: number, last: number): void {
    this.#insert.run(uid, source, first, last);
  }
}
