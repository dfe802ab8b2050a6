import type { Clock } from '../../platform/clock.ts';
import { plainLines } from '../plain-lines.ts';
import type { KubeApi } from './api/kube-api.ts';
import type { Pod } from './api/pod.ts';
import { AGENT_CONTAINER } from './manifest.ts';
import type { PodStreams } from './pod-streams.ts';

const TAIL_LINES = 20;
const TAIL_CHARS = 4_096;
const STREAM_POLL_MS = 30;

/** The end of some raw output, for people. */
export function plainTail(raw: string): string {
  const lines = [...plainLines(raw)];
  while (lines.at(-1) === '') lines.pop();
  return lines.slice(-TAIL_LINES).join('\n').slice(-TAIL_CHARS);
}

export interface LastLinesSources {
  readonly streams: PodStreams;
  readonly api: () => Promise<KubeApi>;
  readonly clock: Clock;
}

/**
 * The last lines of an agent that ended: as its screen showed them where there is one, else as the cluster kept them.
 * `message` is what the container's end carries, which is the end of its output for a failure only. `''` after `limitMs`.
 */
export async function lastLinesOf(
  sources: LastLinesSources,
  name: string,
  pod: Pod,
  message: string,
  limitMs: number,
): Promise<string> {
  const over = new AbortController();
  const late = sources.clock.sleep(limitMs, over.signal).then(
    () => '',
    () => '', // found in time
  );
  const gather = async () =>
    (await fromScreen(sources, name, pod, over.signal, limitMs / 2)) ||
    (await fromCluster(sources, pod, message, over.signal));
  try {
    return await Promise.race([gather().catch(() => plainTail(message)), late]);
  } finally {
    over.abort();
  }
}

/** The stream's end comes a moment after, or before, the cluster's word. */
async function fromScreen(
  { streams, clock }: LastLinesSources,
  name: string,
  pod: Pod,
  signal: AbortSignal,
  limitMs: number,
): Promise<string> {
  const until = clock.monotonic() + limitMs;
  for (;;) {
    const seen = await streams.look(name, pod.metadata.uid);
    if (!seen) return '';
    if (seen.state.kind === 'dead') return seen.state.lastLines;
    if (clock.monotonic() > until) return '';
    await clock.sleep(STREAM_POLL_MS, signal);
  }
}

async function fromCluster(
  { api }: LastLinesSources,
  pod: Pod,
  message: string,
  signal: AbortSignal,
): Promise<string> {
  if (message !== '') return plainTail(message);
  const cluster = await api();
  return plainTail(await cluster.podLog(pod.metadata.name, AGENT_CONTAINER, TAIL_LINES, signal));
}
