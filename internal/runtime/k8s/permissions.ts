/** A right of the controller's service account in its namespace. */
export interface ClusterPermission {
  /** `''`: the core group. */
  readonly group: string;
  readonly resource: string;
  readonly verbs: readonly string[];
  readonly why: string;
  /** Without it something is left out, and nothing fails. */
  readonly optional?: true;
}

/**
 * Everything that is asked of a cluster, and nothing more: the manifests in deploy/ grant exactly this. Exec and attach go
 * over WebSocket, which API servers check as `get` and newer ones as `create` too.
 */
export const CLUSTER_PERMISSIONS: readonly ClusterPermission[] = [
  {
    group: '',
    resource: 'pods',
    verbs: ['get', 'list', 'watch', 'create', 'patch', 'delete'],
    why: 'agents are pods; what is known of them is kept in their annotations',
  },
  {
    group: '',
    resource: 'pods/exec',
    verbs: ['get', 'create'],
    why: 'files are brought, set-up commands run',
  },
  { group: '', resource: 'pods/attach', verbs: ['get', 'create'], why: 'the agent’s terminal' },
  { group: '', resource: 'pods/log', verbs: ['get'], why: 'a screen after a broken connection; last words' },
  {
    group: 'coordination.k8s.io',
    resource: 'leases',
    verbs: ['get', 'create', 'update'],
    why: 'one controller at a time (GC_K8S_LEASE)',
  },
  {
    group: 'metrics.k8s.io',
    resource: 'pods',
    verbs: ['list'],
    why: 'what sessions use, where the cluster has a metrics server',
    optional: true,
  },
];
