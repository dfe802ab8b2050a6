import type { Clock } from '../../../platform/clock.ts';
import { asStoreError, isBusy } from '../../../platform/sqlite.ts';
import type { ChainedRecord } from '../../../protocol/hash-chain.ts';
import type { Append, AppendBatch, AppendOutcome } from './append-batch.ts';
import type { LogDatabase } from './log-database.ts';
import type { Turn } from './turn.ts';

type Appended = Extract<AppendOutcome, { kind: 'appended' }>;

interface Waiting {
  readonly append: Append;
  resolve(records: readonly ChainedRecord[]): void;
  reject(error: unknown): void;
}

/** Appends that wait at the same time share a transaction up to these bounds. */
const BATCH_APPENDS = 256;
const BATCH_BYTES = 1024 * 1024;

/** Appends in the order they were asked for, as many per commit as are waiting. */
export class AppendQueue {
  readonly #database: LogDatabase;
  readonly #batch: AppendBatch;
  readonly #clock: Clock;
  readonly #turn: Turn;
  readonly #published: (append: Append, outcome: Appended) => void;
  #waiting: Waiting[] = [];
  /** Somebody is at it, or will be in a moment. */
  #running = false;
  readonly #idle: (() => void)[] = [];
  readonly #run = () => this.#drain();

  constructor(parts: {
    readonly database: LogDatabase;
    readonly batch: AppendBatch;
    readonly clock: Clock;
    readonly turn: Turn;
    /** Told of what is committed, in order, before whoever asked for it. */
    readonly published: (append: Append, outcome: Appended) => void;
  }) {
    this.#database = parts.database;
    this.#batch = parts.batch;
    this.#clock = parts.clock;
    this.#turn = parts.turn;
    this.#published = parts.published;
  }

  add(append: Append): Promise<readonly ChainedRecord[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ append, resolve, reject });
      if (this.#running) return;
      this.#running = true;
      // A microtask later: what is asked for in one go is committed in one go.
      queueMicrotask(this.#run);
    });
  }

  /** When everything that was asked for has its outcome. */
  idle(): Promise<void> {
    if (!this.#running) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idle.push(resolve);
    });
  }

  /** Not an async function: the usual append would pay for that more than for its hash. */
  #drain(): void {
    while (this.#waiting.length > 0) {
      if (this.#turn.isOver()) {
        void this.#turn.pause().then(this.#run);
        return;
      }
      const batch = this.#take();
      const failed = this.#tryNow(batch);
      if (failed) {
        void this.#recover(batch, failed.error).then(this.#run);
        return;
      }
    }
    this.#running = false;
    for (const resolve of this.#idle.splice(0)) resolve();
  }

  #take(): readonly Waiting[] {
    if (this.#waiting.length === 1) {
      const one = this.#waiting;
      this.#waiting = [];
      return one;
    }
    let [count, bytes] = [0, 0];
    for (const { append } of this.#waiting) {
      for (const event of append.events) bytes += event.bytes.length;
      if (count > 0 && (count === BATCH_APPENDS || bytes > BATCH_BYTES)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  /** The usual case, without a wait. */
  #tryNow(batch: readonly Waiting[]): { readonly error: unknown } | undefined {
    try {
      this.#commit(batch);
      return undefined;
    } catch (error) {
      return { error };
    }
  }

  async #recover(batch: readonly Waiting[], error: unknown): Promise<void> {
    if (isBusy(error)) {
      await this.#insist(batch);
    } else if (batch.length > 1) {
      // One of them may be what cannot be written: the others are not to suffer for it.
      for (const one of batch) await this.#insist([one]);
    } else {
      refuse(batch, asStoreError(error, this.#database.file));
    }
  }

  async #insist(batch: readonly Waiting[]): Promise<void> {
    try {
      await this.#database.patiently(() => this.#commit(batch));
    } catch (error) {
      refuse(batch, error);
    }
  }

  #commit(batch: readonly Waiting[]): void {
    const outcomes = this.#batch.commit(
      batch.map(({ append }) => append),
      this.#clock.now(),
    );
    batch.forEach(({ append, resolve, reject }, index) => {
      const outcome = outcomes[index];
      if (outcome?.kind === 'refused') {
        reject(outcome.error);
      } else if (outcome) {
        if (outcome.kind === 'appended') this.#published(append, outcome);
        resolve(outcome.records);
      }
    });
  }
}

function refuse(batch: readonly Waiting[], error: unknown): void {
  for (const { reject } of batch) reject(error);
}
