import type { KubeApi, PodWatchEvent, WatchQuery } from '../api/kube-api.ts';
import { type Pod, parsePod } from '../api/pod.ts';

/** A pod as the cluster tells it. */
export const aPod = (uid: string, version: number, session = uid): Pod =>
  parsePod({
    metadata: {
      name: session,
      uid,
      resourceVersion: String(version),
      creationTimestamp: '2026-01-01T00:00:00Z',
      annotations: { 'gc-session-name': session, 'gc-city': 'city', 'gc-begun': '2026-01-01T00:00:00Z' },
    },
    spec: {
      containers: [
        {
          name: 'agent',
          env: Array.from({ length: 40 }, (_, index) => ({
            name: `VARIABLE_${index}`,
            value: `value ${index}`,
          })),
        },
      ],
    },
    status: { phase: 'Running', containerStatuses: [{ name: 'agent', state: { running: {} } }] },
  });

/** One open watch: the test tells it what it hears and how it ends. */
export interface OpenWatch {
  readonly query: WatchQuery;
  tell(event: PodWatchEvent): void;
  end(): void;
  break(error: Error): void;
}

/** A cluster that a test plays: lists answer `pods`, watches wait for the test. Everything is counted. */
export class ScriptedKube {
  pods: readonly Pod[] = [];
  version = 1;
  lists = 0;
  readonly watches: OpenWatch[] = [];
  /** Every list and watch fails with it at once. */
  failure: Error | undefined;

  get requests(): number {
    return this.lists + this.watches.length + this.#refused;
  }
  #refused = 0;

  readonly api: KubeApi = {
    listPods: async () => {
      this.#refuse();
      this.lists += 1;
      return { pods: this.pods, resourceVersion: String(this.version) };
    },
    watchPods: async (query, onEvent, signal) => {
      this.#refuse();
      query.onOpen?.();
      await new Promise<void>((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
        this.watches.push({ query, tell: onEvent, end: resolve, break: reject });
      });
    },
    getPod: notScripted,
    createPod: notScripted,
    annotatePod: notScripted,
    deletePod: notScripted,
    podLog: notScripted,
    exec: notScripted,
    podMetrics: notScripted,
    close: () => undefined,
  };

  #refuse(): void {
    if (!this.failure) return;
    this.#refused += 1;
    throw this.failure;
  }
}

async function notScripted(): Promise<never> {
  throw new Error('not part of this script');
}
