import { GcError } from '../../../platform/errors.ts';
import type { EncodedEvent } from '../../../protocol/encode-event.ts';
import type { ForkChild } from '../session-log.ts';
import { encodeNote } from './append-times.ts';
import { type LogFile, type LogFiles, unfinished, withFile, writeNew } from './files.ts';
import type { LogFolder } from './log-folder.ts';
import type { LogState } from './log-state.ts';
import { chainEvents } from './new-records.ts';
import { claimOf, lineOf } from './record-line.ts';
import { encodeMeta, type SessionMeta } from './session-file.ts';

export interface ForkWork {
  readonly files: LogFiles;
  readonly log: LogFolder;
  readonly folder: string;
  readonly parent: SessionMeta;
  readonly parentState: LogState;
  readonly atSeq: number;
  readonly marker: EncodedEvent;
  /** Nanoseconds since the epoch. */
  readonly now: bigint;
}

/** A child begins its own count of incarnations. Source: agentsessions.v1, a fork appends the prefix anew. */
const FIRST_FENCE = 1;
/** Copied at once; between steps others have their turn. */
const STEP_RECORDS = 256;

/**
 * Makes a child with the parent's records up to `atSeq` and the marker. The caller holds the child's lock. The child is there
 * once its session file has its name, which comes last; what an earlier, interrupted try left is written over.
 */
export async function forkChild(work: ForkWork, child: ForkChild): Promise<void> {
  const { files, folder, log, parent, atSeq, now } = work;
  const paths = log.paths(child.uid);
  const meta: SessionMeta = {
    ...parent,
    uid: child.uid,
    name: child.name,
    labels: child.labels,
    identity: '',
    parentUid: parent.uid,
    forkSeq: atSeq,
    createdAt: now,
    updatedAt: now,
    fence: FIRST_FENCE,
    deletedAt: undefined,
  };
  await writeNew(files, paths.fork, encodeMeta(meta));
  await writeNew(files, paths.times, notesOfChild(work));
  await withFile(files, unfinished(paths.records), true, (file) => copyInto(file, work));
  await files.rename(unfinished(paths.records), paths.records);
  await files.rename(paths.fork, paths.session);
  await files.syncFolder(folder);
}

/** The shared records keep their times; sources are the parent's. */
function notesOfChild({ parentState, atSeq, now }: ForkWork): string {
  const shared = parentState.times.until(atSeq).map(encodeNote);
  return shared.join('') + encodeNote({ from: atSeq + 1, to: atSeq + 1, at: now });
}

async function copyInto(file: LogFile, work: ForkWork): Promise<void> {
  const { log, parent, parentState, atSeq, marker } = work;
  let position = 0;
  let hash = '';
  await file.truncate(0);
  for (let from = 1; from <= atSeq; from += STEP_RECORDS) {
    const to = Math.min(atSeq, from + STEP_RECORDS - 1);
    const lines = await log.lines(parent.uid, parentState, from, to);
    const copied = Buffer.concat(lines.map(withFirstFence));
    await file.write(copied, position);
    position += copied.length;
    hash = claimOf(lines.at(-1) ?? copied)?.contentHash ?? '';
  }
  const { lines } = chainEvents([marker], { seq: atSeq, hash }, FIRST_FENCE);
  await file.write(Buffer.from(lines.text), position);
  await file.sync();
}

/** The line of the same record in the child's first incarnation; a fence is no part of the hash. */
function withFirstFence(line: Buffer): Buffer {
  const claim = claimOf(line);
  if (!claim) throw new GcError('log-changed', 'the parent was changed while it was copied');
  const event = line.toString('utf8', claim.eventStart, claim.eventEnd);
  return Buffer.from(lineOf({ ...claim, fence: FIRST_FENCE }, event));
}
