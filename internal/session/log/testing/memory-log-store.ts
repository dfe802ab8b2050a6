import { GcError } from '../../../platform/errors.ts';
import {
  type Event,
  EventKind,
  EventSchema,
  Lifecycle_Kind,
} from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import { type ChainedRecord, contentHash } from '../../../protocol/hash-chain.ts';
import { normalizeEvent } from '../../../protocol/normalize-event.ts';
import { toBinary } from '../../../protocol/protobuf.ts';
import {
  LogConflictError,
  SessionDeletedError,
  SourceReusedError,
  StaleFenceError,
  UnknownLogError,
} from '../errors.ts';
import type {
  AppendOptions,
  FollowItem,
  FollowOptions,
  ForkChild,
  ForkOptions,
  ListOptions,
  LogHead,
  NewSessionRow,
  ReadRange,
  SessionLogStore,
  SessionRow,
  StoredComputeState,
} from '../session-log.ts';

const DEFAULT_PAGE = 500;
const DEFAULT_BUFFER = 256;

interface Stored {
  readonly record: ChainedRecord;
  readonly recordedAt: number;
}

interface Log {
  row: SessionRow;
  readonly stored: Stored[];
  readonly sources: Map<string, { readonly print: string; readonly records: readonly ChainedRecord[] }>;
  readonly followers: Set<Follower>;
}

/** Everything in memory, one process: what the store contract says, for tests of what stands on it. */
export class MemoryLogStore implements SessionLogStore {
  readonly #logs = new Map<string, Log>();
  readonly #now: () => number;
  #newest = 0n;

  /** @param now milliseconds since the epoch */
  constructor(now: () => number = () => Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  async head(uid: string): Promise<LogHead> {
    return this.#head(uid);
  }

  /** At once: an append must not be overtaken between its look and its write. */
  #head(uid: string): LogHead {
    const log = this.#logs.get(uid);
    const last = log?.stored.at(-1)?.record;
    return { seq: last?.seq ?? 0, hash: last?.contentHash ?? '', fence: log?.row.fence ?? 0 };
  }

  async newFence(uid: string): Promise<number> {
    const log = this.#open(uid);
    log.row = { ...log.row, fence: log.row.fence + 1, updatedAt: this.#nanos() };
    return log.row.fence;
  }

  async append(
    uid: string,
    events: readonly Event[],
    options: AppendOptions = {},
  ): Promise<readonly ChainedRecord[]> {
    const known = this.#logs.get(uid);
    if (known?.row.deletedAt !== undefined) throw new SessionDeletedError(uid);
    const normal = events.map(normalizeEvent);
    const print = normal.map((each) => Buffer.from(toBinary(EventSchema, each)).toString('hex')).join();
    const { source, expected } = options;
    const before = source === undefined ? undefined : known?.sources.get(source);
    if (source !== undefined && before) {
      if (before.print === print) return before.records;
      throw new SourceReusedError(uid, source);
    }
    const head = this.#head(uid);
    if (expected !== undefined && expected !== head.seq) throw new LogConflictError(uid, expected, head.seq);
    const fence = fenceOf(uid, head.fence, options);
    const records = chained(normal, head, fence);
    const log = this.#open(uid);
    this.#add(log, records, fence);
    if (source !== undefined) log.sources.set(source, { print, records });
    return records;
  }

  async read(
    uid: string,
    { from = 1, to, limit = DEFAULT_PAGE, maxBytes = Number.POSITIVE_INFINITY }: ReadRange,
  ): Promise<readonly ChainedRecord[]> {
    const stored = this.#logs.get(uid)?.stored ?? [];
    const end = Math.min(to ?? stored.length, Math.max(from, 1) - 1 + limit);
    const page: ChainedRecord[] = [];
    let bytes = 0;
    for (const { record } of stored.slice(Math.max(from, 1) - 1, end)) {
      if (bytes >= maxBytes) break;
      page.push(record);
      bytes += toBinary(EventSchema, record.event).length;
    }
    return page;
  }

  async *follow(uid: string, options: FollowOptions): AsyncIterable<FollowItem> {
    const { signal, live = false, buffer = DEFAULT_BUFFER } = options;
    const log = this.#open(uid);
    let next = Math.max(1, options.from);
    const follower = new Follower(live, buffer, signal);
    try {
      while (!signal.aborted) {
        const stored = log.stored[next - 1];
        if (!stored) break;
        yield { kind: 'record', ...stored };
        next += 1;
      }
      log.followers.add(follower);
      for await (const item of follower.items()) {
        if (item.kind === 'record') {
          if (item.record.seq < next) continue;
          next = item.record.seq + 1;
        }
        yield item;
        if (item.kind === 'lagged') return;
      }
    } finally {
      log.followers.delete(follower);
      follower.close();
    }
  }

  tell(uid: string, data: unknown): void {
    const log = this.#logs.get(uid);
    for (const follower of log?.followers ?? []) {
      follower.push({ kind: 'live', afterSeq: log?.stored.length ?? 0, data });
    }
  }

  async create(row: NewSessionRow, guard?: () => void): Promise<SessionRow> {
    guard?.();
    if (this.#logs.has(row.uid)) throw new GcError('session-exists', `${row.uid} is there already`);
    const log = this.#open(row.uid);
    log.row = { ...log.row, ...row };
    return { ...log.row };
  }

  async get(uid: string): Promise<SessionRow | undefined> {
    const log = this.#logs.get(uid);
    return log && { ...log.row, lastSeq: log.stored.length };
  }

  async list({ project, after, limit, includeDeleted = false }: ListOptions): Promise<readonly SessionRow[]> {
    return [...this.#logs.values()]
      .map((log) => ({ ...log.row, lastSeq: log.stored.length }))
      .filter((row) => project === undefined || row.project === project)
      .filter((row) => includeDeleted || row.deletedAt === undefined)
      .sort(newestFirst)
      .filter((row) => after === undefined || newestFirst(after, row) < 0)
      .slice(0, limit);
  }

  async fork({ parent, atSeq, marker, harness, children }: ForkOptions): Promise<readonly SessionRow[]> {
    const log = this.#logs.get(parent);
    if (!log) throw new UnknownLogError(parent);
    if (atSeq > log.stored.length) {
      throw new GcError('fork-beyond-head', `${parent} ends at record ${log.stored.length}, before ${atSeq}`);
    }
    const origin = { ...log.row, harness: harness ?? log.row.harness };
    return children.map((child) => this.#forkChild({ ...log, row: origin }, atSeq, marker, child));
  }

  async update(uid: string, { name }: { readonly name?: string }): Promise<SessionRow> {
    const log = this.#known(uid);
    if (log.row.deletedAt !== undefined) throw new SessionDeletedError(uid);
    if (name !== undefined) log.row = { ...log.row, name, updatedAt: this.#nanos() };
    return { ...log.row, lastSeq: log.stored.length };
  }

  async markDeleted(uid: string): Promise<SessionRow> {
    const log = this.#known(uid);
    if (log.row.deletedAt === undefined) log.row = { ...log.row, deletedAt: this.#nanos() };
    return { ...log.row, lastSeq: log.stored.length };
  }

  async remove(uid: string): Promise<void> {
    const log = this.#known(uid);
    this.#logs.delete(uid);
    for (const follower of log.followers) follower.close();
  }

  async close(): Promise<void> {
    for (const log of this.#logs.values()) for (const follower of log.followers) follower.close();
  }

  #forkChild(parent: Log, atSeq: number, marker: Event, child: ForkChild): SessionRow {
    const known = this.#logs.get(child.uid);
    if (known) return { ...known.row, lastSeq: known.stored.length };
    const log = this.#open(child.uid);
    const { project, harness, model, annotations, origin, uid: parentUid } = parent.row;
    log.row = {
      ...log.row,
      ...child,
      project,
      harness,
      model,
      annotations,
      origin,
      parentUid,
      forkSeq: atSeq,
    };
    const prefix = parent.stored.slice(0, atSeq).map(({ record }) => ({ ...record, fence: 1 }));
    this.#add(log, prefix, 1);
    const head = { seq: prefix.length, hash: prefix.at(-1)?.contentHash ?? '' };
    this.#add(log, chained([normalizeEvent(marker)], head, 1), 1);
    return { ...log.row, lastSeq: log.stored.length };
  }

  #add(log: Log, records: readonly ChainedRecord[], fence: number): void {
    const recordedAt = this.#now();
    for (const record of records) {
      log.stored.push({ record, recordedAt });
      log.row = { ...log.row, computeState: stateAfter(record.event) ?? log.row.computeState };
      for (const follower of log.followers) follower.push({ kind: 'record', record, recordedAt });
    }
    log.row = { ...log.row, fence, updatedAt: this.#nanos(), lastSeq: log.stored.length };
  }

  #known(uid: string): Log {
    const log = this.#logs.get(uid);
    if (!log) throw new UnknownLogError(uid);
    return log;
  }

  #open(uid: string): Log {
    const known = this.#logs.get(uid);
    if (known) return known;
    const createdAt = this.#nanos();
    const log: Log = { row: emptyRow(uid, createdAt), stored: [], sources: new Map(), followers: new Set() };
    this.#logs.set(uid, log);
    return log;
  }

  /** Never the same twice. */
  #nanos(): bigint {
    const now = BigInt(this.#now()) * 1_000_000n;
    this.#newest = now > this.#newest ? now : this.#newest + 1n;
    return this.#newest;
  }
}

/** What one follower has yet to read. */
class Follower {
  readonly #live: boolean;
  readonly #buffer: number;
  readonly #signal: AbortSignal;
  #waiting: FollowItem[] = [];
  #wake: () => void = () => undefined;
  #closed = false;

  constructor(live: boolean, buffer: number, signal: AbortSignal) {
    this.#live = live;
    this.#buffer = buffer;
    this.#signal = signal;
    signal.addEventListener('abort', this.close, { once: true });
  }

  push(item: FollowItem): void {
    const first = this.#waiting[0];
    if (this.#closed || first?.kind === 'lagged' || (item.kind === 'live' && !this.#live)) return;
    if (this.#waiting.length < this.#buffer) this.#waiting.push(item);
    else if (item.kind === 'record') {
      const kept = this.#waiting.find((each) => each.kind === 'record');
      this.#waiting = [{ kind: 'lagged', resumeFrom: kept?.record.seq ?? item.record.seq }];
    }
    this.#wake();
  }

  async *items(): AsyncIterable<FollowItem> {
    while (!this.#closed) {
      const item = this.#waiting.shift();
      if (item) yield item;
      else
        await new Promise<void>((wake) => {
          this.#wake = wake;
        });
    }
  }

  readonly close = (): void => {
    this.#closed = true;
    this.#signal.removeEventListener('abort', this.close);
    this.#wake();
  };
}

function fenceOf(uid: string, current: number, { fence, newIncarnation }: AppendOptions): number {
  if (newIncarnation) return current + 1;
  if (fence === undefined) return current;
  if (fence < current) throw new StaleFenceError(uid, fence, current);
  return fence;
}

function chained(
  events: readonly Event[],
  head: { readonly seq: number; readonly hash: string },
  fence: number,
): readonly ChainedRecord[] {
  let { seq, hash } = head;
  return events.map((event) => {
    seq += 1;
    const prevHash = hash;
    hash = contentHash(event, prevHash, seq);
    return { seq, prevHash, contentHash: hash, fence, event };
  });
}

/** The state that an event implies. Source: agentsessions.v1, compute-state projection. */
function stateAfter({ kind, body }: Event): StoredComputeState | undefined {
  if (kind === EventKind.EVENT_APPROVAL_REQUEST || kind === EventKind.EVENT_APPROVAL_RESULT) return undefined;
  if (kind !== EventKind.EVENT_LIFECYCLE) return 'LIVE';
  const lifecycle = body.case === 'lifecycle' ? body.value.kind : Lifecycle_Kind.LIFECYCLE_UNSPECIFIED;
  if (lifecycle === Lifecycle_Kind.LIFECYCLE_RESUME) return 'LIVE';
  const isCold =
    lifecycle === Lifecycle_Kind.LIFECYCLE_SUSPEND || lifecycle === Lifecycle_Kind.LIFECYCLE_FORK;
  return isCold ? 'COLD' : undefined;
}

type Placed = Pick<SessionRow, 'createdAt' | 'uid'>;

function newestFirst(a: Placed, b: Placed): number {
  if (a.createdAt !== b.createdAt) return a.createdAt > b.createdAt ? -1 : 1;
  return a.uid < b.uid ? -1 : a.uid > b.uid ? 1 : 0;
}

const emptyRow = (uid: string, createdAt: bigint): SessionRow => ({
  uid,
  project: '',
  name: '',
  harness: '',
  model: '',
  parentUid: '',
  forkSeq: 0,
  computeState: 'NONE',
  createdAt,
  updatedAt: createdAt,
  labels: {},
  annotations: {},
  origin: '',
  identity: '',
  lastSeq: 0,
  fence: 0,
  deletedAt: undefined,
});
