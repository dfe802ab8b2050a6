import { KubeError } from '../../api/kube-error.ts';
import type { LeaseApi } from '../lease-api.ts';
import type { Lease, LeaseSpec } from '../lease-object.ts';

/** One lease as a cluster keeps it: a write of another version than the present one is a conflict. */
export class MemoryLease implements LeaseApi {
  lease: Lease | undefined;
  #hangs = false;
  readonly #hanging = new Set<() => void>();
  /** What the next calls fail with. */
  readonly failures: KubeError[] = [];
  writes = 0;
  #version = 0;

  /** Calls neither succeed nor fail until this is false again; then they have come too late. The signal still ends them. */
  set hangs(hangs: boolean) {
    this.#hangs = hangs;
    if (hangs) return;
    for (const late of this.#hanging) late();
    this.#hanging.clear();
  }

  async read(signal: AbortSignal): Promise<Lease | undefined> {
    await this.#answer(signal);
    return this.lease;
  }

  async create(spec: LeaseSpec, signal: AbortSignal): Promise<Lease> {
    await this.#answer(signal);
    if (this.lease) throw conflict();
    return this.write(spec);
  }

  async replace(lease: Lease, spec: LeaseSpec, signal: AbortSignal): Promise<Lease> {
    await this.#answer(signal);
    if (this.lease?.metadata.resourceVersion !== lease.metadata.resourceVersion) throw conflict();
    return this.write(spec);
  }

  /** As somebody else would. */
  write(spec: LeaseSpec): Lease {
    this.writes += 1;
    this.#version += 1;
    this.lease = { metadata: { name: 'city', resourceVersion: String(this.#version) }, spec };
    return this.lease;
  }

  #answer(signal: AbortSignal): Promise<void> {
    const failure = this.failures.shift();
    if (failure) return Promise.reject(failure);
    if (!this.#hangs) return Promise.resolve();
    return new Promise((_resolve, reject) => {
      this.#hanging.add(() => reject(new KubeError('timeout', 'no answer')));
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
  }
}

export const conflict = (): KubeError => new KubeError('conflict', 'the object has been modified');
