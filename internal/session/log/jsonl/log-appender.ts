import type { EncodedEvent } from '../../../protocol/encode-event.ts';
import type { ChainedRecord } from '../../../protocol/hash-chain.ts';
import { SessionDeletedError, SourceReusedError } from '../errors.ts';
import type { TimedRecord } from '../follow.ts';
import type { AppendOptions } from '../session-log.ts';
import type { UniqueNanos } from '../unique-nanos.ts';
import { admitAppend, corrupt, headOf } from './append-rules.ts';
import type { LogFolder } from './log-folder.ts';
import type { LogState } from './log-state.ts';
import { chainEvents } from './new-records.ts';
import { decodeLine } from './record-line.ts';
import { newMeta } from './session-file.ts';

/** Appends to the logs of a folder. */
export class LogAppender {
  readonly #log: LogFolder;
  readonly #nanos: UniqueNanos;
  readonly #committed: (uid: string, records: readonly TimedRecord[]) => void;

  /** @param committed told of records once they are facts, in order */
  constructor(
    log: LogFolder,
    nanos: UniqueNanos,
    committed: (uid: string, records: readonly TimedRecord[]) => void,
  ) {
    this.#log = log;
    this.#nanos = nanos;
    this.#committed = committed;
  }

  async append(
    uid: string,
    events: readonly EncodedEvent[],
    options: AppendOptions,
  ): Promise<readonly ChainedRecord[]> {
    return this.#log.locked(uid, async () => {
      const state = await this.#log.lockedState(uid);
      const { source } = options;
      const before = source === undefined ? undefined : await this.#repeated(uid, state, source, events);
      return before ?? this.#append(uid, state, events, options);
    });
  }

  async #append(
    uid: string,
    state: LogState,
    events: readonly EncodedEvent[],
    options: AppendOptions,
  ): Promise<readonly ChainedRecord[]> {
    const { source, durability = 'full' } = options;
    const meta = await this.#log.lockedMeta(uid);
    if (meta?.deletedAt !== undefined) throw new SessionDeletedError(uid);
    if (state.damage) throw corrupt(uid, state.damage);
    const head = headOf(meta, state);
    const fence = admitAppend(uid, head, options);
    const minted = events.length === 0 && fence > head.fence;
    if (!meta || minted) {
      const kept = meta ?? newMeta({ uid, project: '' }, this.#nanos.next());
      await this.#log.saveMeta({ ...kept, ...(minted ? { fence } : {}) });
    }
    if (events.length === 0) return [];
    const { records, lines } = chainEvents(events, head, fence);
    const note = {
      from: head.seq + 1,
      to: head.seq + records.length,
      at: this.#nanos.next(),
      ...(source === undefined ? {} : { source }),
      ...(records.length > 1 ? { batch: records[0]?.contentHash ?? '' } : {}),
    };
    await this.#log.write(uid, state, lines, note, durability);
    const recordedAt = state.times.recordedAt(note.from);
    this.#committed(
      uid,
      records.map((record) => ({ record, recordedAt })),
    );
    return records;
  }

  /** The records that came from the source before. @throws SourceReusedError when they are others than these */
  async #repeated(
    uid: string,
    state: LogState,
    source: string,
    events: readonly EncodedEvent[],
  ): Promise<readonly ChainedRecord[] | undefined> {
    const note = state.times.ofSource(source);
    if (!note) return undefined;
    const stored = (await this.#log.lines(uid, state, note.from, note.to)).map(decodeLine);
    const before = { seq: note.from - 1, hash: stored[0]?.prevHash ?? '' };
    const again = chainEvents(events, before, 1).records;
    const same =
      again.length === stored.length &&
      again.every(({ contentHash }, index) => contentHash === stored[index]?.contentHash);
    if (!same) throw new SourceReusedError(uid, source);
    return stored;
  }
}
