import type { MachineState } from '../platform/machine.ts';

/** With less free memory than this share, or this much, sessions come up one at a time. */
const LOW_MEMORY_SHARE = 0.05;
const LOW_MEMORY_BYTES = 300 * 1024 * 1024;
/** So many waiting processes per core mean that one more at a time is enough. */
const HIGH_LOAD_PER_CORE = 16;

/** Whether the machine is short of memory or of processors. */
export function machineIsPressed({ freeMemory, totalMemory, load, cores }: MachineState): boolean {
  if (freeMemory < LOW_MEMORY_BYTES || freeMemory < totalMemory * LOW_MEMORY_SHARE) return true;
  return load[0] / cores > HIGH_LOAD_PER_CORE;
}
