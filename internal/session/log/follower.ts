import type { ChainedRecord } from '../../protocol/hash-chain.ts';
import type { TimedRecord } from './follow.ts';
import type { FollowItem } from './session-log.ts';

type LiveItem = Extract<FollowItem, { kind: 'live' }>;

/**
 * One follower's place in a log. It pages until it has joined, then a bounded queue fills; a publication that leaves a gap,
 * or is too large for a reader that was waiting, sends it back to paging. Only a reader that does not read is cut off.
 */
export class Follower {
  readonly live: boolean;
  readonly buffer: number;
  /** The last record that was delivered or queued. */
  tail: number;
  #delivered: number;
  #state: 'paging' | 'joined' | 'lagged' | 'ended' = 'paging';
  /** Something was published while a page was read: an empty page does not mean the end then. */
  #missed = false;
  #queue: FollowItem[] = [];
  /** Said live while paging; whether it is stale shows when the follower joins. */
  #early: LiveItem[] = [];
  #wake: (() => void) | undefined;

  constructor(options: { readonly tail: number; readonly live: boolean; readonly buffer: number }) {
    this.live = options.live;
    this.buffer = options.buffer;
    this.tail = options.tail;
    this.#delivered = options.tail;
  }

  get joined(): boolean {
    return this.#state === 'joined';
  }

  get ended(): boolean {
    return this.#state === 'ended';
  }

  beginPage(): void {
    this.#missed = false;
  }

  noticeChange(): void {
    this.#missed = true;
  }

  /** After an empty page. */
  tryJoin(): boolean {
    if (this.#missed || this.#state !== 'paging') return this.#state !== 'paging';
    this.#state = 'joined';
    this.#delivered = this.tail;
    this.#queue = this.#early.filter(({ afterSeq }) => afterSeq >= this.tail);
    this.#early = [];
    return true;
  }

  publish(records: readonly TimedRecord[]): void {
    if (this.#state === 'paging') this.#missed = true;
    if (this.#state !== 'joined') return;
    const waiting = this.#wake !== undefined;
    for (const { record, recordedAt } of records) {
      if (record.seq <= this.tail) continue;
      this.#dropLive();
      const full = this.#queue.length >= this.buffer;
      if (record.seq > this.tail + 1 || (full && waiting)) this.fallBehind();
      else if (full) this.#lag();
      else this.#push(record, recordedAt);
      if (this.#state !== 'joined') return;
    }
    this.#wakeUp();
  }

  tell(item: LiveItem): void {
    if (!this.live) return;
    const room = Math.max(1, Math.floor(this.buffer / 2));
    if (this.#state === 'paging') {
      if (this.#early.length < room) this.#early.push(item);
      return;
    }
    if (this.#state !== 'joined' || item.afterSeq < this.tail || this.#queue.length >= room) return;
    if (item.afterSeq > this.tail) {
      this.#early.push(item);
      this.fallBehind();
    } else {
      this.#queue.push(item);
      this.#wakeUp();
    }
  }

  /** Reads pages again once the queue is empty. */
  fallBehind(): void {
    if (this.#state !== 'joined') return;
    this.#state = 'paging';
    this.#wakeUp();
  }

  end(): void {
    this.#state = 'ended';
    this.#queue = [];
    this.#early = [];
    this.#wakeUp();
  }

  /** What is queued, as it comes, until the follower has to page again or ends. */
  async *items(): AsyncGenerator<FollowItem, void, undefined> {
    while (this.#state !== 'ended') {
      if (this.#state === 'lagged') {
        this.#state = 'ended';
        yield { kind: 'lagged', resumeFrom: this.#delivered + 1 };
        return;
      }
      const item = this.#queue.shift();
      if (item) {
        if (item.kind === 'record') this.#delivered = item.record.seq;
        yield item;
      } else if (this.#state === 'paging') {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  #push(record: ChainedRecord, recordedAt: number): void {
    this.#queue.push({ kind: 'record', record, recordedAt });
    this.tail = record.seq;
  }

  /** A fact that follows makes them stale. */
  #dropLive(): void {
    if (this.live) this.#queue = this.#queue.filter(({ kind }) => kind !== 'live');
  }

  #lag(): void {
    this.#state = 'lagged';
    this.#queue = [];
    this.#wakeUp();
  }

  #wakeUp(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    wake?.();
  }
}
