import { readFileSync } from 'node:fs';
import { ensurePrivateDirFor, writeFileAtomicSync } from './atomic-file.ts';
import { isBusy, openLockFile, type SqliteDatabase } from './sqlite.ts';

/**
 * A lock that the kernel frees at once when its holder dies, however it dies: a small SQLite file held under
 * `BEGIN EXCLUSIVE`. Nothing in the holder may open that file otherwise: closing it would drop the lock.
 */
export interface LifetimeLock {
  readonly file: string;
  release(): void;
}

const held = new Set<string>();

/** Somebody who only looks whether the lock is held has it for an instant: a taker tries this often before it gives up. */
const TAKE_ATTEMPTS = 8;
const TAKE_PAUSE_MS = 15;

/** Takes the lock, or answers `undefined` when another process (or this one) has it. `holder` is written beside it for people. */
export function acquireLifetimeLock(
  file: string,
  holder: Readonly<Record<string, unknown>>,
): LifetimeLock | undefined {
  if (held.has(file)) return undefined;
  ensurePrivateDirFor(file);
  const db = takePatiently(file);
  if (!db) return undefined;
  held.add(file);
  writeFileAtomicSync(holderFile(file), `${JSON.stringify(holder)}\n`, 0o600, 'fleeting');
  return {
    file,
    release() {
      if (!held.delete(file)) return;
      db.exec('ROLLBACK');
      db.close();
    },
  };
}

/** Whether some process holds it now. */
export function isLockHeld(file: string): boolean {
  if (held.has(file)) return true;
  const db = takeExclusive(file, true);
  if (!db) return db === undefined;
  db.exec('ROLLBACK');
  db.close();
  return false;
}

/** What the last holder wrote about itself; meaningful only while the lock is held. */
export function readLockHolder(file: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(holderFile(file), 'utf8'));
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined; // never held, or removed by a person
  }
}

function takePatiently(file: string): SqliteDatabase | undefined {
  for (let attempt = 1; ; attempt += 1) {
    const db = takeExclusive(file);
    if (db) return db;
    if (attempt === TAKE_ATTEMPTS) return undefined;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TAKE_PAUSE_MS);
  }
}

const holderFile = (file: string): string => `${file}.holder`;

/** `undefined`: busy. `null`: there is no such file (only with `mustExist`). */
function takeExclusive(file: string, mustExist = false): SqliteDatabase | undefined | null {
  const db = openLockFile(file, mustExist);
  if (!db) return null;
  try {
    db.exec('BEGIN EXCLUSIVE');
    return db;
  } catch (error) {
    db.close();
    if (isBusy(error)) return undefined;
    throw error;
  }
}
