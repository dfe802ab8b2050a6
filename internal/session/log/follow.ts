import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import { Follower } from './follower.ts';
import type { FollowItem, FollowOptions } from './session-log.ts';

/** A record with the time it was appended, milliseconds since the epoch; 0 when nobody noted it. */
export interface TimedRecord {
  readonly record: ChainedRecord;
  readonly recordedAt: number;
}

/** Where followers read what they have not been told. */
export interface FollowSource {
  /** In order from `from`, at most `limit`; empty only when there is nothing. */
  page(uid: string, from: number, limit: number): Promise<readonly TimedRecord[]>;
  /** The first follower of all came. */
  firstCame?(): void;
  /** The last one went. */
  lastWent?(): void;
}

const PAGE_RECORDS = 500;
const DEFAULT_BUFFER = 256;

/**
 * The followers of one store in this process. A follower reads pages until one is empty and nothing was published
 * meanwhile; from then on it is told. Whoever commits publishes; whoever may have missed another process says `lookAgain`.
 */
export class FollowHub {
  readonly #source: FollowSource;
  readonly #followers = new Map<string, Set<Follower>>();
  /** Sessions that are being read on behalf of followers, and whether to read once more after that. */
  readonly #looking = new Map<string, boolean>();
  #count = 0;
  #closed = false;

  constructor(source: FollowSource) {
    this.#source = source;
  }

  /** Followers that have begun and not ended. */
  get count(): number {
    return this.#count;
  }

  isFollowed(uid: string): boolean {
    return this.#followers.has(uid);
  }

  /** Whether somebody wants to hear what is not a fact. */
  hasLive(uid: string): boolean {
    for (const follower of this.#followers.get(uid) ?? []) if (follower.live) return true;
    return false;
  }

  /** Committed records, in order. */
  publish(uid: string, records: readonly TimedRecord[]): void {
    for (const follower of this.#followers.get(uid) ?? []) follower.publish(records);
  }

  tell(uid: string, afterSeq: number, data: unknown): void {
    for (const follower of this.#followers.get(uid) ?? []) follower.tell({ kind: 'live', afterSeq, data });
  }

  /** Others may have appended, to any session. */
  lookAgain(): void {
    for (const [uid, followers] of this.#followers) {
      for (const follower of followers) follower.noticeChange();
      void this.#look(uid);
    }
  }

  /** Ends all followers. */
  close(): void {
    this.#closed = true;
    for (const followers of this.#followers.values()) for (const follower of followers) follower.end();
  }

  async *follow(uid: string, options: FollowOptions): AsyncGenerator<FollowItem, void, undefined> {
    const { from, signal, live = false, buffer = DEFAULT_BUFFER } = options;
    if (signal.aborted || this.#closed) return;
    const follower = new Follower({ tail: Math.max(0, from - 1), live, buffer });
    this.#add(uid, follower);
    const leave = () => {
      follower.end();
      this.#remove(uid, follower);
    };
    signal.addEventListener('abort', leave, { once: true });
    try {
      while (!follower.ended) {
        yield* this.#pages(uid, follower);
        yield* follower.items();
      }
    } finally {
      signal.removeEventListener('abort', leave);
      leave();
    }
  }

  /** What is there already, until the follower has joined. */
  async *#pages(uid: string, follower: Follower): AsyncGenerator<FollowItem, void, undefined> {
    while (!follower.ended) {
      follower.beginPage();
      const page = await this.#source.page(uid, follower.tail + 1, PAGE_RECORDS);
      if (page.length === 0 && follower.tryJoin()) return;
      for (const { record, recordedAt } of page) {
        if (follower.ended) return;
        follower.tail = record.seq;
        yield { kind: 'record', record, recordedAt };
      }
    }
  }

  /** Reads what another process appended once for all who have joined. */
  async #look(uid: string): Promise<void> {
    if (this.#looking.has(uid)) {
      this.#looking.set(uid, true);
      return;
    }
    try {
      do {
        this.#looking.set(uid, false);
        const joined = [...(this.#followers.get(uid) ?? [])].filter((follower) => follower.joined);
        if (joined.length === 0) return;
        const tail = Math.min(...joined.map((follower) => follower.tail));
        const limit = Math.max(...joined.map((follower) => follower.buffer)) + 1;
        this.publish(uid, await this.#source.page(uid, tail + 1, limit));
      } while (this.#looking.get(uid));
    } catch {
      // They read for themselves then, and meet the error where it can be told.
      for (const follower of this.#followers.get(uid) ?? []) follower.fallBehind();
    } finally {
      this.#looking.delete(uid);
    }
  }

  #add(uid: string, follower: Follower): void {
    const followers = this.#followers.get(uid) ?? new Set();
    this.#followers.set(uid, followers.add(follower));
    this.#count += 1;
    if (this.#count === 1) this.#source.firstCame?.();
  }

  #remove(uid: string, follower: Follower): void {
    const followers = this.#followers.get(uid);
    if (!followers?.delete(follower)) return;
    if (followers.size === 0) this.#followers.delete(uid);
    this.#count -= 1;
    if (this.#count === 0) this.#source.lastWent?.();
  }
}
