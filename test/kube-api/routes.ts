import type { ServerResponse } from 'node:http';
import type { Cluster } from './cluster.ts';
import type { Fault } from './faults.ts';
import { endWithError, goneNow, type Kind, listOf, serveWatch } from './list-watch.ts';
import { ResponseStream } from './open-streams.ts';
import { applyPatch } from './patch.ts';
import { createPod, deleteOptions, deletePod, patchPod, replacePod, serveLog, versionIn } from './pod-api.ts';
import type { ApiRequest } from './request.ts';
import { isRecord, type KubeObject, type Lease } from './shapes.ts';
import { badRequest, bodyObject, invalid, noSuchPath, notFound } from './status-error.ts';
import type { Collection } from './store.ts';
import { metadataErrors } from './validate.ts';

export interface Call {
  readonly request: ApiRequest;
  readonly body: unknown;
  readonly response: ServerResponse;
  /** One that concerns a stream. */
  readonly fault: Fault | undefined;
}

export interface Answer {
  readonly code: number;
  readonly body: object | string;
}

const POD: Kind = { apiVersion: 'v1', kind: 'Pod' };
const LEASE: Kind = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' };
const ok = (body: object | string): Answer => ({ code: 200, body });
const created = (body: object): Answer => ({ code: 201, body });

/** `undefined`: the response is written by somebody else from here on. @throws StatusError */
export function answer(cluster: Cluster, call: Call): Answer | undefined {
  const { resource, group, namespace } = call.request;
  // As in a real one, a namespace that is not there has nothing in it; only what would be made in it is refused.
  if (namespace !== undefined && call.request.verb === 'create') cluster.checkNamespace(namespace);
  switch (`${group}/${resource}`) {
    case '/pods':
      return podsAnswer(cluster, call);
    case '/pods/log':
      return logAnswer(cluster, call);
    case '/pods/exec':
    case '/pods/attach':
      throw badRequest('Upgrade request required');
    case '/namespaces':
      return namespaceAnswer(cluster, call.request);
    case 'coordination.k8s.io/leases':
      return leasesAnswer(cluster, call);
    case 'metrics.k8s.io/pods':
      return metricsAnswer(cluster, call.request);
    case 'authorization.k8s.io/selfsubjectaccessreviews':
      return reviewAnswer(cluster, call);
    default:
      return plainAnswer(call.request.path);
  }
}

function plainAnswer(path: string): Answer {
  switch (path) {
    case '/version':
      return ok({ major: '1', minor: '33', gitVersion: 'v1.33.0', platform: 'linux/amd64' });
    case '/healthz':
    case '/livez':
    case '/readyz':
      return ok('ok');
    case '/api':
      return ok({ kind: 'APIVersions', versions: ['v1'] });
    default:
      throw noSuchPath();
  }
}

function where(request: ApiRequest): { namespace: string; name: string } {
  const { namespace, name } = request;
  if (namespace === undefined || name === undefined) throw noSuchPath();
  return { namespace, name };
}

function podsAnswer(cluster: Cluster, call: Call): Answer | undefined {
  const { request, body } = call;
  const { pods, node } = cluster;
  switch (request.verb) {
    case 'list':
      return ok(listOf(pods, request, POD));
    case 'watch':
      return watchAnswer(cluster, pods, call, POD);
    case 'create': {
      if (request.namespace === undefined) throw noSuchPath();
      const metadata = isRecord(body) ? body['metadata'] : undefined;
      const name = isRecord(metadata) ? String(metadata['name']) : '';
      if (!pods.find(request.namespace, name))
        cluster.access.checkQuota(name, pods.list(request.namespace).length);
      return created(createPod(pods, node, request.namespace, body));
    }
    case 'deletecollection': {
      const { items } = listed(listOf(pods, request, POD));
      for (const pod of pods.list(request.namespace).filter((one) => items.has(one.metadata.uid))) {
        deletePod(pods, node, pod, deleteOptions(request.query, body));
      }
      return ok({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' });
    }
    default: {
      const { namespace, name } = where(request);
      const pod = pods.get(namespace, name);
      if (request.verb === 'patch') return ok(patchPod(pods, request, namespace, name, body));
      if (request.verb === 'update') return ok(replacePod(pods, namespace, name, body));
      if (request.verb === 'delete')
        return ok(deletePod(pods, node, pod, deleteOptions(request.query, body)));
      return ok(pod);
    }
  }
}

function listed(list: object): { items: Set<string> } {
  const items = 'items' in list && Array.isArray(list.items) ? list.items : [];
  return { items: new Set(items.map((item: KubeObject) => item.metadata.uid)) };
}

function watchAnswer<T extends KubeObject>(
  cluster: Cluster,
  collection: Collection<T>,
  call: Call,
  kind: Kind,
): undefined {
  const { request, response, fault } = call;
  if (fault?.kind === 'gone') {
    const stream = new ResponseStream(cluster.streams, request, response, undefined);
    stream.open('application/json');
    endWithError(stream, goneNow());
    return undefined;
  }
  const stream = new ResponseStream(cluster.streams, request, response, fault);
  serveWatch(collection, request, stream, kind, cluster.bookmarkMs);
  return undefined;
}

function logAnswer(cluster: Cluster, call: Call): undefined {
  const { request, response, fault } = call;
  const { namespace, name } = where(request);
  const open = () => new ResponseStream(cluster.streams, request, response, fault);
  serveLog(cluster.node, cluster.pods.get(namespace, name), request, open);
  return undefined;
}

function namespaceAnswer(cluster: Cluster, request: ApiRequest): Answer {
  if (request.verb !== 'get' || request.name === undefined) throw noSuchPath();
  cluster.checkNamespace(request.name);
  return ok({
    kind: 'Namespace',
    apiVersion: 'v1',
    metadata: { name: request.name, uid: request.name, resourceVersion: '1' },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  });
}

function leasesAnswer(cluster: Cluster, call: Call): Answer | undefined {
  const { request, body } = call;
  const { leases } = cluster;
  switch (request.verb) {
    case 'list':
      return ok(listOf(leases, request, LEASE));
    case 'watch':
      return watchAnswer(cluster, leases, call, LEASE);
    case 'create':
      if (request.namespace === undefined) throw noSuchPath();
      return created(leases.create(leaseOf(body, request.namespace, undefined)));
    default: {
      const { namespace, name } = where(request);
      const update = (wanted: (current: Lease) => unknown) =>
        leases.update(
          namespace,
          name,
          (now) => ({ ...now, ...leaseOf(wanted(now), namespace, name) }),
          versionIn(body),
        );
      switch (request.verb) {
        case 'patch':
          return ok(update((current) => applyPatch(request.headers['content-type'], current, body)));
        case 'update': {
          // Unlike a pod, a lease that is replaced must name its version.
          const version = versionIn(body).resourceVersion ?? '';
          const message = 'Invalid value: 0x0: must be specified for an update';
          if (version === '') {
            throw invalid('Lease', name, [
              { field: 'metadata.resourceVersion', reason: 'FieldValueInvalid', message },
            ]);
          }
          return ok(update(() => body));
        }
        case 'delete':
          leases.remove(namespace, name, deleteOptions(request.query, body).preconditions);
          return ok({
            kind: 'Status',
            apiVersion: 'v1',
            metadata: {},
            status: 'Success',
            details: { name, kind: 'leases' },
          });
        default:
          return ok(leases.get(namespace, name));
      }
    }
  }
}

function leaseOf(body: unknown, namespace: string, name: string | undefined): Lease {
  const given = bodyObject(body);
  const metadata = isRecord(given['metadata']) ? given['metadata'] : {};
  const named = { ...metadata, namespace, ...(name === undefined ? {} : { name }) };
  metadataErrors(named, (field, reason, message) => {
    throw invalid('Lease', String(metadata['name'] ?? ''), [{ field, reason, message }]);
  });
  return { ...given, ...LEASE, metadata: named } as unknown as Lease;
}

function metricsAnswer(cluster: Cluster, request: ApiRequest): Answer {
  const { namespace, name } = request;
  if (name !== undefined && namespace !== undefined) {
    const pod = cluster.pods.find(namespace, name);
    const metrics = pod && cluster.metrics.podMetrics(cluster.node, pod);
    if (!metrics) throw notFound('pods', 'metrics.k8s.io', name);
    return ok(metrics);
  }
  const { items } = listed(listOf(cluster.pods, request, POD));
  const pods = cluster.pods.list(namespace).filter((pod) => items.has(pod.metadata.uid));
  return ok({
    kind: 'PodMetricsList',
    apiVersion: 'metrics.k8s.io/v1beta1',
    metadata: {},
    items: pods.flatMap((pod) => cluster.metrics.podMetrics(cluster.node, pod) ?? []),
  });
}

function reviewAnswer(cluster: Cluster, call: Call): Answer {
  const spec = isRecord(call.body) ? call.body['spec'] : undefined;
  const asked = isRecord(spec) ? spec['resourceAttributes'] : undefined;
  if (call.request.verb !== 'create' || !isRecord(asked))
    throw badRequest('spec.resourceAttributes is required');
  const { verb = '', resource = '', subresource } = asked;
  const full = subresource ? `${String(resource)}/${String(subresource)}` : String(resource);
  const allowed = cluster.access.allows(String(verb), full);
  return created({
    ...bodyObject(call.body),
    status: { allowed, ...(allowed ? {} : { reason: 'no rule allows it' }) },
  });
}
