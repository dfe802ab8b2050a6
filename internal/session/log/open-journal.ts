import { join } from 'node:path';
import type { Clock } from '../../platform/clock.ts';
import type { Ids } from '../../platform/ids.ts';
import { BlobStore, blobFolderOf } from './blobs/blob-store.ts';
import type { HarnessTable } from './harness-table.ts';
import type { JournalPlace } from './journal-place.ts';
import { FixedHarnessTable } from './jsonl/fixed-harness-table.ts';
import { type JsonlSessionLogStore, openJsonlStore } from './jsonl/jsonl-store.ts';
import type { LogRepair } from './jsonl/log-state.ts';
import { openSessionLogStore, type SqliteSessionLogStore } from './sqlite/session-log-store.ts';

/** Logs and what belongs to them, wherever they are. */
export type Journal = {
  readonly path: string;
  /** Beside a database; inside a folder. */
  readonly blobs: BlobStore;
  readonly harnesses: HarnessTable;
} & (
  | { readonly kind: 'database'; readonly store: SqliteSessionLogStore }
  | { readonly kind: 'folder'; readonly store: JsonlSessionLogStore }
);

export interface OpenJournalOptions {
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'random'>;
  /** The user whom a folder and its files have to belong to; absent: it is not looked at. */
  readonly owner?: number | undefined;
  /** Hears of what an interrupted append had left in a folder and was cut off. */
  readonly onRepair?: (repair: LogRepair) => void;
}

/** Opens what is there, or makes it. @throws GcError of the stores */
export async function openJournal(
  { kind, path }: JournalPlace,
  { clock, ids, owner, onRepair }: OpenJournalOptions,
): Promise<Journal> {
  if (kind === 'database') {
    const store = openSessionLogStore(path, { clock, ids });
    return { kind, path, store, harnesses: store.harnesses, blobs: new BlobStore(blobFolderOf(path), clock) };
  }
  const store = await openJsonlStore({
    folder: path,
    clock,
    ids,
    ...(owner === undefined ? {} : { owner }),
    ...(onRepair ? { onRepair } : {}),
  });
  return {
    kind,
    path,
    store,
    harnesses: new FixedHarnessTable(path, clock),
    blobs: new BlobStore(join(path, 'blobs'), clock),
  };
}
