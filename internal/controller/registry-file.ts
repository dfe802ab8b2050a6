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
import { ensurePrivateDir } from '../platform/atomic-file.ts';
import type { Clock } from '../platform/clock.ts';
import { codeOf, GcError, messageOf } from '../platform/errors.ts';
import type { Ids } from '../platform/ids.ts';
import {
  type RegisteredCity,
  type RegisterOutcome,
  type Registry,
  readRegistry,
  register,
  registryFile,
  renderRegistry,
  resolveCityPath,
  unregister,
} from './registry.ts';

export interface RegistryPlace {
  /** The folder of `cities.toml`. */
  readonly home: string;
  readonly clock: Clock;
  readonly ids: Ids;
}

const LOCK_STALE_MS = 10_000;
const LOCK_RETRY_MS = 25;
const LOCK_RETRY_JITTER_MS = 50;
/** Longer than a dead holder's lock takes to go stale. */
const LOCK_TOTAL_MS = 30_000;
const OWNER_ONLY = 0o600;

/** Adds or renames a city in the registry. @throws GcError `registry-name-invalid`, `registry-name-taken`, `registry-busy`, `registry-invalid`, `registry-unwritable` */
export async function registerCity(place: RegistryPlace, city: RegisteredCity): Promise<RegisterOutcome> {
  const resolved = { path: resolveCityPath(city.path), name: city.name };
  return editRegistry(place, (registry) => {
    const { registry: next, outcome } = register(registry, resolved);
    return { next, answer: outcome };
  });
}

/** Takes a city out of the registry and answers what stood there; its folder need not exist any more. */
export async function unregisterCity(
  place: RegistryPlace,
  path: string,
): Promise<RegisteredCity | undefined> {
  const resolved = resolveCityPath(path);
  return editRegistry(place, (registry) => {
    const { registry: next, removed } = unregister(registry, resolved);
    return { next, answer: removed };
  });
}

/** Changes the file under its lock; the same registry again means that nothing changed. */
export async function editRegistry<T>(
  place: RegistryPlace,
  edit: (registry: Registry) => { next: Registry; answer: T },
): Promise<T> {
  const file = registryFile(place.home);
  const started = place.clock.monotonic();
  try {
    ensurePrivateDir(place.home);
    for (;;) {
      const held = await takeLock(file, place, started);
      try {
        const { registry, text } = readRegistry(place.home);
        const { next, answer } = edit(registry);
        if (next === registry) return answer;
        if (replaceIfUnchanged(file, text, renderRegistry(next), place.ids, held)) return answer;
      } finally {
        await held.release();
      }
    }
  } catch (error) {
    throw asRegistryError(error, file);
  }
}

interface HeldLock {
  /** The lock folder is the one we made: a lock that went stale can be taken twice. */
  isStillOurs(): boolean;
  release(): Promise<void>;
}

async function takeLock(file: string, { clock, ids }: RegistryPlace, started: number): Promise<HeldLock> {
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
      throw new GcError('registry-busy', `${file} is being edited by another process`, {
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

function asRegistryError(error: unknown, file: string): unknown {
  if (error instanceof GcError) return error;
  return new GcError('registry-unwritable', `cannot change ${file}: ${messageOf(error)}`, {
    cause: error,
    next: 'check the permissions of that folder and the space on its disk',
  });
}
