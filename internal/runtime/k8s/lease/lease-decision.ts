import { type Lease, type LeaseSpec, microTime } from './lease-object.ts';

/** Others may take the lease when it was not renewed for this long. */
export const LEASE_DURATION_MS = 15_000;
/** The holder itself counts only this long after the last renewal was asked for: what it has begun by then may end. */
export const RENEW_DEADLINE_MS = 10_000;
/** Between two renewals, and between two looks of one who waits. */
export const RETRY_MS = 2_000;

/** A lease as it was last read, and since when it has been as it is, on the monotonic clock of who reads. */
export interface SeenLease {
  readonly lease: Lease;
  readonly since: number;
}

export type LeaseStep =
  | { readonly kind: 'create'; readonly spec: LeaseSpec }
  /** Nobody has it, or who has it lets it lapse. */
  | { readonly kind: 'take'; readonly spec: LeaseSpec }
  | { readonly kind: 'renew'; readonly spec: LeaseSpec }
  | { readonly kind: 'wait'; readonly ms: number; readonly holder: string };

/** Times that another machine wrote are never compared with a clock of this one: only whether they change counts. */
export function seeLease(before: SeenLease | undefined, lease: Lease, monotonic: number): SeenLease {
  const same =
    before !== undefined &&
    before.lease.spec?.holderIdentity === lease.spec?.holderIdentity &&
    before.lease.spec?.renewTime === lease.spec?.renewTime &&
    before.lease.spec?.leaseTransitions === lease.spec?.leaseTransitions;
  return { lease, since: same ? before.since : monotonic };
}

export function nextStep(
  seen: SeenLease | undefined,
  me: string,
  time: { readonly now: number; readonly monotonic: number },
): LeaseStep {
  const renewTime = microTime(time.now);
  const mine = {
    holderIdentity: me,
    leaseDurationSeconds: LEASE_DURATION_MS / 1_000,
    acquireTime: renewTime,
    renewTime,
  };
  if (!seen) return { kind: 'create', spec: { ...mine, leaseTransitions: 0 } };
  const found = seen.lease.spec ?? {};
  const holder = found.holderIdentity ?? '';
  const transitions = found.leaseTransitions ?? 0;
  if (holder === me) {
    const acquireTime = found.acquireTime ?? renewTime;
    return { kind: 'renew', spec: { ...mine, acquireTime, leaseTransitions: transitions } };
  }
  const durationMs = (found.leaseDurationSeconds ?? 0) * 1_000 || LEASE_DURATION_MS;
  const left = seen.since + durationMs - time.monotonic;
  if (holder !== '' && left > 0) return { kind: 'wait', ms: left, holder };
  return { kind: 'take', spec: { ...mine, leaseTransitions: transitions + 1 } };
}

/** What the holder leaves behind: nobody has to wait for it to lapse. */
export function releasedSpec(spec: LeaseSpec, now: number): LeaseSpec {
  return { ...spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: microTime(now) };
}
