import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import type { Ids } from '../../platform/ids.ts';
import type { KubeApi, PodWatchEvent } from './api/kube-api.ts';
import { KubeError } from './api/kube-error.ts';
import type { Pod } from './api/pod.ts';
import type { K8sTimings } from './k8s-options.ts';

/** The server ends each watch within this and twice this, seconds. */
const WATCH_SECONDS = 240;
/** A watch that ends sooner than this counts as a failure: it must not become a busy loop. */
const SHORT_WATCH_MS = 1_000;
/** What broke after this worked before: the next failure is a first one. */
const LONG_WATCH_MS = 10_000;
const GROWTH = 2;
/** Pods that are gone: what is told of them late must not bring them back. */
const REMEMBERED_GONE = 1_000;

const REFUSALS: ReadonlySet<KubeError['kind']> = new Set(['forbidden', 'unauthorized']);

export interface InformerOptions {
  readonly api: () => Promise<KubeApi>;
  readonly labelSelector: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly timings: K8sTimings;
  /** `after` undefined: it is gone, and `before` is the last that was told of it. */
  readonly onChange: (before: Pod | undefined, after: Pod | undefined) => void;
}

export type InformerState =
  | { readonly kind: 'synced' }
  /** Nothing was seen yet, or too long ago. */
  | { readonly kind: 'unknown'; readonly reason: string };

/**
 * All pods of a selector in memory: one list, then one watch from there, taken up where it broke. Whatever happens to the
 * connection, there is at most one request at a time, and the more fail, the rarer they are.
 */
export class PodInformer {
  readonly #options: InformerOptions;
  readonly #lifetime = new AbortController();
  readonly #pods = new Map<string, Pod>();
  readonly #gone = new Set<string>();
  readonly #waiters = new Set<() => void>();
  #version = '';
  #listed = false;
  #heardAt = Number.NEGATIVE_INFINITY;
  #listedAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  /** Of the failures in a row, the first. */
  #failingSince: number | undefined;
  #lastFailure: unknown;
  #running = false;

  constructor(options: InformerOptions) {
    this.#options = options;
  }

  /** By uid. */
  get pods(): ReadonlyMap<string, Pod> {
    return this.#pods;
  }

  get state(): InformerState {
    const { clock, timings } = this.#options;
    const why = this.#lastFailure === undefined ? 'nothing was heard from it' : messageOf(this.#lastFailure);
    if (!this.#listed) return { kind: 'unknown', reason: `the cluster has not been seen yet: ${why}` };
    if (this.denial) return { kind: 'unknown', reason: `the cluster does not tell what changes: ${why}` };
    const now = clock.monotonic();
    const isFailing = this.#failingSince !== undefined && now - this.#failingSince > timings.failingMs;
    const ageMs = now - this.#heardAt;
    if (ageMs <= timings.staleMs && !isFailing) return { kind: 'synced' };
    const seconds = Math.round(ageMs / 1_000);
    return { kind: 'unknown', reason: `the cluster was last heard of ${seconds} s ago: ${why}` };
  }

  /** The error that the last try ended with, while nothing works. */
  get failure(): unknown {
    return this.#lastFailure;
  }

  /** A refusal, which waiting does not mend, unlike a cluster that is away. */
  get denial(): KubeError | undefined {
    const failure = this.#lastFailure;
    const refused = failure instanceof KubeError && REFUSALS.has(failure.kind);
    return refused ? failure : undefined;
  }

  start(): void {
    if (this.#running) return;
    this.#running = true;
    this.#run().catch(() => undefined); // it ends with the lifetime only
  }

  close(): void {
    this.#lifetime.abort();
    this.#tell();
  }

  /** What another call was answered: the same as if the watch had told it. */
  apply(pod: Pod): void {
    const { uid } = pod.metadata;
    if (this.#gone.has(uid)) return;
    const before = this.#pods.get(uid);
    if (before && isOlder(pod, before)) return;
    this.#pods.set(uid, pod);
    this.#options.onChange(before, pod);
    this.#tell();
  }

  /** Proven gone. */
  remove(uid: string): void {
    this.#drop(uid, undefined);
    this.#tell();
  }

  /**
   * Waits until `ask` answers something, asking after every change and every failure. Nothing is requested for it.
   * @throws the signal's reason
   */
  async until<T>(ask: () => T | undefined, signal: AbortSignal): Promise<T> {
    for (;;) {
      signal.throwIfAborted();
      this.#lifetime.signal.throwIfAborted();
      const answer = ask();
      if (answer !== undefined) return answer;
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#waiters.delete(wake);
          signal.removeEventListener('abort', wake);
          resolve();
        };
        this.#waiters.add(wake);
        signal.addEventListener('abort', wake, { once: true });
      });
    }
  }

  async #run(): Promise<void> {
    const { signal } = this.#lifetime;
    while (!signal.aborted) {
      try {
        if (this.#mustList()) await this.#list();
        await this.#watch();
        this.#failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        this.#failures += 1;
        this.#failingSince ??= this.#options.clock.monotonic();
        this.#lastFailure = error;
        if (error instanceof KubeError && error.kind === 'gone') this.#version = '';
        this.#tell();
        await this.#pause(error);
      }
    }
  }

  #mustList(): boolean {
    const { clock, timings } = this.#options;
    return this.#version === '' || clock.monotonic() - this.#listedAt > timings.relistMs;
  }

  async #list(): Promise<void> {
    const { labelSelector } = this.#options;
    const api = await this.#options.api();
    const { pods, resourceVersion } = await api.listPods({ labelSelector }, this.#lifetime.signal);
    const there = new Set(pods.map((pod) => pod.metadata.uid));
    this.#version = resourceVersion;
    this.#listed = true;
    this.#listedAt = this.#options.clock.monotonic();
    this.#heard();
    for (const pod of pods) this.apply(pod);
    // A pod that was made while the list was under way is newer than it.
    const old = [...this.#pods.values()].filter(
      (pod) => !there.has(pod.metadata.uid) && !isNewerThan(pod, resourceVersion),
    );
    for (const pod of old) this.#drop(pod.metadata.uid, undefined);
    this.#tell();
  }

  /** Ends when the server ends it, when it has been silent for too long, or when it is time to list again. */
  async #watch(): Promise<void> {
    const { clock, ids, labelSelector, timings } = this.#options;
    const api = await this.#options.api();
    const began = clock.monotonic();
    const over = new AbortController();
    const signal = AbortSignal.any([this.#lifetime.signal, over.signal]);
    const guard = this.#guard(over);
    let events = 0;
    try {
      await api.watchPods(
        {
          labelSelector,
          resourceVersion: this.#version,
          timeoutSeconds: Math.round(WATCH_SECONDS * (1 + ids.random())),
          onOpen: () => this.#heard(),
        },
        (event) => {
          events += 1;
          this.#onEvent(event);
        },
        signal,
      );
    } catch (error) {
      if (over.signal.aborted && !this.#lifetime.signal.aborted) return; // silent for too long: taken up where it was
      if (clock.monotonic() - began > LONG_WATCH_MS) this.#failures = 0;
      throw error;
    } finally {
      guard.abort();
    }
    if (events === 0 && clock.monotonic() - began < Math.min(SHORT_WATCH_MS, timings.silentMs)) {
      throw new KubeError('unavailable', 'the watch of pods was ended at once');
    }
  }

  /** A watch that says nothing may be one whose connection is gone without a word. */
  #guard(over: AbortController): AbortController {
    const { clock, timings } = this.#options;
    const ended = new AbortController();
    const began = clock.monotonic();
    (async () => {
      for (;;) {
        const quietMs = clock.monotonic() - Math.max(this.#heardAt, began);
        if (quietMs >= timings.silentMs) break;
        if (clock.monotonic() - this.#listedAt > timings.relistMs) break;
        await clock.sleep(Math.min(timings.silentMs - quietMs, timings.relistMs), ended.signal);
      }
      over.abort();
    })().catch(() => undefined); // the watch ended first
    return ended;
  }

  #onEvent(event: PodWatchEvent): void {
    this.#heard();
    if (event.kind === 'bookmark') {
      this.#version = event.resourceVersion;
      return;
    }
    this.#version = event.pod.metadata.resourceVersion ?? this.#version;
    if (event.kind === 'deleted') this.#drop(event.pod.metadata.uid, event.pod);
    else this.apply(event.pod);
    this.#tell();
  }

  #drop(uid: string, last: Pod | undefined): void {
    const before = this.#pods.get(uid);
    this.#gone.add(uid);
    const oldest = this.#gone.values().next();
    if (this.#gone.size > REMEMBERED_GONE && !oldest.done) this.#gone.delete(oldest.value);
    if (!this.#pods.delete(uid)) return;
    this.#options.onChange(last ?? before, undefined);
  }

  #heard(): void {
    this.#heardAt = this.#options.clock.monotonic();
    this.#lastFailure = undefined;
    this.#failingSince = undefined;
  }

  async #pause(error: unknown): Promise<void> {
    const { clock, ids, timings } = this.#options;
    const asked = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
    await clock.sleep(
      Math.max(asked, backOffMs(this.#failures, timings, ids.random())),
      this.#lifetime.signal,
    );
  }

  #tell(): void {
    for (const wake of [...this.#waiters]) wake();
  }
}

/** Doubles from one failure to the next, up to the limit; half of it is chance, so that many controllers do not come together. */
export function backOffMs(
  failures: number,
  { retryMinMs, retryMaxMs }: Pick<K8sTimings, 'retryMinMs' | 'retryMaxMs'>,
  random: number,
): number {
  const whole = Math.min(retryMaxMs, retryMinMs * GROWTH ** Math.max(0, failures - 1));
  return whole / 2 + (whole / 2) * random;
}

/** Versions are opaque, but those of every server there is count up; others are taken as they come. */
function isOlder(pod: Pod, than: Pod): boolean {
  const [a, b] = [versionOf(pod.metadata.resourceVersion), versionOf(than.metadata.resourceVersion)];
  return a !== undefined && b !== undefined && a < b;
}

function isNewerThan(pod: Pod, version: string): boolean {
  const [a, b] = [versionOf(pod.metadata.resourceVersion), versionOf(version)];
  return a !== undefined && b !== undefined && a > b;
}

const versionOf = (text: string | undefined): bigint | undefined =>
  text !== undefined && /^\d+$/.test(text) ? BigInt(text) : undefined;
