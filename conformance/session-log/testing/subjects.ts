import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../internal/platform/clock.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import { openDatabase } from '../../../internal/platform/sqlite.ts';
import type { SessionLogStore } from '../../../internal/session/log/session-log.ts';
import { openSessionLogStore } from '../../../internal/session/log/sqlite/session-log-store.ts';
import type { LogSubject } from '../case.ts';

export interface OpenSubject {
  readonly subject: LogSubject;
  close(): Promise<void>;
}

/** A fresh SQLite store in a folder of its own. */
export async function sqliteSubject(): Promise<OpenSubject> {
  const dir = mkdtempSync(join(tmpdir(), 'gc-log-'));
  const file = join(dir, 'sessions.db');
  let failing = false;
  const onStep = () => {
    if (!failing) return;
    failing = false;
    throw new GcError('store-full', 'no space left, says the test');
  };
  const parts = { clock: systemClock, ids: systemIds };
  const store = openSessionLogStore(file, { ...parts, onStep });
  const opened: SessionLogStore[] = [store];
  const open = () => {
    const another = openSessionLogStore(file, parts);
    opened.push(another);
    return another;
  };
  return {
    subject: {
      store,
      second: open(),
      reopen: async () => {
        await store.close();
        return open();
      },
      damage: async (uid, seq, how) => {
        const db = openDatabase(file, { migrations: ['', ''] });
        const bytes = db
          .prepare('SELECT event FROM events WHERE session = ? AND seq = ?')
          .pluck()
          .get(uid, seq);
        const changed = Buffer.from(bytes as Uint8Array);
        changed[changed.length - 1] = (changed.at(-1) ?? 0) ^ 1;
        const stored = how === 'flipped' ? changed : Buffer.from([0xff, 0xff, 0xff]);
        db.prepare('UPDATE events SET event = ? WHERE session = ? AND seq = ?').run(stored, uid, seq);
        db.close();
      },
      failNextWrite: () => {
        failing = true;
      },
      followers: () => store.followers,
    },
    close: async () => {
      for (const one of opened) await one.close();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
