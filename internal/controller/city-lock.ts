import { join } from 'node:path';
import { GcError } from '../platform/errors.ts';
import {
  acquireLifetimeLock,
  isLockHeld,
  type LifetimeLock,
  readLockHolder,
} from '../platform/lifetime-lock.ts';
import { identityOf } from '../platform/process-identity.ts';

const LOCK_FILE = 'controller.lock';

/** Who runs a city's controller, as its lock says. */
export interface ControllerHolder {
  readonly pid: number;
  readonly mode: 'standalone' | 'supervisor';
}

/**
 * Takes the city for one controller, until `release` or the death of this process, whichever comes first.
 * @throws GcError `controller-running`, naming the pid of the one that has it
 */
export function lockCity(gcDir: string, holder: ControllerHolder): LifetimeLock {
  const lock = acquireLifetimeLock(join(gcDir, LOCK_FILE), { ...holder, identity: identityOf(holder.pid) });
  if (lock) return lock;
  throw alreadyRunning(readHolder(gcDir));
}

/** The refusal of a second controller. */
export function alreadyRunning(other: ControllerHolder | undefined): GcError {
  const who = other ? `${describe(other.mode)}, pid ${other.pid}` : 'by another process';
  return new GcError('controller-running', `controller already running (${who})`, {
    next: 'gc status shows it; gc stop ends it together with its sessions',
  });
}

/** The living controller of a city, `undefined` when none lives. Its lock decides, not whether it answers. */
export function controllerOf(gcDir: string): ControllerHolder | undefined {
  if (!isLockHeld(join(gcDir, LOCK_FILE))) return undefined;
  return readHolder(gcDir) ?? { pid: 0, mode: 'standalone' };
}

function readHolder(gcDir: string): ControllerHolder | undefined {
  const holder = readLockHolder(join(gcDir, LOCK_FILE));
  if (!holder || !Number.isInteger(holder['pid'])) return undefined;
  return {
    pid: Number(holder['pid']),
    mode: holder['mode'] === 'supervisor' ? 'supervisor' : 'standalone',
  };
}

function describe(mode: ControllerHolder['mode']): string {
  return mode === 'supervisor' ? 'by the supervisor' : 'standalone';
}
