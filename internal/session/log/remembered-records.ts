import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import type { ReadRange, SessionLog } from './session-log.ts';

const PAGE_RECORDS = 500;
const MAX_BYTES = 32 * 1024 * 1024;

interface Remembered {
  readonly records: ChainedRecord[];
  bytes: number;
}

/**
 * Reads logs through a memory: a turn needs its whole log, and what was read once never changes. The first records of the
 * logs that were used last are kept, up to a weight in all.
 */
export class RememberedRecords implements Pick<SessionLog, 'read'> {
  readonly #log: Pick<SessionLog, 'read'>;
  readonly #maxBytes: number;
  /** The longest unused first. */
  readonly #logs = new Map<string, Remembered>();
  #bytes = 0;

  constructor(log: Pick<SessionLog, 'read'>, maxBytes = MAX_BYTES) {
    this.#log = log;
    this.#maxBytes = maxBytes;
  }

  async read(uid: string, range: ReadRange): Promise<readonly ChainedRecord[]> {
    const { from = 1, to = Number.POSITIVE_INFINITY, limit = PAGE_RECORDS } = range;
    const first = Math.max(1, from);
    const known = this.#logs.get(uid)?.records ?? [];
    if (first <= known.length) {
      this.#use(uid);
      return known.slice(first - 1, Math.min(to, first - 1 + limit));
    }
    const page = await this.#log.read(uid, range);
    this.#learn(uid, page);
    return page;
  }

  /** Only what continues what is known. Anything else means that the log is another one now. */
  #learn(uid: string, page: readonly ChainedRecord[]): void {
    const [next] = page;
    const log = this.#logs.get(uid) ?? { records: [], bytes: 0 };
    if (next === undefined || next.seq !== log.records.length + 1) return;
    if (next.prevHash !== (log.records.at(-1)?.contentHash ?? '')) {
      this.#forget(uid);
      return;
    }
    this.#logs.set(uid, log);
    for (const record of page) {
      const weight = weigh(record.event);
      log.records.push(record);
      log.bytes += weight;
      this.#bytes += weight;
    }
    this.#use(uid);
    for (const other of this.#logs.keys()) {
      if (this.#bytes <= this.#maxBytes) return;
      this.#forget(other);
    }
  }

  #use(uid: string): void {
    const log = this.#logs.get(uid);
    if (!log) return;
    this.#logs.delete(uid);
    this.#logs.set(uid, log);
  }

  #forget(uid: string): void {
    this.#bytes -= this.#logs.get(uid)?.bytes ?? 0;
    this.#logs.delete(uid);
  }
}

/** The same log, whose records are read once. */
export function rememberingLog(log: SessionLog): SessionLog {
  const remembered = new RememberedRecords(log);
  return {
    head: (uid) => log.head(uid),
    newFence: (uid) => log.newFence(uid),
    append: (uid, events, options) => log.append(uid, events, options),
    read: (uid, range) => remembered.read(uid, range),
    follow: (uid, options) => log.follow(uid, options),
    tell: (uid, data) => log.tell(uid, data),
  };
}

const PER_VALUE_BYTES = 16;

/** About what a message takes in memory. */
function weigh(value: unknown): number {
  if (typeof value === 'string') return PER_VALUE_BYTES + value.length;
  if (value instanceof Uint8Array) return PER_VALUE_BYTES + value.length;
  if (typeof value !== 'object' || value === null) return PER_VALUE_BYTES;
  let sum = PER_VALUE_BYTES;
  for (const each of Object.values(value)) sum += weigh(each);
  return sum;
}
