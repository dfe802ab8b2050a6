import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { lock } from 'proper-lockfile';
import type { Clock } from '../platform/clock.ts';
import { codeOf, GcError } from '../platform/errors.ts';
import type { Ids } from '../platform/ids.ts';

export interface LockedFile {
  /** Absolute; its folder exists. */
  readonly file: string;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Code of the error when another process holds it for too long. */
  readonly busyCode: string;
}

const LOCK_STALE_MS = 10_000;
const LOCK_RETRY_MS = 25;
const LOCK_RETRY_JITTER_MS = 50;
/** Longer than a dead holder's lock takes to go stale. */
const LOCK_TOTAL_MS = 30_000;
const OWNER_ONLY = 0o600;

/**
 * Changes a file of the user's own, a short edit under its lock; `change` may be asked again when somebody else was
 * faster. It is given `''` for a file that is not there; without a new text nothing is written.
 */
export async function editUnderLock<T>(
  place: LockedFile,
  change: (text: string) => { readonly text: string | undefined; readonly answer: T },
): Promise<T> {
  const { file, clock, ids } = place;
  const started = clock.monotonic();
  for (;;) {
    const held = await takeLock(place, started);
    try {
      const before = textOf(file);
      const { text, answer } = change(before);
      if (text === undefined || replaceIfUnchanged(file, before, text, ids, held)) return answer;
    } finally {
      await held.release();
    }
  }
}

interface HeldLock {
  /** The lock folder is the one we made: a lock that went stale can be taken twice. */
  isStillOurs(): boolean;
  release(): Promise<void>;
}

async function takeLock({ file, clock, ids, busyCode }: LockedFile, started: number): Promise<HeldLock> {
  // Not `.lock`: that name is a plain file where Gas City itself has run.
  const lockFile = `${file}.lock.d`;
  for (;;) {
    try {
      let compromised = false;
      const unlock = await lock(file, {
        lockfilePath: lockFile,
        realpath: false,
        stale: LOCK_STALE_MS,
        onCompromised: () => {
          compromised = true;
        },
      });
      const inode = inodeOf(lockFile);
      return {
        isStillOurs: () => !compromised && inode !== undefined && inodeOf(lockFile) === inode,
        async release() {
          // A lock that somebody took over is theirs to remove.
          if (!compromised && inodeOf(lockFile) === inode) await unlock();
        },
      };
    } catch (error) {
      if (codeOf(error) !== 'ELOCKED') throw error;
    }
    if (clock.monotonic() - started > LOCK_TOTAL_MS) {
      throw new GcError(busyCode, `${file} is being edited by another process`, {
        next: `try again; if no gc runs, remove ${lockFile}`,
      });
    }
    await clock.sleep(LOCK_RETRY_MS + ids.random() * LOCK_RETRY_JITTER_MS);
  }
}

/** The last look and the rename stand side by side: what another holder wrote in between is never lost. */
function replaceIfUnchanged(file: string, before: string, after: string, ids: Ids, held: HeldLock): boolean {
  const temporary = `${file}.${ids.hex(6)}.tmp`;
  try {
    writeWhole(temporary, after);
    if (!held.isStillOurs() || textOf(file) !== before) return false;
    renameSync(temporary, file);
    return true;
  } finally {
    rmSync(temporary, { force: true });
  }
}

function writeWhole(file: string, text: string): void {
  const fd = openSync(file, 'wx', OWNER_ONLY);
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return '';
    throw error;
  }
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}
