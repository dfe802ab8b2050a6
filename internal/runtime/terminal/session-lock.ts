import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import { KeyedMutex } from '../../platform/keyed-mutex.ts';
import { acquireLifetimeLock, isLockHeld, type LifetimeLock } from '../../platform/lifetime-lock.ts';

/**
 * Runs `work` while nobody else, in this or another process, works on the same session's terminal: in arrival order
 * within a process. Rejects with `session-locked` after `timeoutMs` of waiting, or with the signal's reason.
 */
export type SessionLock = <T>(
  name: string,
  timeoutMs: number,
  work: () => Promise<T>,
  signal?: AbortSignal,
) => Promise<T>;

const RETRY_MS = 40;

/** Locks as files in `dir` (made 0700), freed by the kernel when their holder dies. */
export function fileSessionLock(dir: string, clock: Clock): SessionLock {
  const inProcess = new KeyedMutex();
  return async (name, timeoutMs, work, signal) => {
    const waiting = new AbortController();
    const timer = new AbortController();
    clock.sleep(timeoutMs, timer.signal).then(
      () => waiting.abort(lockedError(name, timeoutMs)),
      () => undefined, // the wait ended otherwise
    );
    const forward = () => waiting.abort(signal?.reason);
    if (signal?.aborted) forward();
    signal?.addEventListener('abort', forward, { once: true });
    const stopWaiting = () => {
      timer.abort();
      signal?.removeEventListener('abort', forward);
    };
    const holdFile = async () => {
      const held = await takeFile(fileOf(dir, name), name, clock, waiting.signal);
      stopWaiting();
      try {
        return await work();
      } finally {
        held.release();
      }
    };
    try {
      return await inProcess.run(name, holdFile, waiting.signal);
    } finally {
      stopWaiting();
    }
  };
}

/** Locks within this process only: for doubles and single-process use. */
export function localSessionLock(): SessionLock {
  const mutex = new KeyedMutex();
  return (name, _timeoutMs, work, signal) => mutex.run(name, work, signal);
}

async function takeFile(
  file: string,
  name: string,
  clock: Clock,
  waiting: AbortSignal,
): Promise<LifetimeLock> {
  for (;;) {
    waiting.throwIfAborted();
    const lock = isLockHeld(file)
      ? undefined
      : acquireLifetimeLock(file, { pid: process.pid, session: name });
    if (lock) return lock;
    await clock.sleep(RETRY_MS, waiting);
  }
}

function fileOf(dir: string, name: string): string {
  return join(dir, `${createHash('sha256').update(name).digest('hex').slice(0, 32)}.lock`);
}

function lockedError(name: string, timeoutMs: number): GcError {
  return new GcError(
    'session-locked',
    `another delivery to session "${name}" has not ended within ${timeoutMs / 1_000} s`,
    { next: `gc session peek ${name}` },
  );
}
