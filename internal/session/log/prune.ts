import { codeOf } from '../../platform/errors.ts';
import { blobHashesOf } from './blobs/blob-name.ts';
import type { BlobStore } from './blobs/blob-store.ts';
import { type CollectedBlobs, collectBlobs } from './blobs/collect.ts';
import { rowsOf } from './browse.ts';
import { recordsOf } from './browse-pages.ts';
import { LogCorruptError } from './errors.ts';
import { type PruneBudget, type PruneCandidate, prunePlan } from './prune-plan.ts';
import type { SessionLogStore, SessionRow } from './session-log.ts';
import { lookAt, recordBytes } from './summary.ts';

/** The marker of a continued conversation is the first record of its log. */
const MARKER_RECORDS = 4;
/** Who wrote a moment ago lives, whatever else is known of it. */
const ACTIVE_MS = 3_600_000;
const NANOS_PER_MS = 1_000_000n;

export interface PruneRequest {
  readonly budget: PruneBudget;
  /** Sessions that live; their logs are never touched. */
  readonly live: ReadonlySet<string>;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Say what would go, remove nothing. */
  readonly dryRun: boolean;
  /** All logs together take no more than this; spares the measuring when that fits the budget. */
  readonly atMostBytes?: number;
  readonly blobs?: Pick<BlobStore, 'list' | 'remove'>;
  readonly signal?: AbortSignal;
}

export interface PrunedLog {
  readonly uid: string;
  readonly name: string;
  readonly lastActivityAt: number;
  readonly records: number;
}

export interface PruneReport {
  /** Oldest first. */
  readonly removed: readonly PrunedLog[];
  readonly kept: number;
  readonly blobs: CollectedBlobs;
}

/** Removes old logs by a budget, and the blobs that no kept log names. A log that is written to meanwhile stays. */
export async function prune(store: SessionLogStore, request: PruneRequest): Promise<PruneReport> {
  const { budget, now, dryRun, blobs, signal } = request;
  const rows = new Map<string, SessionRow>();
  const candidates: PruneCandidate[] = [];
  for await (const row of rowsOf(store, { includeDeleted: true, ...(signal ? { signal } : {}) })) {
    rows.set(row.uid, row);
    candidates.push(await candidateOf(store, row, request));
  }
  const recent = candidates.filter(({ lastActivityAt }) => now - lastActivityAt < ACTIVE_MS);
  const live = new Set([...request.live, ...recent.map(({ uid }) => uid)]);
  const removed: PrunedLog[] = [];
  for (const uid of prunePlan(candidates, budget, live, now)) {
    signal?.throwIfAborted();
    const row = rows.get(uid);
    if (!row || (!dryRun && !(await removeUnchanged(store, row)))) continue;
    removed.push({ uid, name: row.name, lastActivityAt: activityOf(row), records: row.lastSeq });
    rows.delete(uid);
  }
  const named = () => namedBlobs(store, [...rows.keys()], signal);
  return {
    removed,
    kept: rows.size,
    blobs: blobs ? await collectBlobs(blobs, named, { now, dryRun }) : { count: 0, bytes: 0 },
  };
}

const activityOf = ({ updatedAt }: SessionRow): number => Number(updatedAt / NANOS_PER_MS);

async function candidateOf(
  store: SessionLogStore,
  row: SessionRow,
  { budget, atMostBytes, signal }: PruneRequest,
): Promise<PruneCandidate> {
  const isMeasured = budget.maxBytes > 0 && (atMostBytes === undefined || atMostBytes > budget.maxBytes);
  const look = await ofSound(() => lookAt(store, row.uid, MARKER_RECORDS));
  return {
    uid: row.uid,
    lastActivityAt: activityOf(row),
    bytes: isMeasured ? await bytesOf(store, row.uid, signal) : 0,
    continues: look?.continues?.source,
  };
}

/** A damaged log counts as far as it can be read. */
async function bytesOf(
  store: SessionLogStore,
  uid: string,
  signal: AbortSignal | undefined,
): Promise<number> {
  let bytes = 0;
  await ofSound(async () => {
    for await (const record of recordsOf(store, uid, signal ? { signal } : {})) bytes += recordBytes(record);
  });
  return bytes;
}

/** Whether it is gone; a log that moved since it was judged is left. */
async function removeUnchanged(store: SessionLogStore, judged: SessionRow): Promise<boolean> {
  const row = await store.get(judged.uid);
  if (!row) return true;
  if (row.lastSeq !== judged.lastSeq || row.updatedAt !== judged.updatedAt) return false;
  try {
    await store.remove(judged.uid);
  } catch (error) {
    if (codeOf(error) !== 'session-not-found') throw error;
  }
  return true;
}

/** @throws LogCorruptError: what a log that cannot be read names is not known, so nothing may go */
async function namedBlobs(
  store: SessionLogStore,
  uids: readonly string[],
  signal: AbortSignal | undefined,
): Promise<ReadonlySet<string>> {
  const named = new Set<string>();
  for (const uid of uids) {
    for await (const { event } of recordsOf(store, uid, signal ? { signal } : {})) {
      for (const hash of blobHashesOf(event)) named.add(hash);
    }
  }
  return named;
}

async function ofSound<T>(work: () => Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof LogCorruptError) return undefined;
    throw error;
  }
}
