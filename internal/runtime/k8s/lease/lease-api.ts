import type { ClusterAccess } from '../api/cluster-access.ts';
import { callForText, type HttpCall } from '../api/http-call.ts';
import { KubeError } from '../api/kube-error.ts';
import { type Lease, type LeaseSpec, parseLease } from './lease-object.ts';

const CALL_TIMEOUT_MS = 4_000;

/** One lease of one namespace. Everything throws KubeError; a write that came too late is `conflict`. */
export interface LeaseApi {
  /** `undefined`: there is none. */
  read(signal: AbortSignal): Promise<Lease | undefined>;
  create(spec: LeaseSpec, signal: AbortSignal): Promise<Lease>;
  /** Of exactly the version that was read. */
  replace(lease: Lease, spec: LeaseSpec, signal: AbortSignal): Promise<Lease>;
}

export function leaseApi(access: ClusterAccess, namespace: string, name: string): LeaseApi {
  const all = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`;
  const one = `${all}/${encodeURIComponent(name)}`;
  const call = async (
    verb: string,
    part: Pick<HttpCall, 'method' | 'path' | 'body'>,
    signal: AbortSignal,
  ): Promise<Lease> => {
    const about = { verb, resource: 'leases', namespace, name, server: access.server.host };
    const text = await callForText(access, { ...about, ...part, timeoutMs: CALL_TIMEOUT_MS, signal });
    return parseLease(JSON.parse(text));
  };
  const kind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };
  return {
    read: async (signal) => {
      try {
        return await call('get', { method: 'GET', path: one }, signal);
      } catch (error) {
        if (error instanceof KubeError && error.kind === 'not-found') return undefined;
        throw error;
      }
    },
    create: (spec, signal) =>
      call('create', { method: 'POST', path: all, body: { ...kind, metadata: { name }, spec } }, signal),
    replace: (lease, spec, signal) => {
      const body = { ...kind, metadata: lease.metadata, spec };
      return call('update', { method: 'PUT', path: one, body }, signal);
    },
  };
}
