import { GcError } from '../../../platform/errors.ts';
import type { Durability } from '../session-log.ts';
import { type AppendNote, encodeNote } from './append-times.ts';
import {
  asLogStoreError,
  type FileStamp,
  type LogFile,
  type LogFiles,
  replaceFile,
  sameStamp,
  withFile,
} from './files.ts';
import { type LogPaths, logPaths, tornNumbers, tornPath, uidsIn } from './log-paths.ts';
import { type LogRepair, type LogState, loadState, soundBytes, spanOf } from './log-state.ts';
import { decodeMeta, encodeMeta, newMeta, type SessionMeta } from './session-file.ts';
import type { WriterLocks } from './writer-lock.ts';

/** The records of one append, as they go into the file. */
export interface NewLines {
  readonly text: string;
  /** Length of each line, in bytes. */
  readonly lengths: readonly number[];
  /** Of the last record. */
  readonly hash: string;
  readonly fence: number;
}

export interface LogFolderOptions {
  readonly folder: string;
  readonly files: LogFiles;
  readonly locks: WriterLocks;
  /** The user whose files these have to be; absent: whoever's. */
  readonly owner?: number;
  readonly onRepair: (repair: LogRepair) => void;
}

/** A write that failed and could not be taken back yet. */
interface Owed {
  readonly start: number;
  readonly text: Buffer;
}

const KNOWN_LOGS_MAX = 256;

/** The files of a folder of logs: reads, checks, repairs and appends, one writer per log at a time. */
export class LogFolder {
  readonly #options: LogFolderOptions;
  readonly #states = new Map<string, LogState>();
  readonly #metas = new Map<string, { readonly stamp: FileStamp; readonly meta: SessionMeta }>();
  readonly #owed = new Map<string, Owed>();

  constructor(options: LogFolderOptions) {
    this.#options = options;
  }

  paths(uid: string): LogPaths {
    return logPaths(this.#options.folder, uid);
  }

  async uids(): Promise<readonly string[]> {
    return uidsIn(await this.#options.files.list(this.#options.folder));
  }

  /** Runs `work` as the only writer of the log, over all processes. */
  async locked<T>(uid: string, work: () => Promise<T>): Promise<T> {
    const { lock } = this.paths(uid);
    return this.#options.locks.run(lock, async () => {
      await this.#settle(uid);
      return work();
    });
  }

  /** How the log stands now. */
  async state(uid: string): Promise<LogState> {
    const known = this.#states.get(uid);
    if (known && !this.#owed.has(uid) && sameStamp(known.stamp, await this.#stamp(this.paths(uid).records)))
      return known;
    return this.locked(uid, () => this.lockedState(uid));
  }

  /** The same for somebody who holds the lock. */
  async lockedState(uid: string): Promise<LogState> {
    const known = this.#states.get(uid);
    const stamp = await this.#stamp(this.paths(uid).records);
    if (known && sameStamp(known.stamp, stamp)) return known;
    this.#states.delete(uid);
    const { files, folder, onRepair } = this.#options;
    const { state, repair } = await loadState(files, folder, uid, this.paths(uid), known);
    this.#keep(uid, state);
    if (repair) onRepair(repair);
    return state;
  }

  /** The last record that this process knows of. */
  knownSeq(uid: string): number {
    return this.#states.get(uid)?.ends.length ?? 0;
  }

  /** What is kept beside the records; records that were copied here without it are given it. */
  async meta(uid: string): Promise<SessionMeta | undefined> {
    const meta = await this.#storedMeta(uid);
    if (meta || !(await this.#isOrphan(uid))) return meta;
    return this.locked(uid, () => this.lockedMeta(uid));
  }

  /** The same for somebody who holds the lock. */
  async lockedMeta(uid: string): Promise<SessionMeta | undefined> {
    const meta = await this.#storedMeta(uid);
    if (meta || !(await this.#isOrphan(uid))) return meta;
    const found = await this.#stamp(this.paths(uid).records);
    const adopted = newMeta({ uid, project: '' }, found?.mtimeNs ?? 0n);
    await this.saveMeta(adopted);
    return adopted;
  }

  async saveMeta(meta: SessionMeta): Promise<void> {
    const { files, folder } = this.#options;
    const { session } = this.paths(meta.uid);
    await replaceFile(files, session, encodeMeta(meta));
    await files.syncFolder(folder);
  }

  /** The lines of records `from` to `to`, both of which are there. */
  async lines(uid: string, state: LogState, from: number, to: number): Promise<readonly Buffer[]> {
    const { start, end } = spanOf(state, from, to);
    const bytes = await withFile(this.#options.files, this.paths(uid).records, false, (file) =>
      file.read(start, end - start),
    );
    if (bytes.length < end - start) {
      throw new GcError('log-changed', `${this.paths(uid).records} was cut off while it was read`, {
        next: 'read it again',
      });
    }
    return Array.from({ length: to - from + 1 }, (_, index) => {
      const { start: first, end: behind } = spanOf(state, from + index, from + index);
      return bytes.subarray(first - start, behind - start - 1);
    });
  }

  /**
   * Appends records and what is noted of them; the caller holds the lock and `state` is current. A failure leaves the log
   * as it was.
   */
  async write(
    uid: string,
    state: LogState,
    added: NewLines,
    note: AppendNote,
    durability: Durability,
  ): Promise<void> {
    const paths = this.paths(uid);
    const start = soundBytes(state);
    const text = Buffer.from(added.text);
    const noted = Buffer.from(encodeNote(note));
    const full = durability === 'full';
    const { files, folder } = this.#options;
    try {
      const noteFirst = note.batch !== undefined || (full && note.source !== undefined);
      await withFile(files, paths.times, true, async (file) => {
        await fitTo(file, state);
        await file.write(noted, state.times.bytes);
        if (noteFirst) await file.sync();
      });
      const stamp = await withFile(files, paths.records, true, async (file) => {
        await file.write(text, start);
        if (full) await file.sync();
        return file.stamp();
      });
      if (state.stamp === undefined) await files.syncFolder(folder);
      state.stamp = stamp;
    } catch (error) {
      this.#owed.set(uid, { start, text });
      await this.#settle(uid).catch(() => undefined); // it stays owed, and comes before whatever is done next
      throw asLogStoreError(error, paths.records);
    }
    let end = start;
    for (const length of added.lengths) {
      end += length;
      state.ends.push(end);
    }
    state.hash = added.hash;
    state.fence = added.fence;
    state.times.add(note, noted.length);
  }

  /** Removes everything of a session, what says that it exists last. */
  async remove(uid: string): Promise<void> {
    const { files, folder } = this.#options;
    const { records, times, session } = this.paths(uid);
    const torn = tornNumbers(await files.list(folder), uid).map((n) => tornPath(folder, uid, n));
    for (const path of [records, times, ...torn, session]) await files.remove(path);
    await files.syncFolder(folder);
    this.#states.delete(uid);
    this.#metas.delete(uid);
  }

  /** Takes back what a failed write may have left: those very bytes, when nothing else came after them. */
  async #settle(uid: string): Promise<void> {
    const owed = this.#owed.get(uid);
    if (!owed) return;
    this.#states.delete(uid);
    const file = await this.#options.files.open(this.paths(uid).records, false);
    if (file) {
      try {
        const { size } = await file.stamp();
        const left = await file.read(owed.start, Math.max(0, size - owed.start));
        if (left.length > 0 && left.equals(owed.text.subarray(0, left.length))) {
          await file.truncate(owed.start);
          await file.sync();
        }
      } finally {
        await file.close().catch(() => undefined); // what mattered was synced
      }
    }
    await this.lockedState(uid);
    this.#owed.delete(uid);
  }

  async #storedMeta(uid: string): Promise<SessionMeta | undefined> {
    const { session } = this.paths(uid);
    const known = this.#metas.get(uid);
    const now = await this.#stamp(session);
    if (!now || (known && sameStamp(known.stamp, now))) return now && known?.meta;
    const file = await this.#options.files.open(session, false);
    if (!file) return undefined;
    try {
      const stamp = await file.stamp();
      const meta = { ...decodeMeta((await file.read(0, stamp.size)).toString('utf8'), session), uid };
      this.#metas.set(uid, { stamp, meta });
      return meta;
    } finally {
      await file.close().catch(() => undefined); // nothing depends on it
    }
  }

  /** Records without anything beside them, and not of a fork that has yet to be completed. */
  async #isOrphan(uid: string): Promise<boolean> {
    const { fork, records } = this.paths(uid);
    const found = await this.#stamp(records);
    if (!found || found.size === 0) return false;
    return (await this.#options.files.stamp(fork)) === undefined;
  }

  async #stamp(path: string): Promise<FileStamp | undefined> {
    const stamp = await this.#options.files.stamp(path);
    const { owner } = this.#options;
    if (stamp && owner !== undefined && stamp.owner !== owner) {
      throw new GcError('log-foreign', `${path} belongs to user ${stamp.owner}, not to ${owner}`, {
        next: 'logs are read and written by their owner only; change the owner of the file, or use another folder',
      });
    }
    return stamp;
  }

  #keep(uid: string, state: LogState): void {
    this.#states.set(uid, state);
    const oldest = this.#states.keys().next().value;
    if (this.#states.size > KNOWN_LOGS_MAX && oldest !== undefined) this.#states.delete(oldest);
  }
}

/** Makes the file of notes as long as is known of it. */
async function fitTo(file: LogFile, state: LogState): Promise<void> {
  const { size } = await file.stamp();
  if (size > state.times.bytes) await file.truncate(state.times.bytes);
  if (size < state.times.bytes) state.times.bytes = size;
}
