import { readBootId, readProcess } from './process-table.ts';

/** One life of one process: a pid alone may be somebody else's tomorrow. */
export interface ProcessIdentity {
  readonly bootId: string;
  readonly pid: number;
  readonly startTime: string;
}

let cachedBootId: string | undefined;

/** The running boot's id. */
export function bootId(): string {
  cachedBootId ??= readBootId();
  return cachedBootId;
}

/** Who has this pid now; `undefined` when nobody (a zombie is nobody). */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const entry = readProcess(pid);
  if (!entry || entry.state === 'Z') return undefined;
  return { bootId: bootId(), pid, startTime: entry.startTime };
}

/** The recorded process still lives: same boot, same pid, same start time, not a zombie. */
export function isSameProcess(recorded: ProcessIdentity): boolean {
  if (recorded.bootId !== bootId()) return false;
  return identityOf(recorded.pid)?.startTime === recorded.startTime;
}

/** Reads what `JSON.stringify(identity)` wrote; `undefined` for anything else. */
export function parseProcessIdentity(value: unknown): ProcessIdentity | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { bootId: boot, pid, startTime } = value as Record<string, unknown>;
  if (typeof boot !== 'string' || typeof startTime !== 'string' || !Number.isInteger(pid)) return undefined;
  return { bootId: boot, pid: Number(pid), startTime };
}
