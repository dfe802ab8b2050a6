import { GcError } from '../../platform/errors.ts';
import type { Environment } from '../../platform/paths.ts';

/** The keys of `[session.k8s]` in the city file; absent or `''`: not set there. */
export interface K8sTable {
  readonly namespace?: string;
  readonly image?: string;
  readonly context?: string;
  readonly cpuRequest?: string;
  readonly memRequest?: string;
  readonly cpuLimit?: string;
  readonly memLimit?: string;
  readonly prebaked?: boolean;
  readonly serviceAccount?: string;
}

export interface DoltAddress {
  readonly host: string;
  readonly port: string;
}

/** Amounts as Kubernetes writes them (`500m`, `1Gi`); `''`: left to the cluster. */
export interface PodResources {
  readonly cpuRequest: string;
  readonly memRequest: string;
  readonly cpuLimit: string;
  readonly memLimit: string;
}

export interface K8sSettings {
  readonly namespace: string;
  /** `''`: none; a start then says that it is required. */
  readonly image: string;
  /** A context of the kubeconfig; `''`: its current one. */
  readonly context: string;
  readonly resources: PodResources;
  /** The image holds the workspace: nothing is brought into the pod. */
  readonly prebaked: boolean;
  /** `''`: the namespace's default one. */
  readonly serviceAccount: string;
  /** What stands for a Dolt server on the controller's own machine, as pods see it. */
  readonly dolt: DoltAddress;
}

const DEFAULTS = {
  namespace: 'gc',
  cpuRequest: '500m',
  memRequest: '1Gi',
  cpuLimit: '2',
  memLimit: '4Gi',
  dolt: { host: 'dolt.gc.svc.cluster.local', port: '3307' },
} as const;

const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const QUANTITY = /^[+-]?(\d+(\.\d*)?|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/;

/**
 * What the environment says, else the city file, else the default.
 * Source: Gas City `GC_K8S_*`; that the city file counts is ours.
 * @throws GcError `k8s-settings`
 */
export function resolveK8sSettings(env: Environment, table: K8sTable = {}): K8sSettings {
  const pick = (variable: string, fromTable: string | undefined, fallback: string): string =>
    env[variable] || fromTable || fallback;
  const namespace = pick('GC_K8S_NAMESPACE', table.namespace, DEFAULTS.namespace);
  if (!NAMESPACE.test(namespace)) {
    throw new GcError('k8s-settings', `${JSON.stringify(namespace)} cannot be the name of a namespace`, {
      next: 'set session.k8s.namespace in the city file, or GC_K8S_NAMESPACE',
    });
  }
  return {
    namespace,
    image: pick('GC_K8S_IMAGE', table.image, ''),
    context: pick('GC_K8S_CONTEXT', table.context, ''),
    resources: {
      cpuRequest: pick('GC_K8S_CPU_REQUEST', table.cpuRequest, DEFAULTS.cpuRequest),
      memRequest: pick('GC_K8S_MEM_REQUEST', table.memRequest, DEFAULTS.memRequest),
      cpuLimit: pick('GC_K8S_CPU_LIMIT', table.cpuLimit, DEFAULTS.cpuLimit),
      memLimit: pick('GC_K8S_MEM_LIMIT', table.memLimit, DEFAULTS.memLimit),
    },
    prebaked: env['GC_K8S_PREBAKED'] ? env['GC_K8S_PREBAKED'] === 'true' : (table.prebaked ?? false),
    serviceAccount: pick('GC_K8S_SERVICE_ACCOUNT', table.serviceAccount, ''),
    dolt: doltOf(env),
  };
}

function doltOf(env: Environment): DoltAddress {
  const host = (env['GC_K8S_DOLT_HOST'] ?? '').trim();
  const port = (env['GC_K8S_DOLT_PORT'] ?? '').trim();
  if (host === '' && port === '') return DEFAULTS.dolt;
  if (host !== '' && port !== '') return { host, port };
  throw new GcError(
    'k8s-settings',
    'requires both GC_K8S_DOLT_HOST and GC_K8S_DOLT_PORT when either is set',
    {
      next: `set ${host === '' ? 'GC_K8S_DOLT_HOST' : 'GC_K8S_DOLT_PORT'}, or unset both`,
    },
  );
}

/** @throws GcError `k8s-settings`: `parsing GC_K8S_CPU_REQUEST "x": ...`. Source: Gas City. */
export function assertQuantities(resources: PodResources): void {
  const named: readonly (readonly [string, string])[] = [
    ['GC_K8S_CPU_REQUEST', resources.cpuRequest],
    ['GC_K8S_MEM_REQUEST', resources.memRequest],
    ['GC_K8S_CPU_LIMIT', resources.cpuLimit],
    ['GC_K8S_MEM_LIMIT', resources.memLimit],
  ];
  for (const [variable, value] of named) {
    if (value === '' || QUANTITY.test(value)) continue;
    const key = variable.replace('GC_K8S_', '').toLowerCase();
    throw new GcError(
      'k8s-settings',
      `parsing ${variable} ${JSON.stringify(value)}: quantities must be a number with a unit, such as 500m or 4Gi`,
      { next: `set session.k8s.${key} in the city file, or ${variable}` },
    );
  }
}
