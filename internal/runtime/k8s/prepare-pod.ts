import { type Clock, rfc3339 } from '../../platform/clock.ts';
import { codeOf, type GcError, messageOf } from '../../platform/errors.ts';
import type { Ids } from '../../platform/ids.ts';
import { StartFailedError } from '../errors.ts';
import type { RuntimeConfig } from '../runtime-config.ts';
import type { KubeApi } from './api/kube-api.ts';
import type { Pod } from './api/pod.ts';
import { beginScript, NOT_BEGUN_CODE } from './entrypoint.ts';
import type { PodInformer } from './informer.ts';
import { AGENT_CONTAINER, ANNOTATION_BEGUN, STAGE_CONTAINER } from './manifest.ts';
import type { PathMap } from './path-map.ts';
import { isStaging, type PodState, podState } from './pod-state.ts';
import type { PodStreams } from './pod-streams.ts';
import { stageWorkspace } from './staging/bring.ts';

/** On top of what the pre_start commands may take. */
const BEGIN_EXTRA_MS = 15_000;
/** What it looks like to run something in a container that ends at this moment. */
const MAY_HAVE_ENDED = new Set(['k8s-lost', 'k8s-not-found', 'k8s-exec-failed']);
/** The cluster tells a container's end a moment after its connections broke. */
const END_SEEN_MS = 5_000;

export interface Preparation {
  readonly api: KubeApi;
  readonly informer: PodInformer;
  readonly streams: PodStreams;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly session: string;
  readonly pod: Pod;
  readonly config: RuntimeConfig;
  readonly map: PathMap;
  readonly prebaked: boolean;
  readonly staged: boolean;
  readonly signal: AbortSignal;
}

/**
 * Brings a new pod to where its agent begins: files, a stream to its terminal, the word to begin, pre_start commands.
 * An agent that ended since is no failure of this. @throws StartFailedError for a pod that will never come to it
 */
export async function preparePod(preparation: Preparation): Promise<void> {
  const { api, informer, streams, session, pod, config, map, staged, ids, signal } = preparation;
  if (staged) {
    await seen(preparation, 'files', (now, state) =>
      isStaging(now, STAGE_CONTAINER) || (state.kind === 'preparing' && state.running) ? true : undefined,
    );
    const to = { api, pod: pod.metadata.name, container: STAGE_CONTAINER, ids, signal };
    await stageWorkspace(to, config, map);
  }
  await seen(preparation, 'its container', (_, state) =>
    state.kind === 'preparing' && state.running ? true : undefined,
  );
  await streams.ensure(session, pod, signal);
  if (!(await begin(preparation))) return;
  const begun = await api.annotatePod(pod.metadata.name, pod.metadata.uid, {
    [ANNOTATION_BEGUN]: rfc3339(preparation.clock.now()),
  });
  informer.apply(begun);
}

/** Gives the word. `false`: the agent has ended already. */
async function begin(preparation: Preparation): Promise<boolean> {
  const { api, pod, config, prebaked, signal } = preparation;
  const timeoutMs = config.preStart.length * config.setupTimeoutMs + BEGIN_EXTRA_MS;
  let said: string;
  let notBegunSaid = false;
  try {
    const result = await api.exec({
      pod: pod.metadata.name,
      container: AGENT_CONTAINER,
      argv: ['/bin/sh', '-c', beginScript(prebaked, timeoutMs)],
      timeoutMs: timeoutMs + BEGIN_EXTRA_MS,
      signal,
    });
    if (result.exit === 0) return true;
    said = result.stdout.toString('utf8').trim() || result.stderrTail.trim();
    notBegunSaid = result.exit === NOT_BEGUN_CODE;
  } catch (error) {
    if (signal.aborted || !MAY_HAVE_ENDED.has(codeOf(error) ?? '')) throw error;
    said = messageOf(error);
  }
  if (notBegunSaid) throw notBegun(said);
  return await endedInstead(preparation, said);
}

/** What runs beside a container's own process ends with it, often without a word: the cluster tells what happened. */
async function endedInstead(preparation: Preparation, said: string): Promise<false> {
  const { informer, signal, pod } = preparation;
  const limit = AbortSignal.any([signal, AbortSignal.timeout(END_SEEN_MS)]);
  const ended = await informer
    .until(() => deadState(informer.pods.get(pod.metadata.uid)), limit)
    .catch(() => undefined); // it lives: the exec itself is what failed
  signal.throwIfAborted();
  if (!ended) {
    throw new StartFailedError(
      'begin-failed',
      `the agent of pod ${pod.metadata.name} could not be begun: ${said}`,
      {
        next: `kubectl logs ${pod.metadata.name}`,
      },
    );
  }
  if (ended.exit.code === NOT_BEGUN_CODE && ended.message !== '') throw notBegun(ended.message.trim());
  return false;
}

function notBegun(said: string): StartFailedError {
  const code = said.startsWith('pre_start') ? 'pre-start-failed' : 'begin-failed';
  return new StartFailedError(code, `running ${said}`);
}

function deadState(pod: Pod | undefined): Extract<PodState, { kind: 'dead' }> | undefined {
  const state = pod && podState(pod);
  return state?.kind === 'dead' ? state : undefined;
}

/** Waits until the pod is so far. @throws StartFailedError at once when it never will be */
async function seen(
  { informer, pod, signal, session }: Preparation,
  what: string,
  reached: (pod: Pod, state: PodState) => true | undefined,
): Promise<void> {
  await informer.until(() => {
    if (informer.denial) throw informer.denial;
    const now = informer.pods.get(pod.metadata.uid);
    if (!now) throw neverCame(session, what, 'its pod was deleted');
    const state = podState(now);
    if (state.kind === 'dead')
      throw neverCame(session, what, state.exit.reason ?? (state.message || 'its pod ended'));
    if (state.kind === 'preparing' && state.hopeless) throw neverCame(session, what, state.note);
    return reached(now, state);
  }, signal);
}

function neverCame(session: string, what: string, why: string): GcError {
  return new StartFailedError(
    'pod-not-started',
    `the pod of session "${session}" does not start (waited for ${what}): ${why}`,
    {
      next: 'look at session.k8s.image and the cluster: kubectl describe pod',
    },
  );
}
