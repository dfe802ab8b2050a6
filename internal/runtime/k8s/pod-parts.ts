import type { KubeApi } from './api/kube-api.ts';
import type { PodInformer } from './informer.ts';
import type { K8sTimings } from './k8s-options.ts';
import type { PodSessions } from './pod-sessions.ts';
import type { PodStreams } from './pod-streams.ts';

/** What all who act on pods work with. */
export interface PodParts {
  readonly timings: K8sTimings;
  readonly api: () => Promise<KubeApi>;
  readonly informer: PodInformer;
  readonly sessions: PodSessions;
  readonly streams: PodStreams;
  readonly lifetime: AbortSignal;
}
