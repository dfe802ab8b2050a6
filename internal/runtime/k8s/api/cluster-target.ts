import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { Environment } from '../../../platform/paths.ts';

/** Where a cluster is and who we are there. Plain texts, so that it can be handed to the session host as it is. */
export interface ClusterTarget {
  /** Paths of kubeconfig files, separated as in `KUBECONFIG`; `''`: none. */
  readonly kubeconfig: string;
  /** A context of the kubeconfig; `''`: its current one. */
  readonly context: string;
  /** `host:port` of the API as a pod sees it; `''`: this process is not in a pod, or a kubeconfig is meant. */
  readonly service: string;
}

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount';
export const SERVICE_ACCOUNT_TOKEN = `${SERVICE_ACCOUNT}/token`;
export const SERVICE_ACCOUNT_CA = `${SERVICE_ACCOUNT}/ca.crt`;

/**
 * In a pod the service account, unless a context is asked for; else `KUBECONFIG`, else `~/.kube/config`.
 * Source: Gas City `k8s` provider.
 */
export function clusterTargetOf(
  env: Environment,
  context: string,
  exists: (path: string) => boolean = isReadable,
): ClusterTarget {
  const host = env['KUBERNETES_SERVICE_HOST'] ?? '';
  const port = env['KUBERNETES_SERVICE_PORT'] ?? '';
  if (host !== '' && port !== '' && context === '' && exists(SERVICE_ACCOUNT_TOKEN)) {
    return { kubeconfig: '', context: '', service: `${host.includes(':') ? `[${host}]` : host}:${port}` };
  }
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '');
  if (listed.length > 0) return { kubeconfig: listed.join(delimiter), context, service: '' };
  const home = env['HOME'] ?? '';
  const usual = home === '' ? '' : join(home, '.kube', 'config');
  return { kubeconfig: usual !== '' && exists(usual) ? usual : '', context, service: '' };
}

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}
