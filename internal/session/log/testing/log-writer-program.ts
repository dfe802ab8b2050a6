import { writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../../platform/clock.ts';
import { codeOf, messageOf } from '../../../platform/errors.ts';
import { systemIds } from '../../../platform/ids.ts';
import { input, textMessage } from '../../../protocol/events.ts';
import { openJsonlStore } from '../jsonl/jsonl-store.ts';
import type { Durability, SessionLogStore } from '../session-log.ts';
import { openSessionLogStore } from '../sqlite/session-log-store.ts';

export type LogBackend = 'sqlite' | 'jsonl';

/** What a writer process is to do. */
export interface WriterOrder {
  readonly backend: LogBackend;
  /** The database, or the folder of the files. */
  readonly path: string;
  readonly uid: string;
  /** Begins every text that it appends. */
  readonly name: string;
  readonly appends: number;
  /** Looks where the log stands and expects just that, again and again until it wins. */
  readonly cas: boolean;
  readonly durability: Durability;
  /** Between two appends, milliseconds. */
  readonly pauseMs: number;
}

/** What a writer says on a line of its own, once it is true. */
export type WriterLine =
  | { readonly kind: 'ready' }
  /** The record `text` has the number `seq`; it took `ms`. */
  | { readonly kind: 'appended'; readonly seq: number; readonly text: string; readonly ms: number }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string };

export async function openLogs(backend: LogBackend, path: string): Promise<SessionLogStore> {
  const parts = { clock: systemClock, ids: systemIds };
  return backend === 'sqlite'
    ? openSessionLogStore(path, parts)
    : await openJsonlStore({ folder: path, ...parts });
}

/** The program of a writer process. Each line is out before the next append begins. */
export async function runLogWriter(order: WriterOrder): Promise<void> {
  const say = (line: WriterLine) => writeSync(1, `${JSON.stringify(line)}\n`);
  try {
    const store = await openLogs(order.backend, order.path);
    say({ kind: 'ready' });
    for (let n = 1; n <= order.appends; n += 1) {
      const text = `${order.name}/${n}/${Date.now()}`;
      const began = performance.now();
      const seq = await appendOne(store, order, text);
      say({ kind: 'appended', seq, text, ms: performance.now() - began });
      if (order.pauseMs > 0) await delay(order.pauseMs);
    }
    await store.close();
  } catch (error) {
    say({ kind: 'failed', code: codeOf(error) ?? '', message: messageOf(error) });
    process.exitCode = 1;
  }
}

async function appendOne(store: SessionLogStore, order: WriterOrder, text: string): Promise<number> {
  const { uid, cas, durability } = order;
  for (;;) {
    const expected = cas ? { expected: (await store.head(uid)).seq } : {};
    try {
      const [record] = await store.append(uid, [input('', textMessage('user', text))], {
        durability,
        ...expected,
      });
      return record?.seq ?? 0;
    } catch (error) {
      if (!cas || codeOf(error) !== 'log-conflict') throw error;
    }
  }
}
