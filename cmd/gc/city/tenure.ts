import { hostname } from 'node:os';
import type { FencedTenure } from '../../../internal/controller/tenure.ts';
import type { Clock } from '../../../internal/platform/clock.ts';
import { messageOf } from '../../../internal/platform/errors.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import type { Environment } from '../../../internal/platform/paths.ts';
import { LEASE_VARIABLE } from '../../../internal/runtime/k8s/lease/lease-variable.ts';

export interface HeldTenure extends FencedTenure {
  onLost(listener: (why: string) => void): void;
  release(): Promise<void>;
}

/** Waits for the lease that the environment names; `undefined` at once when it names none. @throws as `openLease` */
export async function takeTenure(
  clock: Clock,
  env: Environment,
  signal: AbortSignal,
  print: (line: string) => void,
): Promise<HeldTenure | undefined> {
  const name = env[LEASE_VARIABLE] ?? '';
  if (name === '') return undefined;
  const { openLease } = await import('../../../internal/runtime/k8s/lease/open-lease.ts');
  const lease = await openLease({
    env,
    hostName: hostname(),
    clock,
    ids: systemIds,
    signal,
    onWait: (why) => print(`Waiting: ${why}`),
  });
  print(`Lease ${name} is held (term ${lease.fence}).`);
  return {
    fence: lease.fence,
    held: () => lease.held(),
    onLost: (listener) => {
      const tell = () => listener(messageOf(lease.lost.reason));
      if (lease.lost.aborted) tell();
      else lease.lost.addEventListener('abort', tell, { once: true });
    },
    release: () => lease.release(),
  };
}
