import { join } from 'node:path';
import { installAgent } from '../../../conformance/provider/agents.ts';
import type { ProviderSubject } from '../../../conformance/provider/case.ts';
import type { Clock } from '../../../internal/platform/clock.ts';
import { GcError } from '../../../internal/platform/errors.ts';
import type { Environment } from '../../../internal/platform/paths.ts';
import { clusterTargetOf } from '../../../internal/runtime/k8s/api/cluster-target.ts';
import { openKubeApi } from '../../../internal/runtime/k8s/api/http-kube-api.ts';
import type { K8sBackendOptions } from '../../../internal/runtime/k8s/k8s-options.ts';
import { K8sProvider } from '../../../internal/runtime/k8s/k8s-provider.ts';
import { resolveK8sSettings } from '../../../internal/runtime/k8s/k8s-settings.ts';
import { podName } from '../../../internal/runtime/k8s/names.ts';
import type { TerminalProviderOptions } from '../../../internal/runtime/terminal/options.ts';

const WORKSPACE = '/workspace';
const CONTAINER = 'agent';
const EXEC_TIMEOUT_MS = 10_000;
/** The image has a Node of its own. */
const IN_THE_POD = { node: 'node', env: {} };

/** A provider on the cluster of the environment. @throws GcError when it names no image or no cluster */
export function clusterProvider(
  env: Environment,
  options: Omit<TerminalProviderOptions, 'backend'>,
  own: Pick<K8sBackendOptions, 'cityId' | 'host' | 'clock' | 'ids' | 'role'>,
): K8sProvider {
  const settings = resolveK8sSettings(env);
  if (settings.image === '') {
    throw new GcError(
      'k8s-image-required',
      'GC_K8S_IMAGE is not set: pods need an image with sh, tar and node',
      {
        next: 'GC_K8S_IMAGE=<image> gc conformance provider k8s',
      },
    );
  }
  return new K8sProvider(options, { ...own, settings, target: clusterTargetOf(env, settings.context) });
}

/** The suite's agents in pods: their files are read there. `close` ends the connection for that. */
export function podAgents(
  env: Environment,
  clock: Clock,
): Pick<ProviderSubject, 'agent' | 'agentFolder' | 'readAgentFile' | 'letGo'> & { close(): void } {
  const { namespace, context } = resolveK8sSettings(env);
  const api = openKubeApi(clusterTargetOf(env, context), namespace, clock);
  const run = (name: string, argv: readonly string[]) =>
    api.exec({ pod: podName(name), container: CONTAINER, argv, timeoutMs: EXEC_TIMEOUT_MS });
  return {
    agent: (agent, folder) => installAgent(agent, folder, IN_THE_POD),
    agentFolder: () => WORKSPACE,
    async readAgentFile(name, _workDir, file) {
      const result = await run(name, ['cat', join(WORKSPACE, file)]).catch(() => undefined); // no pod yet, or none any more
      return result?.exit === 0 ? result.stdout.toString('utf8') : undefined;
    },
    async letGo(name) {
      await run(name, ['touch', join(WORKSPACE, 'go')]);
    },
    close: () => api.close(),
  };
}
