import type { Clock } from '../../platform/clock.ts';
import { GcError } from '../../platform/errors.ts';
import type { LifecycleFields } from '../../protocol/events.ts';
import type { HarnessDescriptor } from '../../protocol/generated/agentsessions/v1/harness_pb.ts';
import { describeHarness, needsMemory } from '../turn/describe-harness.ts';
import type { Harness } from '../turn/harness.ts';
import { refuseWhenInterrupted } from './error-table.ts';

/**
 * A harness that a session may be run by, in this process or behind an address. Neither kind keeps anything of a session:
 * what it was is in its log, so nothing is stored when it is suspended and nothing fetched when it goes on.
 * Source: agentsessions.v1 runtime contract, what is left of it without snapshots of memory.
 */
export interface Placement {
  readonly name: string;
  readonly source: 'static' | 'registered';
  readonly harness: Harness;
  /** What the harness must call itself; '' = anything. */
  readonly descriptorId: string;
  /** Registered as one that needs its memory back. */
  readonly needsMemory: boolean;
}

/** What the log keeps of a session that goes cold. */
export function snapshotOf(uid: string): LifecycleFields {
  return { snapshotLocal: uid };
}

/**
 * Asks the harness who it is and whether it can be run here. Nothing is written and nothing is started when it cannot.
 * @throws GcError `descriptor-mismatch` or `unplaceable`, and as `describe`
 */
export async function admit(
  placement: Placement,
  clock: Clock,
  signal: AbortSignal,
): Promise<HarnessDescriptor> {
  const descriptor = await describe(placement, clock, signal);
  const { name, descriptorId } = placement;
  if (descriptorId !== '' && descriptor.id !== descriptorId) {
    throw new GcError(
      'descriptor-mismatch',
      `harness ${JSON.stringify(name)} calls itself ${JSON.stringify(descriptor.id)}, not ${JSON.stringify(descriptorId)}`,
      { next: 'check which program answers at the address of that harness' },
    );
  }
  if (needsMemory(descriptor) || placement.needsMemory) {
    throw new GcError(
      'unplaceable',
      `harness ${JSON.stringify(name)} needs its memory back after a pause; no runtime here can give it`,
      { next: 'use a harness that goes on from its log' },
    );
  }
  return descriptor;
}

/**
 * What the harness says about itself; it has ten seconds.
 * @throws HarnessUnavailableError, ServiceError when the caller is gone, what the harness answers with
 */
export async function describe(
  { harness, name }: Placement,
  clock: Clock,
  signal: AbortSignal,
): Promise<HarnessDescriptor> {
  try {
    return await describeHarness({ harness, harnessName: name, clock }, signal);
  } catch (error) {
    refuseWhenInterrupted(signal);
    throw error;
  }
}
