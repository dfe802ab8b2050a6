import type { Clock } from '../../../platform/clock.ts';
import { GcError } from '../../../platform/errors.ts';
import type { AgentProcess, StreamCallbacks } from '../../host/agent-process.ts';
import type { TerminalSize } from '../../provider.ts';
import { type ClusterAccess, openClusterAccess } from '../api/cluster-access.ts';
import { ConnectGate } from './connect-gate.ts';
import type { PodIdentity } from './pod-look.ts';
import { PodStream } from './pod-stream.ts';

interface SharedCluster {
  readonly access: ClusterAccess;
  readonly gate: ConnectGate;
  streams: number;
}

/** What the streams of this process share, by the cluster they lead to. */
const clusters = new Map<string, SharedCluster>();

/**
 * Opens the one stream to a pod's terminal and keeps it open. The target's keys: those of `ClusterTarget` (`kubeconfig`,
 * `context`, `service`), and `namespace`, `pod`, `uid`, `container`. Resolves when the first connection stands and what
 * the log has is on its way to the screen.
 * @throws GcError `k8s-bad-target`, `k8s-no-config` ...; PodOverError `k8s-pod-over`; ChannelError; nothing is left then
 */
export async function startPodStream(
  target: Readonly<Record<string, string>>,
  size: TerminalSize,
  callbacks: StreamCallbacks,
  clock: Clock,
): Promise<AgentProcess> {
  const pod = podIn(target);
  const cluster = shared(target, clock);
  const stream = new PodStream({
    access: cluster.access,
    gate: cluster.gate,
    pod,
    size,
    callbacks,
    clock,
    onReleased: cluster.leave,
  });
  await stream.begin();
  return stream;
}

function shared(target: Readonly<Record<string, string>>, clock: Clock) {
  const { kubeconfig = '', context = '', service = '' } = target;
  const key = JSON.stringify([kubeconfig, context, service]);
  let cluster = clusters.get(key);
  if (!cluster) {
    const access = openClusterAccess({ kubeconfig, context, service });
    cluster = { access, gate: new ConnectGate(clock), streams: 0 };
    clusters.set(key, cluster);
  }
  const joined = cluster;
  joined.streams += 1;
  return {
    access: joined.access,
    gate: joined.gate,
    leave: () => {
      joined.streams -= 1;
      if (joined.streams > 0 || clusters.get(key) !== joined) return;
      clusters.delete(key);
      joined.access.close();
    },
  };
}

function podIn(target: Readonly<Record<string, string>>): PodIdentity {
  const { namespace = '', pod = '', uid = '', container = '' } = target;
  if (namespace !== '' && pod !== '' && uid !== '' && container !== '') {
    return { namespace, pod, uid, container };
  }
  throw new GcError('k8s-bad-target', 'the stream needs namespace, pod, uid and container');
}
