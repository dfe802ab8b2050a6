import { bytesText } from '../platform/bytes.ts';
import type { MachineState } from '../platform/machine.ts';

/** Metadata: a person wants it started whatever the machine says. Over with the next life. */
export const START_ANYWAY_KEY = 'start_anyway';

/** What has to stay free of the machine. All 0: no limits. */
export interface AdmissionLimits {
  /** Of the last minute's load, per core. */
  readonly maxLoadPerCore: number;
  /** Bytes. */
  readonly minFreeMemory: number;
  /** What one starting session is taken to need, bytes. */
  readonly memoryPerSession: number;
}

/** What the limits are compared with. */
export interface Room {
  readonly limits: AdmissionLimits;
  readonly machine: MachineState;
}

export type Admission =
  | { readonly kind: 'admitted' }
  /** `why`: `memory: 1.2 GB free of 16 GB, needs 2 GB`. */
  | { readonly kind: 'waits'; readonly resource: 'memory' | 'load'; readonly why: string };

/** Whether the detail of a session says that it waits for the machine. */
export const saysRoomWait = (detail: string | undefined): boolean =>
  /^waits for (memory|load):/.test(detail ?? '');

export const hasLimits = ({ maxLoadPerCore, minFreeMemory, memoryPerSession }: AdmissionLimits): boolean =>
  maxLoadPerCore > 0 || minFreeMemory > 0 || memoryPerSession > 0;

/**
 * Whether one more session may begin now. `starting` others have begun so recently that the machine does not show yet
 * what they will take. What runs is never asked.
 */
export function admit({ limits, machine }: Room, starting: number): Admission {
  const { freeMemory, totalMemory, load, cores } = machine;
  const needs = limits.minFreeMemory + limits.memoryPerSession * (starting + 1);
  if (needs > freeMemory && (limits.minFreeMemory > 0 || limits.memoryPerSession > 0)) {
    const others = starting > 0 && limits.memoryPerSession > 0 ? ` with ${starting} already starting` : '';
    const figures = `${bytesText(freeMemory)} free of ${bytesText(totalMemory)}, needs ${bytesText(needs)}${others}`;
    return { kind: 'waits', resource: 'memory', why: `memory: ${figures}` };
  }
  const perCore = load[0] / Math.max(1, cores);
  if (limits.maxLoadPerCore > 0 && perCore > limits.maxLoadPerCore) {
    const figures = `${perCore.toFixed(1)} per core on ${cores} cores, may be ${limits.maxLoadPerCore}`;
    return { kind: 'waits', resource: 'load', why: `load: ${figures}` };
  }
  return { kind: 'admitted' };
}
