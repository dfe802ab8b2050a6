import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../platform/clock.ts';
import type { Ids } from '../platform/ids.ts';
import type { Environment } from '../platform/paths.ts';
import { inTransaction, openDatabase, type SqliteDatabase, withRetry } from '../platform/sqlite.ts';

/** A city, as far as worktrees see it. */
export interface WorktreeHome {
  /** `<city>/.gc`. */
  readonly gcDir: string;
  /** Where git and the commands find programs and settings. */
  readonly env: Environment;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** One worktree that this city made: the proof that it may be taken away again. */
export interface WorktreeRecord {
  readonly path: string;
  /** Stands in a file of git's own folder for the worktree too: another one at the same path is not this one. */
  readonly id: string;
  readonly rig: string;
  readonly rigPath: string;
  /** git's own folder for it; `''` until it is known. */
  readonly gitDir: string;
  readonly branch: string;
  /** The commit that it began with. */
  readonly start: string;
  /** The branch was made with it. */
  readonly madeBranch: boolean;
  /** What the configuration named as base, `''`: the rig's commit. */
  readonly base: string;
  /** What people call the session that had it last. */
  readonly session: string;
  readonly state: 'making' | 'ready';
  /** Where the files that stood at its path before wait; `''`: there were none. */
  readonly aside: string;
  readonly archive: readonly string[];
  /** What the commands are told about where they are. */
  readonly facts: Readonly<Record<string, string>>;
  /** SHA-256 of untracked files that were put here by us or by set-up: unchanged, they are nobody's work. */
  readonly known: Readonly<Record<string, string>>;
}

export interface PortBlock {
  readonly first: number;
  readonly count: number;
}

const MIGRATIONS = [
  `CREATE TABLE worktrees (path TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT;
   CREATE TABLE ports (path TEXT PRIMARY KEY, first INTEGER NOT NULL, count INTEGER NOT NULL) STRICT;`,
];

const registryFile = (gcDir: string): string => join(gcDir, 'worktrees.db');

/** The city's list of worktrees and ports, safe over processes. */
export class WorktreeRegistry {
  readonly #db: SqliteDatabase;
  readonly #home: WorktreeHome;

  constructor(home: WorktreeHome) {
    this.#home = home;
    this.#db = openDatabase(registryFile(home.gcDir), { migrations: MIGRATIONS });
  }

  all(): Promise<readonly WorktreeRecord[]> {
    return this.#retry(() =>
      this.#db
        .prepare('SELECT record FROM worktrees ORDER BY path')
        .all()
        .map((row) => readRecord(textOf(row, 'record'))),
    );
  }

  find(path: string): Promise<WorktreeRecord | undefined> {
    return this.#retry(() => {
      const row = this.#db.prepare('SELECT record FROM worktrees WHERE path = ?').get(path);
      return row === undefined ? undefined : readRecord(textOf(row, 'record'));
    });
  }

  async put(record: WorktreeRecord): Promise<void> {
    const sql =
      'INSERT INTO worktrees (path, record) VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET record = excluded.record';
    await this.#retry(() => this.#db.prepare(sql).run(record.path, JSON.stringify(record)));
  }

  /** Its ports become free with it. */
  async remove(path: string): Promise<void> {
    await this.#retry(() =>
      inTransaction(this.#db, () => {
        this.#db.prepare('DELETE FROM worktrees WHERE path = ?').run(path);
        this.#db.prepare('DELETE FROM ports WHERE path = ?').run(path);
      }),
    );
  }

  /** Decides about the ports of one path with all blocks in sight; nobody else decides meanwhile. */
  async editPorts(
    path: string,
    decide: (own: PortBlock | undefined, others: readonly PortBlock[]) => PortBlock | undefined,
  ): Promise<PortBlock | undefined> {
    return this.#retry(() =>
      inTransaction(this.#db, () => {
        const rows = this.#db.prepare('SELECT path, first, count FROM ports ORDER BY first').all();
        const own = rows.find((row) => textOf(row, 'path') === path);
        const others = rows.filter((row) => row !== own).map(readBlock);
        const block = decide(own === undefined ? undefined : readBlock(own), others);
        this.#db.prepare('DELETE FROM ports WHERE path = ?').run(path);
        if (block) this.#db.prepare('INSERT INTO ports VALUES (?, ?, ?)').run(path, block.first, block.count);
        return block;
      }),
    );
  }

  close(): void {
    this.#db.close();
  }

  #retry<T>(work: () => T): Promise<T> {
    return withRetry(this.#home.clock, this.#home.ids, work);
  }
}

/** Runs `work` with the registry. */
export async function withRegistry<T>(
  home: WorktreeHome,
  work: (registry: WorktreeRegistry) => Promise<T>,
): Promise<T> {
  const registry = new WorktreeRegistry(home);
  try {
    return await work(registry);
  } finally {
    registry.close();
  }
}

/** No worktree was ever made here: looking must not make a file. */
export function hasRegistry(gcDir: string): boolean {
  return existsSync(registryFile(gcDir));
}

function readRecord(text: string): WorktreeRecord {
  // Written by `put` alone.
  return JSON.parse(text) as WorktreeRecord;
}

function readBlock(row: unknown): PortBlock {
  return { first: Number(columnOf(row, 'first')), count: Number(columnOf(row, 'count')) };
}

function textOf(row: unknown, column: string): string {
  return String(columnOf(row, column));
}

function columnOf(row: unknown, column: string): unknown {
  return typeof row === 'object' && row !== null ? Reflect.get(row, column) : undefined;
}
