import type { Clock } from '../../platform/clock.ts';
import type { Ids } from '../../platform/ids.ts';
import type { Environment } from '../../platform/paths.ts';
import type { ClusterTarget } from './api/cluster-target.ts';
import type { KubeApi } from './api/kube-api.ts';
import type { K8sSettings } from './k8s-settings.ts';

/**
 * What `new K8sBackend(options)` takes:
 * `settings: resolveK8sSettings(env, table)`, `target: clusterTargetOf(env, settings.context)`.
 */
export interface K8sBackendOptions {
  readonly settings: K8sSettings;
  readonly target: ClusterTarget;
  /** Told apart from other cities in the same namespace by it. */
  readonly cityId: string;
  /** Of the session host that holds the streams: `dir` is `<city runtime dir>/k8s`, the rest as for `HostBackend`. */
  readonly host: {
    readonly dir: string;
    readonly command: readonly string[];
    readonly env: Readonly<Record<string, string>>;
  };
  /** The controller's own environment: what sessions got of its paths is not for pods. */
  readonly machineEnv?: Environment;
  readonly clock: Clock;
  readonly ids: Ids;
  /** `controller` (the default) follows the cluster in memory; a `visitor`, one command beside it, asks once. */
  readonly role?: 'controller' | 'visitor';
  /** Where a lease gives the right to write to the cluster. */
  readonly tenure?: WriteRight;
  /** How the cluster is reached; by default `openKubeApi` of api/http-kube-api.ts, loaded with the first call. */
  readonly openApi?: (target: ClusterTarget, namespace: string) => Promise<KubeApi>;
  readonly timings?: Partial<K8sTimings>;
}

/** The right to write to the cluster, held for a time. */
export interface WriteRight {
  /** Written on every pod that is created: of two controllers that believe to hold it, the higher number is right. */
  readonly fence: number;
  /** Whether it holds at this moment, by this process's own clocks. */
  held(): boolean;
}

/** Waits of the Kubernetes back end, milliseconds. */
export interface K8sTimings {
  /** A pod younger than this that has not begun its agent is being prepared. Source: Gas City, 60 + 120 + 60 s. */
  readonly startupGraceMs: number;
  /** How long a pod may take to be placed, pulled and run, where no deadline of the start is shorter. */
  readonly runningMs: number;
  /** For a deleted pod to be gone, on top of its own grace. */
  readonly goneMs: number;
  /** What was seen counts no longer than this without a word from the cluster. */
  readonly staleMs: number;
  /** Nor, when every try to hear from it fails, longer than this after the first failure. */
  readonly failingMs: number;
  /** A watch without any event or bookmark for so long is opened anew. */
  readonly silentMs: number;
  /** Everything is listed anew this often, whatever the watch says. */
  readonly relistMs: number;
  /** Reconnects wait between the first and the second. */
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
  /** How long the last output of an ended pod may take to arrive. */
  readonly lastLinesMs: number;
}

export const DEFAULT_K8S_TIMINGS: K8sTimings = Object.freeze({
  startupGraceMs: 240_000,
  runningMs: 120_000,
  goneMs: 30_000,
  staleMs: 120_000,
  failingMs: 3_000,
  silentMs: 90_000,
  relistMs: 600_000,
  retryMinMs: 250,
  retryMaxMs: 30_000,
  lastLinesMs: 800,
});
