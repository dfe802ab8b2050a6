import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Agent, City } from '../config/city.ts';
import { setSuspended } from '../config/edit/edit-city.ts';
import { writeFileAtomic } from '../platform/atomic-file.ts';
import type { Clock } from '../platform/clock.ts';
import { GcError } from '../platform/errors.ts';
import { acquireLifetimeLock } from '../platform/lifetime-lock.ts';

const EDIT_LOCK_WAIT_MS = 5_000;
const EDIT_LOCK_POLL_MS = 50;
const NEW_FILE_MODE = 0o644;

/** Writes `suspended` where the agent is declared, and nothing else of the file. @throws EditError, GcError `config-locked` */
export async function suspendAgentInFile(
  place: { readonly gcDir: string; readonly clock: Clock },
  city: City,
  agent: Agent,
  suspended: boolean,
): Promise<void> {
  await setSuspended(city, { kind: 'agent', qualifiedName: agent.qualifiedName }, suspended, {
    withLock: (_file, work) => withEditLock(place, work),
    write: async (file, text) => writeFileAtomic(file, text, await modeOf(file)),
    remove: (file) => rm(file),
  });
}

async function withEditLock<T>(
  place: { readonly gcDir: string; readonly clock: Clock },
  work: () => Promise<T>,
): Promise<T> {
  const { gcDir, clock } = place;
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

async function modeOf(file: string): Promise<number> {
  try {
    return (await stat(file)).mode & 0o777;
  } catch {
    // A new file.
    return NEW_FILE_MODE;
  }
}
