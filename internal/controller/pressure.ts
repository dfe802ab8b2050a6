import { readFileSync } from 'node:fs';
import { availableParallelism, freemem, loadavg, totalmem } from 'node:os';

/** With less free memory than this share, or this much, sessions come up one at a time. */
const LOW_MEMORY_SHARE = 0.05;
const LOW_MEMORY_BYTES = 300 * 1024 * 1024;
/** So many waiting processes per core mean that one more at a time is enough. */
const HIGH_LOAD_PER_CORE = 16;

/** Whether the machine is short of memory or of processors now. */
export function machineIsPressed(): boolean {
  const available = availableMemory();
  if (available < LOW_MEMORY_BYTES || available < totalmem() * LOW_MEMORY_SHARE) return true;
  const [lastMinute = 0] = loadavg();
  return lastMinute / availableParallelism() > HIGH_LOAD_PER_CORE;
}

/** What could be had without swapping; plain free memory where the system does not tell that. */
function availableMemory(): number {
  try {
    const kib = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1];
    return kib === undefined ? freemem() : Number(kib) * 1024;
  } catch {
    // No such file on this system.
    return freemem();
  }
}
