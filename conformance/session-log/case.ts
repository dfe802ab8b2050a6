import assert from 'node:assert/strict';
import { codeOf } from '../../internal/platform/errors.ts';
import { input, output, textMessage, textOf } from '../../internal/protocol/events.ts';
import type { Event } from '../../internal/protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../internal/protocol/hash-chain.ts';
import type { FollowItem, SessionLogStore } from '../../internal/session/log/session-log.ts';

/** The store under test: fresh and empty for each case. */
export interface LogSubject {
  readonly store: SessionLogStore;
  /** Another handle on the same logs, as another process would have it. */
  readonly second?: SessionLogStore;
  /** Closes `store` and opens the same logs again, as after a restart. The caller closes what it gets. */
  readonly reopen?: () => Promise<SessionLogStore>;
  /** Changes a stored record behind the store's back: one byte of its text, or so that it cannot be decoded. */
  readonly damage?: (uid: string, seq: number, how: 'flipped' | 'undecodable') => Promise<void>;
  /** The next write of the store to its medium fails. */
  readonly failNextWrite?: () => void;
  /** Followers of `store` that have begun and not ended. */
  readonly followers?: () => number;
}

/** What a case works with beyond a store. */
export type LogNeed = Exclude<keyof LogSubject, 'store'>;

/** A promise of the store contract, as plain data. It holds when `run` resolves; it rejects with what was found otherwise. */
export interface LogCase {
  readonly name: string;
  readonly needs?: readonly LogNeed[];
  run(subject: LogSubject): Promise<void>;
}

/** A follower that shows nothing for this long has lost records. */
const PATIENCE_MS = 10_000;

/** A short record that can be told from the others. */
export const say = (text: string): Event => output('e1', textMessage('assistant', text));
export const ask = (text: string): Event => input('e1', textMessage('user', text));

export function textOfRecord({ event }: ChainedRecord): string {
  return event.body.case === 'message' ? textOf(event.body.value) : '';
}

export const upTo = (last: number, first = 1): readonly number[] =>
  Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);

/** Appends `count` records, one batch. */
export async function fill(store: SessionLogStore, uid: string, count: number, from = 1): Promise<void> {
  await store.append(
    uid,
    upTo(from + count - 1, from).map((n) => say(`record ${n}`)),
    { durability: 'group' },
  );
}

/** Every record of a log, page by page. */
export async function readAll(
  store: Pick<SessionLogStore, 'read'>,
  uid: string,
  limit = 500,
): Promise<readonly ChainedRecord[]> {
  const records: ChainedRecord[] = [];
  for (;;) {
    const page = await store.read(uid, { from: records.length + 1, limit });
    if (page.length === 0) return records;
    records.push(...page);
  }
}

/** What identifies a record and its content: everything but its incarnation. */
export const identityOf = ({ seq, prevHash, contentHash }: ChainedRecord): string =>
  `${seq} ${prevHash} ${contentHash}`;

export async function refusedWith(code: string, work: () => Promise<unknown>): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    assert.equal(codeOf(error), code, `refused as ${String(error)}`);
    return error;
  }
  assert.fail(`not refused with ${code}`);
}

/** A reader of a follower, one item at a time. */
export class Reader {
  readonly #items: AsyncIterator<FollowItem>;
  readonly #lifetime = new AbortController();

  constructor(
    store: SessionLogStore,
    uid: string,
    options: { readonly from: number; readonly live?: boolean; readonly buffer?: number },
  ) {
    const items = store.follow(uid, { ...options, signal: this.#lifetime.signal });
    this.#items = items[Symbol.asyncIterator]();
  }

  /** The next item, `undefined` at the end. @throws when nothing comes */
  async next(): Promise<FollowItem | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new assert.AssertionError({ message: 'the follower shows nothing' })),
        PATIENCE_MS,
      );
    });
    try {
      const { done, value } = await Promise.race([this.#items.next(), tooLate]);
      return done ? undefined : value;
    } finally {
      clearTimeout(timer);
    }
  }

  /** The numbers of the next `count` items, which are records. */
  async seqs(count: number): Promise<readonly number[]> {
    const seqs: number[] = [];
    while (seqs.length < count) {
      const item = await this.next();
      assert.equal(item?.kind, 'record', `item ${seqs.length + 1} is ${JSON.stringify(item?.kind)}`);
      if (item?.kind === 'record') seqs.push(item.record.seq);
    }
    return seqs;
  }

  abort(): void {
    this.#lifetime.abort();
  }

  /** Stops reading for good. */
  async close(): Promise<void> {
    this.abort();
    await this.#items.return?.();
  }
}
