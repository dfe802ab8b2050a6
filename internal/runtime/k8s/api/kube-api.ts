import type { ExecRequest, ExecResult } from '../channel/exec-in-pod.ts';
import type { Pod, PodMetricsList } from './pod.ts';

/**
 * What is asked of a cluster, all of it about pods of one namespace. Every call ends: by its answer, by a time limit of
 * its own, or by the signal. Failures are KubeError (api/kube-error.ts), which says what to do.
 */
export interface KubeApi {
  /** All pods that match, in pages. */
  listPods(query: ListQuery, signal?: AbortSignal): Promise<PodPage>;
  /**
   * Hands on changes since `resourceVersion` until the server ends the watch, which is no failure.
   * @throws KubeError `gone` when the server no longer knows that version
   */
  watchPods(query: WatchQuery, onEvent: (event: PodWatchEvent) => void, signal: AbortSignal): Promise<void>;
  /** `undefined`: there is none. */
  getPod(name: string, signal?: AbortSignal): Promise<Pod | undefined>;
  /** @throws KubeError `conflict` when the name is taken, `quota` ... */
  createPod(manifest: object, signal?: AbortSignal): Promise<Pod>;
  /** Changes annotations, `null` removes one, of the pod with this uid. @throws KubeError `conflict`: it is another by now */
  annotatePod(name: string, uid: string, annotations: Readonly<Record<string, string | null>>): Promise<Pod>;
  /** A pod that is gone, or was replaced by another with the name, is fine. */
  deletePod(name: string, uid: string, graceSeconds: number): Promise<void>;
  /** The end of what a container printed, as it printed it. */
  podLog(name: string, container: string, tailLines: number, signal?: AbortSignal): Promise<string>;
  /** See `execInPod` of channel/exec-in-pod.ts. */
  exec(request: Omit<ExecRequest, 'namespace'>): Promise<ExecResult>;
  /** `undefined`: the cluster has no metrics. */
  podMetrics(labelSelector: string): Promise<PodMetricsList | undefined>;
  close(): void;
}

export interface ListQuery {
  readonly labelSelector: string;
  /** Pods per request. */
  readonly limit?: number;
}

export interface PodPage {
  readonly pods: readonly Pod[];
  readonly resourceVersion: string;
}

export interface WatchQuery {
  readonly labelSelector: string;
  readonly resourceVersion: string;
  /** The server ends the watch after this long, seconds. */
  readonly timeoutSeconds: number;
  /** The server has taken it: everything since the version will be told. */
  readonly onOpen?: () => void;
}

export type PodWatchEvent =
  | { readonly kind: 'added' | 'modified' | 'deleted'; readonly pod: Pod }
  /** Nothing more happened up to this version. */
  | { readonly kind: 'bookmark'; readonly resourceVersion: string };
