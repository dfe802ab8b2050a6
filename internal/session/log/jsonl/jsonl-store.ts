import type { Clock } from '../../../platform/clock.ts';
import { GcError } from '../../../platform/errors.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { EncodedEvent } from '../../../protocol/encode-event.ts';
import type { Event } from '../../../protocol/generated/agentsessions/v1/common_pb.ts';
import type { ChainedRecord } from '../../../protocol/hash-chain.ts';
import { SessionDeletedError, UnknownLogError } from '../errors.ts';
import { FollowHub } from '../follow.ts';
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
} from '../session-log.ts';
import { UniqueNanos } from '../unique-nanos.ts';
import { corrupt, headOf } from './append-rules.ts';
import { ChangePoll } from './change-poll.ts';
import { ComputeStates } from './compute-states.ts';
import { asLogStoreError, diskFiles, type LogFiles } from './files.ts';
import { forkChild } from './fork.ts';
import { LogAppender } from './log-appender.ts';
import { LogFolder } from './log-folder.ts';
import { readRecords, timedPage } from './log-reader.ts';
import { headSeq, type LogRepair, type LogState } from './log-state.ts';
import { prepareEvents } from './new-records.ts';
import { newMeta, type SessionMeta } from './session-file.ts';
import { newestFirst, rowOf } from './session-rows.ts';
import { WriterLocks } from './writer-lock.ts';

export interface JsonlStoreOptions {
  /** Where the logs are; made, owner-only, when it is missing. */
  readonly folder: string;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'random'>;
  /** The user id that every file must belong to; absent: it is not looked at. */
  readonly owner?: number;
  readonly files?: LogFiles;
  /** Hears of what was cut off a log when it was opened. */
  readonly onRepair?: (repair: LogRepair) => void;
}

/** @throws GcError `log-foreign`, `store-unwritable` */
export async function openJsonlStore(options: JsonlStoreOptions): Promise<JsonlSessionLogStore> {
  const { folder, files = diskFiles, owner } = options;
  try {
    await files.makeFolder(folder);
    await files.makeFolder(`${folder}/locks`);
    const stamp = await files.stamp(folder);
    if (stamp && owner !== undefined && stamp.owner !== owner) {
      throw new GcError('log-foreign', `${folder} belongs to user ${stamp.owner}, not to ${owner}`, {
        next: 'logs are read and written by their owner only; use another folder',
      });
    }
  } catch (error) {
    throw asLogStoreError(error, folder);
  }
  return new JsonlSessionLogStore({ ...options, files });
}

/**
 * Session logs as files of a folder, one line per record. The record files are what `exportLog` writes of any store.
 *
 * `<uid>.jsonl` records · `<uid>.times` when and from which source they were appended · `<uid>.session.json` what the log cannot
 * say · `<uid>.torn-<n>` what an interrupted append left · `locks/` one writer at a time.
 *
 * Every operation may fail with GcError `store-full`, `store-busy`, `store-unwritable`, `log-foreign`, `log-format`.
 */
export class JsonlSessionLogStore implements SessionLogStore {
  readonly #log: LogFolder;
  readonly #files: LogFiles;
  readonly #folder: string;
  readonly #locks: WriterLocks;
  readonly #nanos: UniqueNanos;
  readonly #appender: LogAppender;
  readonly #computed: ComputeStates;
  readonly #hub: FollowHub;
  readonly #poll: ChangePoll;
  readonly #underWay = new Set<Promise<unknown>>();
  #closed = false;

  constructor(options: JsonlStoreOptions & { readonly files: LogFiles }) {
    const { folder, clock, ids, files, owner, onRepair } = options;
    this.#folder = folder;
    this.#files = files;
    this.#locks = new WriterLocks(clock, ids);
    this.#nanos = new UniqueNanos(() => clock.now());
    this.#log = new LogFolder({
      folder,
      files,
      locks: this.#locks,
      ...(owner === undefined ? {} : { owner }),
      onRepair: (repair) => onRepair?.(repair),
    });
    this.#appender = new LogAppender(this.#log, this.#nanos, (uid, records) =>
      this.#hub.publish(uid, records),
    );
    this.#computed = new ComputeStates(this.#log);
    this.#poll = new ChangePoll(clock, () => this.#hub.lookAgain());
    this.#hub = new FollowHub({
      page: (uid, from, limit) => this.#guarded(uid, () => timedPage(this.#log, uid, from, limit)),
      firstCame: () => this.#poll.start(),
      lastWent: () => this.#poll.stop(),
    });
  }

  /** Followers in this process that have begun and not ended. */
  get followers(): number {
    return this.#hub.count;
  }

  async head(uid: string): Promise<LogHead> {
    return this.#guarded(uid, async () => {
      const state = await this.#log.state(uid);
      const meta = await this.#log.meta(uid);
      return headOf(meta, state);
    });
  }

  async newFence(uid: string): Promise<number> {
    return this.#guarded(uid, () =>
      this.#log.locked(uid, async () => {
        const meta = (await this.#log.lockedMeta(uid)) ?? newMeta({ uid, project: '' }, this.#nanos.next());
        if (meta.deletedAt !== undefined) throw new SessionDeletedError(uid);
        const state = await this.#log.lockedState(uid);
        const fence = headOf(meta, state).fence + 1;
        await this.#log.saveMeta({ ...meta, fence, updatedAt: this.#nanos.next() });
        return fence;
      }),
    );
  }

  async append(
    uid: string,
    events: readonly Event[],
    options: AppendOptions = {},
  ): Promise<readonly ChainedRecord[]> {
    if (options.newIncarnation && options.fence !== undefined) {
      throw new GcError('invalid-append', 'a new incarnation mints its own fence: do not pass one');
    }
    const prepared = prepareEvents(uid, events);
    return this.#guarded(uid, () => this.#appender.append(uid, prepared, options));
  }

  async read(uid: string, range: ReadRange): Promise<readonly ChainedRecord[]> {
    return this.#guarded(uid, () => readRecords(this.#log, uid, range));
  }

  follow(uid: string, options: FollowOptions): AsyncIterable<FollowItem> {
    this.#mustBeOpen();
    return this.#hub.follow(uid, options);
  }

  tell(uid: string, data: unknown): void {
    if (this.#hub.hasLive(uid)) this.#hub.tell(uid, this.#log.knownSeq(uid), data);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#poll.stop();
    this.#hub.close();
    await Promise.allSettled(this.#underWay);
    this.#locks.close();
  }

  async create(row: NewSessionRow, guard?: () => void): Promise<SessionRow> {
    const { uid } = row;
    return this.#guarded(uid, () =>
      this.#log.locked(uid, async () => {
        if (await this.#log.lockedMeta(uid)) {
          throw new GcError('session-exists', `there is a session ${uid} already`);
        }
        guard?.();
        const meta = newMeta(row, this.#nanos.next());
        await this.#log.saveMeta(meta);
        return this.#row(meta, await this.#log.lockedState(uid));
      }),
    );
  }

  async get(uid: string): Promise<SessionRow | undefined> {
    return this.#guarded(uid, async () => {
      const meta = await this.#log.meta(uid);
      return meta && this.#row(meta, await this.#log.state(uid));
    });
  }

  async list({ project, after, limit, includeDeleted = false }: ListOptions): Promise<readonly SessionRow[]> {
    return this.#guarded(this.#folder, async () => {
      const metas: SessionMeta[] = [];
      for (const uid of await this.#log.uids()) {
        const meta = await this.#log.meta(uid);
        if (!meta || (project !== undefined && meta.project !== project)) continue;
        if (meta.deletedAt !== undefined && !includeDeleted) continue;
        if (after === undefined || newestFirst(after, meta) < 0) metas.push(meta);
      }
      const page = metas.sort(newestFirst).slice(0, Math.max(0, limit));
      const rows: SessionRow[] = [];
      for (const meta of page) rows.push(await this.#row(meta, await this.#log.state(meta.uid)));
      return rows;
    });
  }

  async fork({ parent, atSeq, marker, harness, children }: ForkOptions): Promise<readonly SessionRow[]> {
    const [prepared] = prepareEvents(parent, [marker]);
    if (!prepared) return [];
    return this.#guarded(parent, async () => {
      const meta = await this.#log.meta(parent);
      if (!meta) throw new UnknownLogError(parent);
      const state = await this.#log.state(parent);
      if (atSeq > headSeq(state)) {
        if (state.damage) throw corrupt(parent, state.damage);
        throw new GcError(
          'fork-beyond-head',
          `${parent} has ${headSeq(state)} records: it cannot be forked at ${atSeq}`,
          { next: `fork at ${headSeq(state)} or before` },
        );
      }
      const rows: SessionRow[] = [];
      const forked = harness === undefined ? meta : { ...meta, harness };
      for (const child of children) rows.push(await this.#fork(forked, state, atSeq, prepared, child));
      return rows;
    });
  }

  async update(uid: string, { name }: { readonly name?: string }): Promise<SessionRow> {
    return this.#change(uid, (meta) => {
      if (meta.deletedAt !== undefined) throw new SessionDeletedError(uid);
      return name === undefined ? meta : { ...meta, name, updatedAt: this.#nanos.next() };
    });
  }

  async markDeleted(uid: string): Promise<SessionRow> {
    return this.#change(uid, (meta) =>
      meta.deletedAt === undefined ? { ...meta, deletedAt: this.#nanos.next() } : meta,
    );
  }

  async remove(uid: string): Promise<void> {
    await this.#guarded(uid, () =>
      this.#log.locked(uid, async () => {
        const meta = await this.#log.lockedMeta(uid);
        if (!meta) throw new UnknownLogError(uid);
        // Marked first: what is half removed is not continued, and removing it again finishes the work.
        if (meta.deletedAt === undefined)
          await this.#log.saveMeta({ ...meta, deletedAt: this.#nanos.next() });
        await this.#log.remove(uid);
        this.#computed.forget(uid);
      }),
    );
  }

  async #fork(
    parent: SessionMeta,
    parentState: LogState,
    atSeq: number,
    marker: EncodedEvent,
    child: ForkChild,
  ): Promise<SessionRow> {
    const { uid } = child;
    return this.#log.locked(uid, async () => {
      if (!(await this.#log.lockedMeta(uid))) {
        const now = this.#nanos.next();
        const work = { files: this.#files, log: this.#log, folder: this.#folder, parent, parentState };
        await forkChild({ ...work, atSeq, marker, now }, child);
      }
      const meta = await this.#log.lockedMeta(uid);
      if (meta?.parentUid !== parent.uid || meta.forkSeq !== atSeq) {
        throw new GcError('session-exists', `${uid} exists and is no fork of ${parent.uid} at ${atSeq}`);
      }
      return this.#row(meta, await this.#log.lockedState(uid));
    });
  }

  async #row(meta: SessionMeta, state: LogState): Promise<SessionRow> {
    return rowOf(meta, state, await this.#computed.of(meta.uid, state));
  }

  #mustBeOpen(): void {
    if (this.#closed) throw new GcError('store-closed', `the log store ${this.#folder} was closed`);
  }

  /** @param what the log or folder that a failure is about */
  async #guarded<T>(what: string, work: () => Promise<T>): Promise<T> {
    this.#mustBeOpen();
    const running = work();
    this.#underWay.add(running);
    try {
      return await running;
    } catch (error) {
      throw asLogStoreError(error, what);
    } finally {
      this.#underWay.delete(running);
    }
  }

  async #change(uid: string, change: (meta: SessionMeta) => SessionMeta): Promise<SessionRow> {
    return this.#guarded(uid, () =>
      this.#log.locked(uid, async () => {
        const meta = await this.#log.lockedMeta(uid);
        if (!meta) throw new UnknownLogError(uid);
        const changed = change(meta);
        if (changed !== meta) await this.#log.saveMeta(changed);
        return this.#row(changed, await this.#log.lockedState(uid));
      }),
    );
  }
}
