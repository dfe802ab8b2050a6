import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../platform/clock.ts';
import { systemIds } from '../../../platform/ids.ts';
import { exportLog } from '../export.ts';
import { openJsonlStore } from '../jsonl/jsonl-store.ts';
import type { SessionLogStore } from '../session-log.ts';
import { openSessionLogStore } from '../sqlite/session-log-store.ts';
import type { RandomAppend } from './random-logs.ts';

/** Random logs in a store of each kind. */
export interface FilledStores {
  readonly folder: string;
  readonly database: string;
  /** Their names, in order. */
  readonly uids: readonly string[];
  /** Logs whose export from SQLite is not the record file, byte by byte. */
  readonly different: readonly string[];
}

export async function fillStores(
  dir: string,
  logs: readonly (readonly RandomAppend[])[],
): Promise<FilledStores> {
  const [folder, database] = [join(dir, 'jsonl'), join(dir, 'sessions.db')];
  const parts = { clock: systemClock, ids: systemIds };
  const stores = [await openJsonlStore({ folder, ...parts }), openSessionLogStore(database, parts)] as const;
  const uids: string[] = [];
  const different: string[] = [];
  try {
    for (const [index, log] of logs.entries()) {
      const uid = `sess-${index.toString(16).padStart(24, '0')}`;
      uids.push(uid);
      for (const store of stores) await appendAll(store, uid, log);
      const exported: string[] = [];
      await exportLog(stores[1], uid, (text) => void exported.push(text));
      if (exported.join('') !== readFileSync(join(folder, `${uid}.jsonl`), 'utf8')) different.push(uid);
    }
  } finally {
    for (const store of stores) await store.close();
  }
  return { folder, database, uids, different };
}

async function appendAll(store: SessionLogStore, uid: string, log: readonly RandomAppend[]): Promise<void> {
  for (const { events, newIncarnation } of log)
    await store.append(uid, events, { newIncarnation, durability: 'group' });
}
