import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import type { LogSubject } from '../../../../conformance/session-log/case.ts';
import { SESSION_LOG_CASES } from '../../../../conformance/session-log/suite.ts';
import { systemClock } from '../../../platform/clock.ts';
import { systemIds } from '../../../platform/ids.ts';
import { FailingFiles } from '../testing/failing-files.ts';
import { diskFiles } from './files.ts';
import { type JsonlSessionLogStore, openJsonlStore } from './jsonl-store.ts';
import { logPaths } from './log-paths.ts';

/** A fresh store in a folder of its own. */
async function jsonlSubject(): Promise<{ subject: LogSubject; close: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'gc-jsonl-'));
  const failing = new FailingFiles(diskFiles);
  const opened: JsonlSessionLogStore[] = [];
  const open = async (files = diskFiles) => {
    const store = await openJsonlStore({ folder, clock: systemClock, ids: systemIds, files });
    opened.push(store);
    return store;
  };
  const store = await open(failing.files);
  return {
    subject: {
      store,
      second: await open(),
      reopen: async () => {
        await store.close();
        return open();
      },
      damage: async (uid, seq, how) => {
        const { records } = logPaths(folder, uid);
        const lines = readFileSync(records, 'utf8').split('\n');
        const line = lines[seq - 1] ?? '';
        lines[seq - 1] =
          how === 'flipped' ? line.replace('record', 'recore') : line.replace('record', '"record');
        writeFileSync(records, lines.join('\n'));
      },
      failNextWrite: () => failing.failNext('file.write'),
      followers: () => store.followers,
    },
    close: async () => {
      for (const one of opened) await one.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

describe('session log as JSON lines', () => {
  for (const { name, run } of SESSION_LOG_CASES) {
    it(name, async () => {
      const { subject, close } = await jsonlSubject();
      try {
        await run(subject);
      } finally {
        await close();
      }
    });
  }
});
