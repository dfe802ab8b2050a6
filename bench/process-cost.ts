import { readFileSync } from 'node:fs';
import { readProcesses } from '../internal/platform/process-table.ts';

/** Clock ticks per second of `/proc/<pid>/stat`; 100 on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;

/** CPU seconds that a process has used. */
export function cpuSeconds(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Bytes that a process has caused to be written. */
export function bytesWritten(pid: number): number {
  return Number(/^write_bytes: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0);
}

/** Proportional set size in bytes: memory that would be freed with the process, shared pages counted by share. */
export function proportionalMemory(pid: number): number {
  return (
    Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) * 1_024
  );
}

export function childrenOf(pid: number): readonly number[] {
  return readProcesses()
    .filter((e) => e.ppid === pid && e.state !== 'Z')
    .map((e) => e.pid);
}
