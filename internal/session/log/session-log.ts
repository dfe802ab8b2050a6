import type { Event } from '../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../protocol/hash-chain.ts';

/** Where a log stands. Of an unknown or empty one: seq 0, hash '', fence 0. */
export interface LogHead {
  readonly seq: number;
  readonly hash: string;
  /** The incarnation that may append; grows only. */
  readonly fence: number;
}

/**
 * `full`: on disk, past a power loss, before the call returns; for everything that a person or an effect relies on.
 * `group`: committed before the call returns, safe from the death of every process of ours, and on disk with the next
 * full one; for chatter.
 */
export type Durability = 'full' | 'group';

export interface AppendOptions {
  /** The last record that the caller knows of. 0: the log must be empty. Absent: wherever it stands. */
  readonly expected?: number;
  /** The caller's incarnation; a newer one than the log's is taken over. Absent: an outsider, who writes under the current one. */
  readonly fence?: number;
  /** Defaults to `full`. */
  readonly durability?: Durability;
  /**
   * Where the batch comes from, unique per session. A second append of the same batch under it returns the records of the
   * first and appends nothing.
   */
  readonly source?: string;
  /** Begins a new incarnation in the same transaction, before the records. Not together with `fence`. */
  readonly newIncarnation?: boolean;
}

/** What a follower gets, in order. */
export type FollowItem =
  | { readonly kind: 'record'; readonly record: ChainedRecord; readonly recordedAt: number }
  /** Said live and not a fact; belongs after record `afterSeq`. Never required, dropped first. */
  | { readonly kind: 'live'; readonly afterSeq: number; readonly data: unknown }
  /** The follower was too slow and is cut off; nothing was lost: follow again from there. */
  | { readonly kind: 'lagged'; readonly resumeFrom: number };

export interface FollowOptions {
  /** The first record wanted, from 1. */
  readonly from: number;
  readonly signal: AbortSignal;
  /** Also what is not a fact. */
  readonly live?: boolean;
  /** Items that may wait for a slow reader once it has caught up; 256 unless told. */
  readonly buffer?: number;
}

/**
 * One append-only, hash-chained log per session, safe for many processes. Facts are committed before anybody is told.
 * Source: agentsessions.v1 store contract; the shape of follow is ours.
 */
export interface SessionLog {
  head(uid: string): Promise<LogHead>;
  /** Begins a new incarnation: writers of older ones are refused from now on. The first is 1. */
  newFence(uid: string): Promise<number>;
  /**
   * Appends all events or none, in one transaction. `expected` is checked before `fence`.
   * @throws LogConflictError, StaleFenceError, SourceReusedError, SessionDeletedError, LogCorruptError,
   *   GcError `not-canonical`, `record-too-large`, `store-full`, `store-busy`
   */
  append(uid: string, events: readonly Event[], options?: AppendOptions): Promise<readonly ChainedRecord[]>;
  /** A page in order, as it was stored; both ends are inclusive. At most `limit` records, 500 unless told. */
  read(uid: string, range: ReadRange): Promise<readonly ChainedRecord[]>;
  /** Everything from `from`, then what comes, also from other processes. Ends when the signal aborts. */
  follow(uid: string, options: FollowOptions): AsyncIterable<FollowItem>;
  /** Tells live followers in this process something that is not a fact. */
  tell(uid: string, data: unknown): void;
}

export interface ReadRange {
  readonly from?: number;
  readonly to?: number;
  readonly limit?: number;
  /** The page ends early once it weighs so much, encoded. It is empty only when there is nothing. */
  readonly maxBytes?: number;
}

/** For whoever reads a log page by page: large records must not fill the memory. */
export const PAGE_BYTES = 4 * 1024 * 1024;

/** What the log cannot say about a session. Times are nanoseconds since the epoch. */
export interface SessionRow {
  readonly uid: string;
  readonly project: string;
  readonly name: string;
  readonly harness: string;
  readonly model: string;
  readonly parentUid: string;
  readonly forkSeq: number;
  readonly computeState: StoredComputeState;
  readonly createdAt: bigint;
  readonly updatedAt: bigint;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** proto3 JSON, '' when absent. */
  readonly origin: string;
  readonly identity: string;
  readonly lastSeq: number;
  readonly fence: number;
  /** Set once and for good when somebody asked for the session's deletion. */
  readonly deletedAt: bigint | undefined;
}

export type StoredComputeState = '' | 'NONE' | 'LIVE' | 'WARM' | 'COLD' | 'TERMINATED';

export interface NewSessionRow {
  readonly uid: string;
  readonly project: string;
  readonly name?: string;
  readonly harness?: string;
  readonly model?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly origin?: string;
  readonly identity?: string;
}

export interface ListOptions {
  /** Exact; absent: all. */
  readonly project?: string;
  /** Newest first, then by uid: what comes after this one. */
  readonly after?: { readonly createdAt: bigint; readonly uid: string };
  readonly limit: number;
  readonly includeDeleted?: boolean;
}

export interface ForkChild {
  readonly uid: string;
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

export interface ForkOptions {
  readonly parent: string;
  /** The last record that children share with their parent. */
  readonly atSeq: number;
  /** The record that each child begins its own part with. */
  readonly marker: Event;
  /** What runs the children; their parent's harness unless told. */
  readonly harness?: string;
  readonly children: readonly ForkChild[];
}

/**
 * The sessions of a store, beside their logs.
 * Source: agentsessions.v1 sessions table.
 */
export interface SessionIndex {
  /**
   * @param guard runs inside the transaction that inserts; what it throws undoes it
   * @throws GcError `session-exists`
   */
  create(row: NewSessionRow, guard?: () => void): Promise<SessionRow>;
  get(uid: string): Promise<SessionRow | undefined>;
  list(options: ListOptions): Promise<readonly SessionRow[]>;
  /**
   * Copies the parent's records up to `atSeq` into each child and appends the marker: one transaction per child, the
   * row included. A child that is there already, complete, is left as it is, so that an interrupted fan-out may be repeated.
   * Others are not delayed: the work is cut into short steps.
   * @throws UnknownLogError, GcError `fork-beyond-head`
   */
  fork(options: ForkOptions): Promise<readonly SessionRow[]>;
  /** Changes name or labels; absent ones stay. @throws UnknownLogError, SessionDeletedError */
  update(uid: string, change: { readonly name?: string }): Promise<SessionRow>;
  /** Notes for good that the session is to go: no append any more; reads stay. Repeating it changes nothing. @throws UnknownLogError */
  markDeleted(uid: string): Promise<SessionRow>;
  /** Removes session and log from the disk. @throws UnknownLogError */
  remove(uid: string): Promise<void>;
}

export interface SessionLogStore extends SessionLog, SessionIndex {
  /** Ends followers, waits for what is under way, lets go of files. */
  close(): Promise<void>;
}
