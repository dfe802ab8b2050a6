import { readFileSync } from 'node:fs';
import { availableParallelism, freemem, hostname, loadavg, totalmem } from 'node:os';

/** The machine at one moment. */
export interface MachineState {
  /** What could be had without swapping, bytes. */
  readonly freeMemory: number;
  readonly totalMemory: number;
  /** Processes that ran or waited to, on average over the last 1, 5 and 15 minutes. */
  readonly load: readonly [number, number, number];
  readonly cores: number;
}

export function readMachine(): MachineState {
  const [one = 0, five = 0, fifteen = 0] = loadavg();
  return {
    freeMemory: availableMemory(),
    totalMemory: totalmem(),
    load: [one, five, fifteen],
    cores: availableParallelism(),
  };
}

/** Plain free memory where the system does not tell what is available. */
function availableMemory(): number {
  try {
    const kib = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1];
    return kib === undefined ? freemem() : Number(kib) * 1024;
  } catch {
    // No such file on this system.
    return freemem();
  }
}

/** Made once for an installation. Absent or empty in containers and on other systems than Linux. */
const MACHINE_ID_FILES = ['/etc/machine-id', '/var/lib/dbus/machine-id'];

/**
 * The same on this machine from boot to boot, another one elsewhere: its machine id, else its host name. Only hashes of it
 * belong into what others can read.
 */
export function machineIdentity(files: readonly string[] = MACHINE_ID_FILES): string {
  const ids = files.map(readMachineId).filter((id) => id !== undefined);
  return ids[0] ?? hostname();
}

function readMachineId(file: string): string | undefined {
  try {
    return /^[0-9a-f]{32}$/.exec(readFileSync(file, 'utf8').trim())?.[0];
  } catch {
    return undefined; // it has none there
  }
}
