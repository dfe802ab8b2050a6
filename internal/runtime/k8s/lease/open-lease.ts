import type { Clock } from '../../../platform/clock.ts';
import { GcError } from '../../../platform/errors.ts';
import type { Ids } from '../../../platform/ids.ts';
import type { Environment } from '../../../platform/paths.ts';
import { openClusterAccess } from '../api/cluster-access.ts';
import { clusterTargetOf } from '../api/cluster-target.ts';
import { resolveK8sSettings } from '../k8s-settings.ts';
import { leaseApi } from './lease-api.ts';
import { LEASE_VARIABLE } from './lease-variable.ts';
import { type HeldLease, takeLease } from './take-lease.ts';

const LEASE_NAME = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

export interface OpenLeaseOptions {
  readonly env: Environment;
  /** Of the machine or pod. */
  readonly hostName: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly signal: AbortSignal;
  readonly onWait: (why: string) => void;
}

/**
 * Waits for the lease that the environment names, in the namespace of `GC_K8S_NAMESPACE`.
 * @throws GcError `k8s-settings`, `k8s-no-config` ...; what `takeLease` throws
 */
export async function openLease(options: OpenLeaseOptions): Promise<HeldLease> {
  const { env, hostName, clock, ids, signal, onWait } = options;
  const name = env[LEASE_VARIABLE] ?? '';
  if (!LEASE_NAME.test(name)) {
    throw new GcError(
      'k8s-settings',
      `${LEASE_VARIABLE}: ${JSON.stringify(name)} cannot be the name of a lease`,
      {
        next: 'use small letters, digits, "-" and "."',
      },
    );
  }
  const { namespace, context } = resolveK8sSettings(env);
  const access = openClusterAccess(clusterTargetOf(env, context));
  try {
    const held = await takeLease({
      api: leaseApi(access, namespace, name),
      label: `${namespace}/${name}`,
      identity: `${hostName}_${ids.hex(6)}`,
      clock,
      ids,
      signal,
      onWait,
    });
    held.lost.addEventListener('abort', () => access.close(), { once: true });
    return {
      get fence() {
        return held.fence;
      },
      lost: held.lost,
      held: () => held.held(),
      release: async () => {
        await held.release();
        access.close();
      },
    };
  } catch (error) {
    access.close();
    throw error;
  }
}
