import { randomBytes } from 'node:crypto';
import type { Node } from './node.ts';
import type { ResponseStream } from './open-streams.ts';
import { applyPatch } from './patch.ts';
import { chooseContainer, unreachable } from './remote-command.ts';
import type { ApiRequest } from './request.ts';
import { isRecord, type Pod, type PodSpec, timestamp } from './shapes.ts';
import { badRequest, bodyObject, invalid, StatusError } from './status-error.ts';
import type { Collection, Preconditions } from './store.ts';
import { validatePod } from './validate.ts';

const DEFAULT_GRACE_SECONDS = 30;

/** @throws StatusError 400, 409, 422 */
export function createPod(pods: Collection<Pod>, node: Node, namespace: string, body: unknown): Pod {
  const pod = podOf(body, namespace);
  const created = pods.create({ ...pod, status: { phase: 'Pending', qosClass: 'Burstable' } });
  node.run(created);
  return created;
}

/** A pod from outside, checked, with what the server fills in. What is checked is what the type tells. */
function podOf(body: unknown, namespace: string): Pod {
  const given = bodyObject(body);
  const metadata = isRecord(given['metadata']) ? { ...given['metadata'] } : {};
  const { generateName } = metadata;
  if (typeof generateName === 'string' && metadata['name'] === undefined) {
    metadata['name'] = `${generateName}${randomBytes(3).toString('hex').slice(0, 5)}`;
  }
  const told = metadata['namespace'];
  if (told !== undefined && told !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  validatePod({ ...given, metadata });
  const spec = isRecord(given['spec']) ? given['spec'] : {};
  const full = {
    terminationGracePeriodSeconds: DEFAULT_GRACE_SECONDS,
    serviceAccountName: 'default',
    ...spec,
  };
  return {
    ...given,
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, namespace },
    spec: full,
  } as unknown as Pod;
}

/** @throws StatusError 409, 415, 422 */
export function patchPod(
  pods: Collection<Pod>,
  request: ApiRequest,
  namespace: string,
  name: string,
  body: unknown,
): Pod {
  const change = (current: Pod) =>
    changed(current, applyPatch(request.headers['content-type'], current, body));
  return pods.update(namespace, name, change, versionIn(body));
}

/** @throws StatusError 409, 422 */
export function replacePod(pods: Collection<Pod>, namespace: string, name: string, body: unknown): Pod {
  return pods.update(namespace, name, (current) => changed(current, bodyObject(body)), versionIn(body));
}

/** Labels and annotations are the client's; a pod's spec stays, its status is the node's. */
function changed(current: Pod, wanted: unknown): Pod {
  const next = bodyObject(wanted);
  const metadata = isRecord(next['metadata']) ? next['metadata'] : {};
  validatePod({ ...next, metadata: { ...metadata, name: current.metadata.name } });
  const spec = isRecord(next['spec']) ? next['spec'] : {};
  if (JSON.stringify(sorted(withoutNode(spec))) !== JSON.stringify(sorted(withoutNode(current.spec)))) {
    const message = 'Forbidden: pod updates may not change fields other than `spec.containers[*].image`';
    throw invalid('Pod', current.metadata.name, [{ field: 'spec', reason: 'FieldValueForbidden', message }]);
  }
  const { labels: _labels, annotations: _annotations, ...own } = current.metadata;
  const labels = stringsIn(metadata['labels']);
  const annotations = stringsIn(metadata['annotations']);
  return {
    ...current,
    metadata: { ...own, ...(labels ? { labels } : {}), ...(annotations ? { annotations } : {}) },
  };
}

const withoutNode = ({ nodeName: _node, ...spec }: PodSpec | Record<string, unknown>): object => spec;

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}

function stringsIn(value: unknown): Record<string, string> | undefined {
  if (!isRecord(value)) return undefined;
  return Object.fromEntries(Object.entries(value).map(([key, text]) => [key, String(text)]));
}

export function versionIn(body: unknown): Preconditions {
  const metadata = isRecord(body) ? body['metadata'] : undefined;
  if (!isRecord(metadata)) return {};
  const { resourceVersion, uid } = metadata;
  return {
    ...(typeof resourceVersion === 'string' ? { resourceVersion } : {}),
    ...(typeof uid === 'string' ? { uid } : {}),
  };
}

export interface DeleteOptions {
  readonly graceSeconds: number | undefined;
  readonly preconditions: Preconditions;
}

/** From the body, or from the query for the grace period. */
export function deleteOptions(query: URLSearchParams, body: unknown): DeleteOptions {
  const given = isRecord(body) ? body : {};
  const inQuery = query.get('gracePeriodSeconds');
  const grace = given['gracePeriodSeconds'] ?? (inQuery === null ? undefined : Number(inQuery));
  const wanted = isRecord(given['preconditions']) ? given['preconditions'] : {};
  return {
    graceSeconds: typeof grace === 'number' && Number.isInteger(grace) && grace >= 0 ? grace : undefined,
    preconditions: versionIn({ metadata: wanted }),
  };
}

/** @throws StatusError 404, 409 */
export function deletePod(pods: Collection<Pod>, node: Node, pod: Pod, options: DeleteOptions): Pod {
  pods.check(pod, options.preconditions);
  const { namespace, name } = pod.metadata;
  const asked = options.graceSeconds ?? pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
  // A pod that no node has yet needs no time to end.
  const seconds = pod.spec.nodeName === undefined ? 0 : asked;
  const known = pod.metadata.deletionGracePeriodSeconds;
  if (known !== undefined && seconds >= known && seconds !== 0) return pod;
  const deletionTimestamp = timestamp(Date.now() + seconds * 1_000);
  const marked =
    seconds === 0
      ? pod
      : pods.update(namespace, name, (current) => ({
          ...current,
          metadata: { ...current.metadata, deletionTimestamp, deletionGracePeriodSeconds: seconds },
        }));
  node.terminate(marked, seconds);
  return marked;
}

/** `pods/log`: text, and more of it as it comes with `follow`. @throws StatusError 400, 404 */
export function serveLog(node: Node, pod: Pod, request: ApiRequest, open: () => ResponseStream): void {
  const { query } = request;
  const name = chooseContainer(pod, query.get('container'));
  if (node.lost) throw unreachable();
  const count = (key: string) => (query.get(key) === null ? undefined : Number(query.get(key)));
  if (query.get('previous') === 'true') {
    const message = `previous terminated container "${name}" in pod "${pod.metadata.name}" not found`;
    throw new StatusError(400, 'BadRequest', message);
  }
  const container = node.runnerOf(pod).containers.get(name);
  if (!container) {
    const why = pod.status.containerStatuses?.find((status) => status.name === name)?.state;
    const reason = why && 'waiting' in why ? why.waiting.reason : 'ContainerCreating';
    throw badRequest(`container "${name}" in pod "${pod.metadata.name}" is waiting to start: ${reason}`);
  }
  const since = count('sinceSeconds');
  const stream = open();
  stream.open('text/plain');
  stream.write(
    container.log.read({
      tailLines: count('tailLines'),
      limitBytes: count('limitBytes'),
      sinceMs: since === undefined ? undefined : Date.now() - since * 1_000,
    }),
  );
  if (query.get('follow') !== 'true') {
    stream.end();
    return;
  }
  stream.onClose(container.log.follow((bytes) => stream.write(bytes)));
  void container.ended.then(() => stream.end());
}
