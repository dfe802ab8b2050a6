import { once } from 'node:events';
import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';

export interface ThreadStatement {
  readonly sql: string;
  readonly values: readonly (string | number | bigint | Uint8Array)[];
  /** Rows that it has to change, or the transaction is undone. */
  readonly changes?: number;
}

/** What the thread runs: it has no bundle of its own, so it is a text, and takes the library from where we have it. */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads');
const Sqlite = require(workerData.library);
const db = new Sqlite(workerData.file, { timeout: 0, fileMustExist: true });
db.pragma('wal_autocheckpoint = 0');
db.pragma('cache_size = -65536');
db.pragma('mmap_size = 268435456');
const transaction = db.transaction((statements) => {
  for (const { sql, values, changes } of statements) {
    const done = db.prepare(sql).run(...values);
    if (changes !== undefined && done.changes !== changes)
      throw Object.assign(new Error('rows changed: ' + done.changes), { code: 'rows-changed' });
  }
});
parentPort.on('message', ({ task, statements, synchronous }) => {
  try {
    if (task === 'close') { db.close(); parentPort.close(); return; }
    if (synchronous) db.pragma('synchronous = ' + synchronous);
    if (task === 'checkpoint') db.pragma('wal_checkpoint(PASSIVE)');
    else transaction.immediate(statements);
    parentPort.postMessage({});
  } catch (error) {
    parentPort.postMessage({ failed: { message: error.message, code: error.code } });
  }
});
`;

type Task =
  | { readonly task: 'close' }
  | { readonly task: 'checkpoint' }
  | {
      readonly task: 'transaction';
      readonly statements: readonly ThreadStatement[];
      readonly synchronous: 'NORMAL' | 'FULL';
    };

interface Answer {
  readonly failed?: { readonly message: string; readonly code?: string };
}

/** What SQLite said in the thread, with its code, as it would have said it here. */
class ThreadError extends Error {
  readonly code: string | undefined;

  constructor(message: string, code: string | undefined) {
    super(message);
    this.code = code;
  }
}

/** A second connection to a database, in a thread: for work that would keep the event loop waiting. One call at a time. */
export class SqliteThread {
  readonly #worker: Worker;

  constructor(file: string) {
    const library = createRequire(import.meta.url).resolve('better-sqlite3');
    this.#worker = new Worker(PROGRAM, { eval: true, workerData: { file, library } });
  }

  /**
   * All or nothing.
   * @param synchronous `FULL`: it, and all that was committed before, is on disk when this returns
   * @throws an error with SQLite's code, or `rows-changed`
   */
  transaction(statements: readonly ThreadStatement[], synchronous: 'NORMAL' | 'FULL'): Promise<void> {
    return this.#ask({ task: 'transaction', statements, synchronous });
  }

  /** Brings what was committed into the main file, as far as no reader needs it where it is. Nobody waits for it. */
  checkpoint(): Promise<void> {
    return this.#ask({ task: 'checkpoint' });
  }

  async close(): Promise<void> {
    const exited = once(this.#worker, 'exit');
    this.#worker.postMessage({ task: 'close' } satisfies Task);
    await exited;
  }

  async #ask(what: Task): Promise<void> {
    const answered = once(this.#worker, 'message');
    this.#worker.postMessage(what);
    const [answer]: Answer[] = await answered;
    const failed = answer?.failed;
    if (failed) throw new ThreadError(failed.message, failed.code);
  }
}
