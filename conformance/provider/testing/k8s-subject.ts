import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { offersOf } from '../../../cmd/gc/conformance/declared.ts';
import { systemClock } from '../../../internal/platform/clock.ts';
import { systemIds } from '../../../internal/platform/ids.ts';
import type { ClusterTarget } from '../../../internal/runtime/k8s/api/cluster-target.ts';
import { openKubeApi } from '../../../internal/runtime/k8s/api/http-kube-api.ts';
import type { KubeApi } from '../../../internal/runtime/k8s/api/kube-api.ts';
import { K8sProvider } from '../../../internal/runtime/k8s/k8s-provider.ts';
import { resolveK8sSettings } from '../../../internal/runtime/k8s/k8s-settings.ts';
import { podName } from '../../../internal/runtime/k8s/names.ts';
import { bundledHost } from '../../../internal/runtime/k8s/testing/bundled-host.ts';
import { EMPTY_RUNTIME_CONFIG } from '../../../internal/runtime/runtime-config.ts';
import { startKubeApi, type KubeApi as TestCluster } from '../../../test/kube-api/server.ts';
import { hostEnvironment, providerParts } from './host-parts.ts';
import type { OpenSubject } from './subjects.ts';

const WORKSPACE = '/workspace';
const EXEC_TIMEOUT_MS = 10_000;

/** Files in the work dirs of agents in pods. */
interface PodFiles {
  read(pod: string, file: string): Promise<string | undefined>;
  make(pod: string, file: string): Promise<void>;
}

/** A cluster of this test's own, whose pods are local processes. */
export async function testClusterSubject(): Promise<OpenSubject> {
  // A pod's agent is process 1 and heeds no TERM, so that every stop takes its whole grace.
  const [cluster, host] = await Promise.all([
    startKubeApi({ namespaces: ['gc'], images: ['agent:1'], timing: { secondMs: 100 } }),
    bundledHost(),
  ]);
  const scratch = mkdtempSync(join(tmpdir(), 'gc-conf-'));
  const kubeconfig = cluster.writeKubeconfig(join(scratch, 'kubeconfig'));
  const subject = k8sSubject({
    title: 'kubernetes',
    scratch,
    target: { kubeconfig, context: '', service: '' },
    namespace: 'gc',
    image: 'agent:1',
    hostCommand: host.command,
    files: () => filesOfTestCluster(cluster),
  });
  const close = async () => {
    await subject.close();
    await cluster.close();
    host.remove();
  };
  return { ...subject, close };
}

/** A real one, named by the environment. Its image needs sh, tar and Node under the same path as here. */
export async function realClusterSubject(
  kubeconfig: string,
  image: string,
  namespace: string,
): Promise<OpenSubject> {
  const host = await bundledHost();
  const subject = k8sSubject({
    title: 'kubernetes, real',
    scratch: mkdtempSync(join(tmpdir(), 'gc-conf-')),
    target: { kubeconfig, context: '', service: '' },
    namespace,
    image,
    hostCommand: host.command,
    files: filesOverExec,
  });
  const close = async () => {
    await subject.close();
    host.remove();
  };
  return { ...subject, close };
}

interface SubjectParts {
  readonly title: string;
  readonly scratch: string;
  readonly target: ClusterTarget;
  readonly namespace: string;
  readonly image: string;
  readonly hostCommand: readonly string[];
  readonly files: (api: KubeApi) => PodFiles;
}

function k8sSubject(parts: SubjectParts): OpenSubject {
  const { scratch, target, namespace, image } = parts;
  const settings = resolveK8sSettings({ GC_K8S_NAMESPACE: namespace, GC_K8S_IMAGE: image });
  const api = openKubeApi(target, namespace, systemClock);
  const files = parts.files(api);
  const opened: K8sProvider[] = [];
  const provider = (role: 'controller' | 'visitor'): K8sProvider => {
    const made = new K8sProvider(providerParts(scratch), {
      settings: {
        ...settings,
        resources: { ...settings.resources, cpuRequest: '10m', memRequest: '32Mi' },
      },
      target,
      cityId: `conformance-${scratch}`,
      host: {
        dir: join(scratch, 'host'),
        command: parts.hostCommand,
        env: hostEnvironment(scratch),
      },
      clock: systemClock,
      ids: systemIds,
      role,
    });
    opened.push(made);
    return made;
  };
  const first = provider('controller');
  return {
    subject: {
      title: parts.title,
      provider: first,
      offers: offersOf('k8s'),
      scratch,
      config: () => ({
        ...EMPTY_RUNTIME_CONFIG,
        command: 'sleep 300',
        env: { PATH: process.env['PATH'] ?? '' },
      }),
      second: async () => provider('visitor'),
      agentFolder: () => WORKSPACE,
      readAgentFile: (name, _workDir, file) => files.read(podName(name), file),
      letGo: (name) => files.make(podName(name), 'go'),
    },
    close: async () => {
      for (const name of await first.listRunning('')) await first.stop(name, { graceMs: 100 });
      for (const each of opened) await each.close();
      api.close();
      rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}

function filesOfTestCluster(cluster: TestCluster): PodFiles {
  const place = (pod: string, file: string) => {
    try {
      return cluster.podFolder(pod, `${WORKSPACE}/${file}`);
    } catch {
      return undefined; // nothing of it has been started yet
    }
  };
  return {
    read: async (pod, file) => {
      const path = place(pod, file);
      return path !== undefined && existsSync(path) ? readFileSync(path, 'utf8') : undefined;
    },
    make: async (pod, file) => writeFileSync(place(pod, file) ?? '', ''),
  };
}

function filesOverExec(api: KubeApi): PodFiles {
  const run = (pod: string, script: string) =>
    api.exec({ pod, container: 'agent', argv: ['sh', '-c', script], timeoutMs: EXEC_TIMEOUT_MS });
  return {
    read: async (pod, file) => {
      const result = await run(pod, `cat '${WORKSPACE}/${file}' 2>/dev/null`).catch(() => undefined);
      return result?.exit === 0 ? result.stdout.toString('utf8') : undefined;
    },
    make: async (pod, file) => {
      await run(pod, `: > '${WORKSPACE}/${file}'`);
    },
  };
}
