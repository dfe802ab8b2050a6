import { readFileSync } from 'node:fs';
import { readProcesses } from '../../platform/process-table.ts';

/** Other processes may start between two reads of the counters. */
const FORK_MARGIN = 500;

/** How many processes and threads were ever started on this machine since boot; `undefined` where it is not counted. */
export function countForks(): number | undefined {
  const found = /^processes (\d+)$/m.exec(readText('/proc/stat') ?? '');
  return found ? Number(found[1]) : undefined;
}

/**
 * Whether no process number can have been given out twice since `forksThen` was counted: numbers are handed out in a
 * circle, so a second use needs at least a whole round of starts. Unknown counts as `false`.
 */
export function numbersNotReused(forksThen: number | undefined): boolean {
  const forksNow = countForks();
  const circle = Number(readText('/proc/sys/kernel/pid_max') ?? Number.NaN);
  if (forksThen === undefined || forksNow === undefined || !Number.isFinite(circle)) return false;
  return forksNow - forksThen < circle - FORK_MARGIN;
}

/** A variable in the environment that a process was started with; `undefined` when unset or unreadable. */
export function startedWith(pid: number, variable: string): string | undefined {
  const entries = readText(`/proc/${pid}/environ`)?.split('\0') ?? [];
  const prefix = `${variable}=`;
  return entries.find((entry) => entry.startsWith(prefix))?.slice(prefix.length);
}

/** Leaders of a session of their own that were started with this value. */
export function leadersStartedWith(variable: string, value: string): readonly number[] {
  return readProcesses()
    .filter((entry) => entry.sid === entry.pid && startedWith(entry.pid, variable) === value)
    .map((entry) => entry.pid);
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // no such counter on this platform, the process is gone, or it is somebody else's
  }
}
