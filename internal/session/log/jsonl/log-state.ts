import { unreachable } from '../../../platform/errors.ts';
import { type AppendNote, AppendTimes, type ReadNotes, readNotes } from './append-times.ts';
import { type FileStamp, type LogFile, type LogFiles, withFile, writeNew } from './files.ts';
import { type LogPaths, tornNumbers, tornPath } from './log-paths.ts';
import { claimOf } from './record-line.ts';
import { type LineFault, LineWalk, type Scan, scan } from './scan.ts';
import { judgeTail } from './torn-tail.ts';

/** What was cut off a log when it was opened. */
export interface LogRepair {
  readonly uid: string;
  /** The first record that went. */
  readonly fromSeq: number;
  readonly what: string;
  readonly bytes: number;
  /** Where the bytes are now. */
  readonly movedTo: string;
}

/** The first record that is not sound, and how many lines there are from it on. */
export type LogDamage = Pick<LineFault, 'seq' | 'what' | 'lines'>;

/** What is known of a log on disk. Records up to `ends.length` are facts; bytes behind them are not. */
export interface LogState {
  /** As the record file was when this was true; absent: there is none. */
  stamp: FileStamp | undefined;
  /** Where record n ends, at index n - 1. */
  readonly ends: number[];
  hash: string;
  fence: number;
  readonly times: AppendTimes;
  readonly damage: LogDamage | undefined;
}

/** Of no file. A state owns its `ends`: never shared. */
const emptyScan = (): Scan => ({ ends: [], hash: '', fence: 0, size: 0, fault: undefined });

/** The last sound record. */
export const headSeq = (state: LogState): number => state.ends.length;

/** The last record, sound or not. */
export const lastSeq = (state: LogState): number => headSeq(state) + (state.damage?.lines ?? 0);

/** Length of the sound part of the record file. */
export const soundBytes = (state: LogState): number => state.ends.at(-1) ?? 0;

/** Where the lines of records `from` to `to` stand. Both are there. */
export function spanOf(state: LogState, from: number, to: number): { start: number; end: number } {
  return { start: state.ends[from - 2] ?? 0, end: state.ends[to - 1] ?? 0 };
}

/** The last record that ends at most `bytes` behind the beginning of record `from`; at most the last one. */
export function recordWithin(state: LogState, from: number, bytes: number): number {
  const limit = (state.ends[from - 2] ?? 0) + bytes;
  let low = from - 1;
  let high = headSeq(state);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((state.ends[middle - 1] ?? 0) <= limit) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * Reads a log from its files and puts right what an interrupted append left. The caller holds the log's lock.
 * @param known what was true before, so that only what was added is read
 */
export async function loadState(
  files: LogFiles,
  folder: string,
  uid: string,
  paths: LogPaths,
  known?: LogState,
): Promise<{ state: LogState; repair: LogRepair | undefined }> {
  const found = await files.open(paths.records, false);
  if (!found) return { state: await soundState(files, paths, emptyScan(), undefined), repair: undefined };
  try {
    const stamp = await found.stamp();
    const grown = known !== undefined && hasGrown(known, stamp) ? known : undefined;
    const scanned = await scanFrom(found, stamp, grown);
    const notes = await notesOf(files, paths, scanned, grown?.times);
    const verdict = judgeTail(scanned, notes.pending, await beginsWith(found, scanned, notes.pending));
    // What was known may be of a file that is gone: nothing is judged by it.
    if (grown && verdict.kind !== 'sound') return await loadState(files, folder, uid, paths);
    switch (verdict.kind) {
      case 'sound':
        return { state: await soundState(files, paths, scanned, stamp, grown?.times), repair: undefined };
      case 'damaged': {
        const times = timesOf(undefined, notes);
        const { ends, hash, fence } = scanned;
        const { seq, what, lines } = verdict.fault;
        return {
          state: { stamp, ends, hash, fence, times, damage: { seq, what, lines } },
          repair: undefined,
        };
      }
      case 'torn': {
        const cutAt = scanned.ends[verdict.fromSeq - 2] ?? 0;
        const movedTo = await moveTail(files, folder, uid, found, cutAt, stamp.size);
        const now = await found.stamp();
        const state = await soundState(files, paths, await scanFrom(found, now, undefined), now);
        const { fromSeq, what } = verdict;
        return { state, repair: { uid, fromSeq, what, bytes: stamp.size - cutAt, movedTo } };
      }
      default:
        return unreachable(verdict);
    }
  } finally {
    await found.close().catch(() => undefined); // nothing depends on it
  }
}

function hasGrown(known: LogState, stamp: FileStamp): boolean {
  return (
    known.stamp !== undefined &&
    known.damage === undefined &&
    known.stamp.inode === stamp.inode &&
    stamp.size > soundBytes(known)
  );
}

async function scanFrom(file: LogFile, stamp: FileStamp, known: LogState | undefined): Promise<Scan> {
  if (!known) return scan(file, stamp.size, 0, new LineWalk());
  const walk = new LineWalk({ seq: headSeq(known), hash: known.hash, fence: known.fence });
  const added = await scan(file, stamp.size, soundBytes(known), walk);
  return { ...added, ends: known.ends.concat(added.ends) };
}

/** A sound log; notes of appends that did not happen are cut off their file. */
async function soundState(
  files: LogFiles,
  paths: LogPaths,
  scanned: Scan,
  stamp: FileStamp | undefined,
  known?: AppendTimes,
): Promise<LogState> {
  const notes = await notesOf(files, paths, scanned, known);
  const kept = notes.notes.reduce((sum, [, bytes]) => sum + bytes, known?.bytes ?? 0);
  if (notes.size > kept) await cutFile(files, paths.times, kept);
  const { ends, hash, fence } = scanned;
  return { stamp, ends, hash, fence, times: timesOf(known, notes), damage: undefined };
}

async function notesOf(
  files: LogFiles,
  paths: LogPaths,
  scanned: Scan,
  known: AppendTimes | undefined,
): Promise<ReadNotes & { readonly size: number }> {
  const start = known?.bytes ?? 0;
  const file = await files.open(paths.times, false);
  if (!file) return { notes: [], pending: undefined, size: 0 };
  try {
    const { size } = await file.stamp();
    const bytes = await file.read(start, Math.max(0, size - start));
    return { ...readNotes(bytes, known?.last?.to ?? 0, scanned.ends.length), size };
  } finally {
    await file.close().catch(() => undefined); // nothing depends on it
  }
}

function timesOf(known: AppendTimes | undefined, { notes }: ReadNotes): AppendTimes {
  const times = known ?? new AppendTimes();
  for (const [note, bytes] of notes) times.add(note, bytes);
  return times;
}

/** The note's batch begins with the record that is there. */
async function beginsWith(file: LogFile, scanned: Scan, note: AppendNote | undefined): Promise<boolean> {
  const end = note?.batch === undefined ? undefined : scanned.ends[note.from - 1];
  if (note === undefined || end === undefined) return false;
  const start = scanned.ends[note.from - 2] ?? 0;
  const line = await file.read(start, end - start - 1);
  return claimOf(line)?.contentHash === note.batch;
}

/** Copies the tail aside, and only then cuts it off. */
async function moveTail(
  files: LogFiles,
  folder: string,
  uid: string,
  file: LogFile,
  cutAt: number,
  size: number,
): Promise<string> {
  const taken = tornNumbers(await files.list(folder), uid);
  const movedTo = tornPath(folder, uid, Math.max(0, ...taken) + 1);
  await writeNew(files, movedTo, await file.read(cutAt, size - cutAt));
  await files.syncFolder(folder);
  await file.truncate(cutAt);
  await file.sync();
  return movedTo;
}

async function cutFile(files: LogFiles, path: string, length: number): Promise<void> {
  await withFile(files, path, false, async (file) => {
    await file.truncate(length);
    await file.sync();
  });
}
