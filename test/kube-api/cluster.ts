import { Access } from './access.ts';
import type { Protocol } from './channels.ts';
import { Faults } from './faults.ts';
import { Metrics } from './metrics.ts';
import { Node, type NodeOptions } from './node.ts';
import { OpenStreams } from './open-streams.ts';
import { deletePod } from './pod-api.ts';
import { RequestLog } from './request-log.ts';
import { type Lease, type Pod, timestamp } from './shapes.ts';
import { notFound } from './status-error.ts';
import { Collection, Versions } from './store.ts';

export interface ClusterOptions extends Omit<NodeOptions, 'pods'> {
  readonly token: string;
  readonly namespaces: readonly string[];
  readonly historyEvents: number;
  readonly bookmarkMs: number;
  readonly protocols: readonly Protocol[];
}

/** Everything that the server knows. */
export class Cluster {
  readonly pods: Collection<Pod>;
  readonly leases: Collection<Lease>;
  readonly node: Node;
  readonly access: Access;
  readonly faults = new Faults();
  readonly requests = new RequestLog();
  readonly streams = new OpenStreams();
  readonly metrics = new Metrics();
  readonly namespaces: ReadonlySet<string>;
  readonly bookmarkMs: number;
  protocols: readonly Protocol[];

  constructor(options: ClusterOptions) {
    const versions = new Versions();
    const window = () => options.historyEvents;
    this.pods = new Collection<Pod>('pods', '', versions, window);
    this.leases = new Collection<Lease>('leases', 'coordination.k8s.io', versions, window);
    this.node = new Node({ ...options, pods: this.pods });
    this.access = new Access(options.token);
    this.namespaces = new Set(options.namespaces);
    this.bookmarkMs = options.bookmarkMs;
    this.protocols = options.protocols;
  }

  /** @throws StatusError 404 */
  checkNamespace(name: string): void {
    if (!this.namespaces.has(name)) throw notFound('namespaces', '', name);
  }

  deletePod(pod: Pod, graceSeconds: number): void {
    deletePod(this.pods, this.node, pod, { graceSeconds, preconditions: {} });
  }

  /** What the control plane does when a node was not heard of for long: its pods are to go, and nobody ends them. */
  vanishNode(): void {
    // Whoever talks to it hears nothing more, not even that.
    for (const stream of this.streams.matching({ when: ({ resource }) => resource.startsWith('pods/') })) {
      stream.silence();
    }
    this.node.vanish();
    for (const pod of this.pods.list(undefined)) {
      if (pod.spec.nodeName === undefined || pod.metadata.deletionTimestamp !== undefined) continue;
      const { namespace, name } = pod.metadata;
      const marks = { deletionTimestamp: timestamp(), deletionGracePeriodSeconds: 30 };
      this.pods.update(namespace, name, (now) => ({ ...now, metadata: { ...now.metadata, ...marks } }));
    }
  }
}
