import { StringDecoder } from 'node:string_decoder';
import type { Clock } from '../../../platform/clock.ts';
import { messageOf } from '../../../platform/errors.ts';
import { execInPod } from '../channel/exec-in-pod.ts';
import { type ClusterAccess, openClusterAccess } from './cluster-access.ts';
import type { ClusterTarget } from './cluster-target.ts';
import { callForStream, callForText, type HttpCall } from './http-call.ts';
import type { KubeApi, PodWatchEvent } from './kube-api.ts';
import { type KubeCall, KubeError, kubeErrorOf } from './kube-error.ts';
import {
  type Pod,
  parseBookmark,
  parsePod,
  parsePodList,
  parsePodMetrics,
  parseStatus,
  parseWatchLine,
} from './pod.ts';

const CALL_TIMEOUT_MS = 10_000;
const LIST_TIMEOUT_MS = 30_000;
const PAGE_SIZE = 500;
/** A page that has expired is begun anew so many times. */
const LIST_ATTEMPTS = 3;
const LOG_LIMIT_BYTES = 65_536;
/** One event holds one pod; a longer line is no answer of an API server. */
const MAX_LINE_CHARS = 8_388_608;

/** The cluster over its HTTP API. @throws as `openClusterAccess` */
export function openKubeApi(target: ClusterTarget, namespace: string, clock: Clock): KubeApi {
  return new HttpKubeApi(openClusterAccess(target), namespace, clock);
}

class HttpKubeApi implements KubeApi {
  readonly #access: ClusterAccess;
  readonly #namespace: string;
  readonly #clock: Clock;
  readonly #lifetime = new AbortController();

  constructor(access: ClusterAccess, namespace: string, clock: Clock) {
    this.#access = access;
    this.#namespace = namespace;
    this.#clock = clock;
  }

  listPods: KubeApi['listPods'] = async (query, signal) => {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#listOnce(query.labelSelector, query.limit ?? PAGE_SIZE, signal);
      } catch (error) {
        const expired = error instanceof KubeError && error.kind === 'gone';
        if (!expired || attempt === LIST_ATTEMPTS) throw error;
      }
    }
  };

  watchPods: KubeApi['watchPods'] = async (query, onEvent, signal) => {
    const call: HttpCall & { readonly signal: AbortSignal } = {
      ...this.#about('watch', 'pods', ''),
      method: 'GET',
      path: this.#pods(),
      query: {
        watch: 'true',
        allowWatchBookmarks: 'true',
        labelSelector: query.labelSelector,
        resourceVersion: query.resourceVersion,
        timeoutSeconds: String(query.timeoutSeconds),
      },
      timeoutMs: CALL_TIMEOUT_MS,
      signal: AbortSignal.any([signal, this.#lifetime.signal]),
    };
    const response = await callForStream(this.#access, call);
    query.onOpen?.();
    const decoder = new StringDecoder('utf8');
    let rest = '';
    try {
      for await (const bytes of response) {
        const lines = (rest + decoder.write(Buffer.from(bytes))).split('\n');
        rest = lines.pop() ?? '';
        if (rest.length > MAX_LINE_CHARS) throw new Error('an event has no end');
        for (const line of lines) if (line !== '') onEvent(eventOf(line, call));
      }
    } catch (error) {
      if (call.signal.aborted) throw call.signal.reason;
      if (error instanceof KubeError) throw error;
      throw new KubeError('unavailable', `the watch of pods broke: ${messageOf(error)}`, { cause: error });
    } finally {
      response.destroy();
    }
  };

  getPod: KubeApi['getPod'] = async (name, signal) => {
    const call = { ...this.#about('get', 'pods', name), path: this.#pods(name), signal };
    return await unlessMissing(async () => parsePod(await this.#ask({ ...call, method: 'GET' })));
  };

  createPod: KubeApi['createPod'] = async (manifest, signal) => {
    const call = { ...this.#about('create', 'pods', ''), path: this.#pods(), signal };
    return parsePod(await this.#ask({ ...call, method: 'POST', body: manifest }));
  };

  annotatePod: KubeApi['annotatePod'] = async (name, uid, annotations) =>
    parsePod(
      await this.#ask({
        ...this.#about('patch', 'pods', name),
        method: 'PATCH',
        path: this.#pods(name),
        contentType: 'application/merge-patch+json',
        body: { metadata: { uid, annotations } },
      }),
    );

  deletePod: KubeApi['deletePod'] = async (name, uid, graceSeconds) => {
    try {
      await this.#ask({
        ...this.#about('delete', 'pods', name),
        method: 'DELETE',
        path: this.#pods(name),
        body: { gracePeriodSeconds: graceSeconds, preconditions: { uid } },
      });
    } catch (error) {
      const gone = error instanceof KubeError && (error.kind === 'not-found' || error.kind === 'conflict');
      if (!gone) throw error;
    }
  };

  podLog: KubeApi['podLog'] = async (name, container, tailLines, signal) =>
    await callForText(this.#access, {
      ...this.#about('get', 'pods/log', name),
      method: 'GET',
      path: `${this.#pods(name)}/log`,
      query: { container, tailLines: String(tailLines), limitBytes: String(LOG_LIMIT_BYTES) },
      timeoutMs: CALL_TIMEOUT_MS,
      signal: this.#within(signal),
    });

  exec: KubeApi['exec'] = async (request) =>
    await execInPod(
      this.#access,
      {
        ...request,
        namespace: this.#namespace,
        ...(request.signal && { signal: AbortSignal.any([request.signal, this.#lifetime.signal]) }),
      },
      this.#clock,
    );

  podMetrics: KubeApi['podMetrics'] = async (labelSelector) =>
    await unlessMissing(async () =>
      parsePodMetrics(
        await this.#ask({
          ...this.#about('list', 'pods.metrics.k8s.io', ''),
          method: 'GET',
          path: `/apis/metrics.k8s.io/v1beta1/namespaces/${this.#namespace}/pods`,
          query: { labelSelector },
        }),
      ),
    );

  close(): void {
    this.#lifetime.abort(new KubeError('unavailable', 'the connection to the cluster was closed'));
    this.#access.close();
  }

  async #listOnce(labelSelector: string, limit: number, signal: AbortSignal | undefined) {
    const pods: Pod[] = [];
    let next: string | undefined;
    for (;;) {
      const page = parsePodList(
        await this.#ask({
          ...this.#about('list', 'pods', ''),
          method: 'GET',
          path: this.#pods(),
          query: { labelSelector, limit: String(limit), ...(next === undefined ? {} : { continue: next }) },
          timeoutMs: LIST_TIMEOUT_MS,
          signal,
        }),
      );
      pods.push(...(page.items ?? []));
      next = page.metadata?.continue || undefined;
      if (next === undefined) return { pods, resourceVersion: page.metadata?.resourceVersion ?? '' };
    }
  }

  async #ask(call: Omit<HttpCall, 'timeoutMs'> & { readonly timeoutMs?: number }): Promise<unknown> {
    const body = await callForText(this.#access, {
      timeoutMs: CALL_TIMEOUT_MS,
      ...call,
      signal: this.#within(call.signal),
    });
    try {
      return JSON.parse(body);
    } catch (error) {
      throw new KubeError('unavailable', `${call.server} did not answer in JSON: ${body.slice(0, 80)}`, {
        cause: error,
      });
    }
  }

  #within(signal: AbortSignal | undefined): AbortSignal {
    return signal ? AbortSignal.any([signal, this.#lifetime.signal]) : this.#lifetime.signal;
  }

  #pods(name = ''): string {
    const base = `/api/v1/namespaces/${this.#namespace}/pods`;
    return name === '' ? base : `${base}/${encodeURIComponent(name)}`;
  }

  #about(verb: string, resource: string, name: string): KubeCall {
    return { verb, resource, name, namespace: this.#namespace, server: this.#access.server.host };
  }
}

/** @throws KubeError for an `ERROR` event, which is how a watch says that its version is gone */
function eventOf(line: string, call: KubeCall): PodWatchEvent {
  const { type, object } = parseWatchLine(JSON.parse(line));
  switch (type) {
    case 'ADDED':
      return { kind: 'added', pod: parsePod(object) };
    case 'MODIFIED':
      return { kind: 'modified', pod: parsePod(object) };
    case 'DELETED':
      return { kind: 'deleted', pod: parsePod(object) };
    case 'BOOKMARK':
      return { kind: 'bookmark', resourceVersion: parseBookmark(object) };
    default: {
      const status = parseStatus(object);
      throw kubeErrorOf(call, status.code ?? 500, status);
    }
  }
}

async function unlessMissing<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof KubeError && error.kind === 'not-found') return undefined;
    throw error;
  }
}
