import type { ClusterAccess } from '../api/cluster-access.ts';
import { callForStream, callForText, type HttpCall } from '../api/http-call.ts';
import { KubeError } from '../api/kube-error.ts';
import { type Pod, parsePod } from '../api/pod.ts';
import type { PodContainer } from '../channel/channel-errors.ts';

const ASK_TIMEOUT_MS = 10_000;
/** A line of a log is at most 16 KiB, the rest of it is the next one: so this is at most 3.2 MB to read. */
const LOG_LINES = 200;
/** Kept of it: many screens. */
const LOG_BYTES = 262_144;
const LINE_FEED = 10;

/** The one pod that a stream is for: another with its name is not it. */
export interface PodIdentity extends PodContainer {
  readonly uid: string;
}

export type PodState =
  | { readonly kind: 'running' }
  /** Its container is not there yet. */
  | { readonly kind: 'waiting'; readonly why: string }
  /** It will never run again. */
  | { readonly kind: 'over'; readonly why: string };

/** @throws KubeError; the signal's reason */
export async function lookAtPod(
  access: ClusterAccess,
  pod: PodIdentity,
  signal: AbortSignal,
): Promise<PodState> {
  try {
    return stateOf(
      parsePod(JSON.parse(await callForText(access, callAbout(access, pod, 'pods', signal)))),
      pod,
    );
  } catch (error) {
    if (error instanceof KubeError && error.kind === 'not-found')
      return { kind: 'over', why: 'the pod is gone' };
    throw error;
  }
}

function stateOf(found: Pod, pod: PodIdentity): PodState {
  if (found.metadata.uid !== pod.uid) return { kind: 'over', why: 'another pod has its name by now' };
  const phase = found.status?.phase ?? '';
  if (phase === 'Succeeded' || phase === 'Failed')
    return { kind: 'over', why: `the pod has ended (${phase})` };
  const container = found.status?.containerStatuses?.find((each) => each.name === pod.container);
  if (container?.state?.terminated) return { kind: 'over', why: 'its program has ended' };
  if (container?.state?.running) return { kind: 'running' };
  return { kind: 'waiting', why: container?.state?.waiting?.reason ?? (phase || 'no state') };
}

export interface LogTail {
  readonly bytes: Buffer;
  /** More came before it. */
  readonly cut: boolean;
}

/** The end of what the container has written, byte by byte. @throws as `lookAtPod` */
export async function logTail(
  access: ClusterAccess,
  pod: PodIdentity,
  signal: AbortSignal,
): Promise<LogTail> {
  const late = AbortSignal.timeout(ASK_TIMEOUT_MS);
  const call = callAbout(access, pod, 'pods/log', AbortSignal.any([signal, late]));
  const query = { container: pod.container, tailLines: String(LOG_LINES) };
  const response = await callForStream(access, { ...call, path: `${call.path}/log`, query });
  const { bytes, cut } = await endOf(response);
  const lines = bytes.reduce((count, byte) => count + (byte === LINE_FEED ? 1 : 0), 0);
  return { bytes, cut: cut || lines >= LOG_LINES };
}

async function endOf(response: AsyncIterable<Buffer>): Promise<LogTail> {
  let parts: Buffer[] = [];
  let length = 0;
  let total = 0;
  for await (const part of response) {
    parts.push(part);
    length += part.length;
    total += part.length;
    if (length <= 2 * LOG_BYTES) continue;
    parts = [Buffer.concat(parts).subarray(-LOG_BYTES)];
    length = LOG_BYTES;
  }
  return { bytes: Buffer.concat(parts).subarray(-LOG_BYTES), cut: total > LOG_BYTES };
}

function callAbout(
  access: ClusterAccess,
  { namespace, pod }: PodIdentity,
  resource: string,
  signal: AbortSignal,
): HttpCall & { readonly signal: AbortSignal } {
  return {
    method: 'GET',
    verb: 'get',
    resource,
    namespace,
    name: pod,
    server: access.server.host,
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(pod)}`,
    timeoutMs: ASK_TIMEOUT_MS,
    signal,
  };
}
