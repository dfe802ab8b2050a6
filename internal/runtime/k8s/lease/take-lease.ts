import type { Clock } from '../../../platform/clock.ts';
import { GcError, messageOf } from '../../../platform/errors.ts';
import type { Ids } from '../../../platform/ids.ts';
import { KubeError } from '../api/kube-error.ts';
import type { LeaseApi } from './lease-api.ts';
import {
  nextStep,
  RENEW_DEADLINE_MS,
  RETRY_MS,
  releasedSpec,
  type SeenLease,
  seeLease,
} from './lease-decision.ts';
import type { Lease } from './lease-object.ts';

/** Each wait is up to this much shorter, so that two that wait do not ask in step. */
const JITTER = 0.3;
const RELEASE_TRIES = 3;

export interface TakeLeaseOptions {
  readonly api: LeaseApi;
  /** `namespace/name`, for people. */
  readonly label: string;
  /** No other process, not even the same one after a restart, has it. */
  readonly identity: string;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Ends the waiting. */
  readonly signal: AbortSignal;
  /** Told once for each reason why it waits. */
  readonly onWait: (why: string) => void;
}

/** A lease in our hands, renewed until it is released or lost. */
export interface HeldLease {
  /** Grows with every change of holder: of two that believe to hold it, the higher one is right. */
  readonly fence: number;
  /** Whether it is ours at this moment, by our own clocks. */
  held(): boolean;
  /** Aborts, with a GcError `lease-lost`, when it is not ours any more. */
  readonly lost: AbortSignal;
  /** Gives it back, when it is still ours. */
  release(): Promise<void>;
}

/**
 * Waits for a lease and keeps it. A cluster that does not answer is waited for too.
 * @throws KubeError `k8s-forbidden`, `k8s-namespace-missing`, which waiting does not mend; the signal's reason
 */
export async function takeLease(options: TakeLeaseOptions): Promise<HeldLease> {
  const { clock, signal, onWait } = options;
  const keeper = new LeaseKeeper(options);
  let told = '';
  const tell = (why: string) => {
    if (why !== told) onWait(why);
    told = why;
  };
  for (;;) {
    signal.throwIfAborted();
    let pause = RETRY_MS;
    try {
      const step = await keeper.attempt(signal);
      if (step.kind === 'held') return keeper.begin();
      pause = Math.min(pause, step.ms);
      if (step.holder !== '') tell(`lease ${options.label} is held by ${step.holder}`);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof KubeError) || HOPELESS.has(error.kind)) throw error;
      tell(messageOf(error));
    }
    await clock.sleep(jittered(pause, options.ids), signal);
  }
}

const HOPELESS: ReadonlySet<KubeError['kind']> = new Set(['forbidden', 'namespace-missing', 'invalid']);

type Attempt =
  | { readonly kind: 'held' }
  | { readonly kind: 'wait'; readonly ms: number; readonly holder: string };

class LeaseKeeper implements HeldLease {
  readonly #options: TakeLeaseOptions;
  readonly #lost = new AbortController();
  readonly #over = new AbortController();
  #seen: SeenLease | undefined;
  /** When the last renewal that succeeded was asked for, on both clocks; the monotonic one stands still while a machine sleeps. */
  #renewed = { monotonic: Number.NEGATIVE_INFINITY, now: 0 };

  constructor(options: TakeLeaseOptions) {
    this.#options = options;
  }

  get fence(): number {
    return this.#seen?.lease.spec?.leaseTransitions ?? 0;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  held(): boolean {
    const { clock } = this.#options;
    if (this.#over.signal.aborted) return false;
    const lived = clock.monotonic() - this.#renewed.monotonic;
    return lived < RENEW_DEADLINE_MS && clock.now() - this.#renewed.now < RENEW_DEADLINE_MS;
  }

  begin(): this {
    this.#renew().catch(() => undefined); // over
    this.#watchDeadline().catch(() => undefined); // over
    return this;
  }

  /** One look and, where it may be, one write. */
  async attempt(signal: AbortSignal): Promise<Attempt> {
    const { api, clock, identity } = this.#options;
    const found = await api.read(signal);
    this.#seen = found && seeLease(this.#seen, found, clock.monotonic());
    const time = { monotonic: clock.monotonic(), now: clock.now() };
    const step = nextStep(this.#seen, identity, time);
    if (step.kind === 'wait') return step;
    try {
      const written =
        this.#seen && step.kind !== 'create'
          ? await api.replace(this.#seen.lease, step.spec, signal)
          : await api.create(step.spec, signal);
      this.#keep(written, time);
      return { kind: 'held' };
    } catch (error) {
      // Somebody else was quicker: what it is now is read with the next look.
      if (error instanceof KubeError && error.kind === 'conflict')
        return { kind: 'wait', ms: RETRY_MS, holder: '' };
      throw error;
    }
  }

  async release(): Promise<void> {
    const mine = this.held();
    this.#over.abort();
    if (!mine) return;
    // It lapses by itself when this does not come through.
    for (let tries = 0; tries < RELEASE_TRIES; tries += 1) {
      if (await this.#letGo().catch(() => false)) return;
    }
  }

  /** A renewal may have been under way: what is there now is read first. Answers whether it is not ours any more. */
  async #letGo(): Promise<boolean> {
    const { api, clock, identity } = this.#options;
    const { signal } = new AbortController();
    const found = await api.read(signal);
    if (found?.spec?.holderIdentity !== identity) return true;
    await api.replace(found, releasedSpec(found.spec, clock.now()), signal);
    return true;
  }

  #keep(lease: Lease, asked: { readonly monotonic: number; readonly now: number }): void {
    this.#seen = seeLease(undefined, lease, asked.monotonic);
    this.#renewed = asked;
  }

  async #renew(): Promise<void> {
    const { clock, ids, label } = this.#options;
    const { signal } = this.#over;
    const fence = this.fence;
    for (;;) {
      await clock.sleep(jittered(RETRY_MS, ids), signal);
      try {
        const step = await this.attempt(signal);
        if (step.kind === 'wait' && step.holder !== '')
          this.#lose(`lease ${label} is held by ${step.holder} now`);
        // Deleted, or lapsed and taken by nobody else: others may have acted under a number between.
        if (step.kind === 'held' && this.fence !== fence) this.#lose(`lease ${label} was lost in between`);
      } catch {
        signal.throwIfAborted(); // the deadline decides
      }
    }
  }

  /** On its own, as a renewal may hang. */
  async #watchDeadline(): Promise<void> {
    const { clock, label } = this.#options;
    for (;;) {
      const left = this.#renewed.monotonic + RENEW_DEADLINE_MS - clock.monotonic();
      if (left <= 0) {
        this.#lose(`lease ${label} could not be renewed for ${RENEW_DEADLINE_MS / 1_000} s`);
        return;
      }
      await clock.sleep(left, this.#over.signal);
    }
  }

  #lose(why: string): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    this.#lost.abort(new GcError('lease-lost', why));
  }
}

const jittered = (ms: number, ids: Ids): number => ms * (1 - JITTER * ids.random());
