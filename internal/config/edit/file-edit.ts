import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePrivateDir, writeFileAtomic } from '../../platform/atomic-file.ts';
import type { Clock } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import { acquireLifetimeLock } from '../../platform/lifetime-lock.ts';
import { readText } from '../document/read-source.ts';
import type { EditIo } from './edit-city.ts';
import { unreadable } from './edit-error.ts';

const EDIT_LOCK_WAIT_MS = 5_000;
const EDIT_LOCK_POLL_MS = 50;
const NEW_FILE_MODE = 0o644;

export interface EditPlace {
  /** `<city>/.gc`: holds the lock that all editors of this city's files take. */
  readonly gcDir: string;
  readonly clock: Clock;
}

/** Edits of the files of one city: one editor at a time, a file whole or not at all, its mode kept. */
export function fileEditIo(place: EditPlace): EditIo {
  return {
    withLock: (_file, work) => withEditLock(place, work),
    write: writeKeepingMode,
    remove: (file) => rm(file),
  };
}

/**
 * Replaces the text of a file, then runs `check`; the old bytes come back when it throws.
 * @throws EditError `config-unreadable`, GcError `config-locked`, what `change` and `check` throw
 */
export async function editFile<T>(
  place: EditPlace,
  file: string,
  change: (text: string) => Promise<string>,
  check: () => Promise<T>,
): Promise<T> {
  return withEditLock(place, async () => {
    const read = await readText(file);
    if (read.kind === 'unreadable') {
      throw unreadable(file, read.problems);
    }
    const before = await readFile(file);
    // The byte order mark is no part of the text, but stays.
    const mark = before.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf])) ? '\ufeff' : '';
    const after = Buffer.from(mark + (await change(read.text)));
    if (!after.equals(before)) await writeKeepingMode(file, after);
    try {
      return await check();
    } catch (error) {
      // What somebody wrote meanwhile is theirs.
      if ((await readFile(file)).equals(after)) await writeKeepingMode(file, before);
      throw error;
    }
  });
}

/** @throws GcError `config-locked` */
export async function withEditLock<T>({ gcDir, clock }: EditPlace, work: () => Promise<T>): Promise<T> {
  ensurePrivateDir(gcDir);
  const deadline = clock.monotonic() + EDIT_LOCK_WAIT_MS;
  for (;;) {
    const lock = acquireLifetimeLock(join(gcDir, 'config-edit.lock'), {});
    if (lock) {
      try {
        return await work();
      } finally {
        lock.release();
      }
    }
    if (clock.monotonic() > deadline) {
      throw new GcError('config-locked', 'another command is editing the config', {
        next: 'try again in a moment',
      });
    }
    await clock.sleep(EDIT_LOCK_POLL_MS);
  }
}

async function writeKeepingMode(file: string, content: string | Buffer): Promise<void> {
  await writeFileAtomic(file, content, await modeOf(file));
}

async function modeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).mode & 0o777;
  } catch {
    // A new file.
    return NEW_FILE_MODE;
  }
}
