import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../../platform/fake-clock.ts';
import { seededIds } from '../../../platform/ids.ts';
import { KubeError } from '../api/kube-error.ts';
import { LEASE_DURATION_MS, RENEW_DEADLINE_MS, RETRY_MS } from './lease-decision.ts';
import { type HeldLease, takeLease } from './take-lease.ts';
import { conflict, MemoryLease } from './testing/memory-lease.ts';

function setUp() {
  const clock = new FakeClock();
  const api = new MemoryLease();
  const waits: string[] = [];
  const take = (identity: string, signal = new AbortController().signal) =>
    takeLease({
      api,
      label: 'gc/city',
      identity,
      clock,
      ids: seededIds(identity),
      signal,
      onWait: (why) => waits.push(`${identity}: ${why}`),
    });
  /** Moves the clock until it is held. */
  const taken = async (identity: string): Promise<HeldLease> => {
    let held: HeldLease | undefined;
    take(identity).then((lease) => {
      held = lease;
    });
    for (let moved = 0; moved < 60_000 && !held; moved += 500) await clock.advance(500);
    if (!held) throw new Error(`${identity} never gets the lease`);
    return held;
  };
  return { clock, api, waits, take, taken };
}

const reason = (lease: HeldLease) => (lease.lost.reason as Error).message;

describe('a lease', () => {
  it('is made where there is none, and kept', async () => {
    const { clock, api, taken } = setUp();
    const lease = await taken('a');
    expect([lease.held(), lease.fence]).toEqual([true, 0]);
    await clock.advance(10 * LEASE_DURATION_MS);
    expect([lease.held(), lease.lost.aborted, api.lease?.spec?.holderIdentity]).toEqual([true, false, 'a']);
    expect(api.lease?.spec?.renewTime).toMatch(/^2026-01-01T00:02:.*\.\d{6}Z$/);
  });

  it('has one holder: a second one waits for it to be given back, and gets a higher number', async () => {
    const { clock, api, waits, taken } = setUp();
    const first = await taken('a');
    let second: HeldLease | undefined;
    const waiting = taken('b').then((lease) => {
      second = lease;
    });
    await clock.advance(30_000);
    expect([second, waits]).toEqual([undefined, ['b: lease gc/city is held by a']]);
    await first.release();
    const released = clock.monotonic();
    await waiting;
    expect(clock.monotonic() - released).toBeLessThanOrEqual(RETRY_MS + 500);
    expect([first.held(), second?.held(), second?.fence]).toEqual([false, true, 1]);
    expect(api.lease?.spec?.holderIdentity).toBe('b');
  });

  it('of a holder that died is taken once it has lapsed, measured by the clock of who waits', async () => {
    const { clock, api, taken } = setUp();
    // Its clock is an hour ahead: that must not matter.
    api.write({
      holderIdentity: 'dead',
      leaseDurationSeconds: 15,
      renewTime: '2026-01-01T01:00:00.000000Z',
      leaseTransitions: 6,
    });
    const lease = await taken('b');
    expect(lease.fence).toBe(7);
    expect(clock.monotonic()).toBeGreaterThanOrEqual(LEASE_DURATION_MS);
    expect(clock.monotonic()).toBeLessThanOrEqual(LEASE_DURATION_MS + RETRY_MS + 500);
  });

  it('is not held one moment longer than its own deadline when the renewal hangs', async () => {
    const { clock, api, taken } = setUp();
    const first = await taken('a');
    await clock.advance(RETRY_MS);
    api.hangs = true;
    const renewed = clock.monotonic();
    while (first.held()) await clock.advance(100);
    expect(clock.monotonic() - renewed).toBeLessThanOrEqual(RENEW_DEADLINE_MS);
    await clock.advance(100);
    expect([first.lost.aborted, reason(first)]).toEqual([
      true,
      'lease gc/city could not be renewed for 10 s',
    ]);
    // The next holder comes later than that.
    api.hangs = false;
    const from = clock.monotonic();
    const second = await taken('b');
    expect(clock.monotonic() - from).toBeGreaterThan(0);
    expect([first.held(), second.held()]).toEqual([false, true]);
  });

  it('two never hold it at the same time, whatever hangs and fails', async () => {
    const { clock, api, take } = setUp();
    const ids = seededIds('faults');
    let holders: HeldLease[] = [];
    const names = ['a', 'b', 'c'];
    let epoch = 0;
    const enter = (name: string) => {
      epoch += 1;
      take(`${name}${epoch}`).then((lease) => {
        holders.push(lease);
        lease.lost.addEventListener('abort', () => {
          holders = holders.filter((other) => other !== lease);
          enter(name);
        });
      });
    };
    for (const name of names) enter(name);
    const fences: number[] = [];
    let kept = 0;
    for (let step = 0; step < 2_000; step += 1) {
      if (step % 50 === 0) api.hangs = ids.random() < 0.3;
      if (ids.random() < 0.05)
        api.failures.push(ids.random() < 0.5 ? conflict() : new KubeError('timeout', 'late'));
      await clock.advance(250);
      const now = holders.filter((lease) => lease.held());
      expect(now.length).toBeLessThanOrEqual(1);
      kept += now.length;
      const [holder] = now;
      if (holder && holder.fence !== fences.at(-1)) fences.push(holder.fence);
    }
    expect(kept).toBeGreaterThan(500);
    expect(fences.length).toBeGreaterThan(3);
    expect(fences).toEqual([...fences].sort((x, y) => x - y));
  });

  it('is in doubt after a machine has slept, until the cluster says that nobody took it', async () => {
    const { clock, taken } = setUp();
    const lease = await taken('a');
    clock.jumpWall(3_600_000);
    expect(lease.held()).toBe(false);
    await clock.advance(RETRY_MS);
    expect([lease.held(), lease.lost.aborted]).toEqual([true, false]);
  });

  it('is lost when another took it while the machine slept', async () => {
    const { clock, api, taken } = setUp();
    const lease = await taken('a');
    clock.jumpWall(3_600_000);
    api.write({ holderIdentity: 'b', leaseDurationSeconds: 15, renewTime: 'then', leaseTransitions: 1 });
    await clock.advance(RETRY_MS);
    expect([lease.held(), reason(lease)]).toEqual([false, 'lease gc/city is held by b now']);
  });

  it('is kept through a write that was refused, and through one whose answer was lost', async () => {
    const { clock, api, taken } = setUp();
    const lease = await taken('a');
    api.failures.push(conflict(), new KubeError('timeout', 'late'), new KubeError('unavailable', 'away'));
    await clock.advance(4 * RETRY_MS);
    expect([lease.held(), lease.lost.aborted]).toEqual([true, false]);
  });

  it('that was deleted and made anew is not taken for the same one', async () => {
    const { clock, api, taken } = setUp();
    api.write({ holderIdentity: '', leaseTransitions: 4 });
    const lease = await taken('a');
    expect(lease.fence).toBe(5);
    api.lease = undefined;
    await clock.advance(RETRY_MS);
    expect([lease.held(), reason(lease)]).toEqual([false, 'lease gc/city was lost in between']);
  });

  it('cannot be waited for where it is not allowed; a cluster that is away can', async () => {
    const { api, waits, take, taken } = setUp();
    api.failures.push(new KubeError('forbidden', 'we may not get leases'));
    await expect(take('a')).rejects.toMatchObject({ code: 'k8s-forbidden' });
    api.failures.push(new KubeError('unavailable', 'it is away'), new KubeError('unavailable', 'it is away'));
    await taken('b');
    expect(waits).toEqual(['b: it is away']);
  });

  it('the waiting ends with its signal', async () => {
    const { clock, api, take } = setUp();
    api.write({ holderIdentity: 'b', leaseDurationSeconds: 15, renewTime: 'then' });
    const given = new AbortController();
    const waiting = take('a', given.signal);
    await clock.advance(1);
    given.abort(new Error('given up'));
    await expect(waiting).rejects.toThrow('given up');
    expect(api.lease?.spec?.holderIdentity).toBe('b');
  });
});
