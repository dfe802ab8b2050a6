import { constants } from 'node:os';
import { parseRfc3339 } from '../../platform/clock.ts';
import type { ExitInfo } from '../provider.ts';
import type { Pod, PodContainerStatus } from './api/pod.ts';
import { AGENT_CONTAINER, ANNOTATION_BEGUN, ANNOTATION_CITY, ANNOTATION_SESSION } from './manifest.ts';

/** What a pod says about the session in it. */
export type PodState =
  /** Being placed, pulled, prepared. `hopeless`: it will not come up without a change. */
  | {
      readonly kind: 'preparing';
      readonly note: string;
      readonly hopeless: boolean;
      readonly running: boolean;
    }
  | { readonly kind: 'alive'; readonly note: string | undefined }
  | { readonly kind: 'dead'; readonly exit: ExitInfo; readonly message: string };

/** Waiting reasons that do not pass by themselves; Source: kubelet. */
const HOPELESS = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
  'PreCreateHookError',
  'PostStartHookError',
]);
/** Reasons of a container's end that say no more than its code. */
const PLAIN_ENDS = new Set(['', 'Completed', 'Error']);
const MESSAGE_CHARS = 300;
const SIGNAL_OFFSET = 128;

export const sessionOf = (pod: Pod, cityId: string): string | undefined =>
  pod.metadata.annotations?.[ANNOTATION_CITY] === cityId
    ? pod.metadata.annotations[ANNOTATION_SESSION]
    : undefined;

export const isDeleting = (pod: Pod): boolean => pod.metadata.deletionTimestamp !== undefined;
export const createdAt = (pod: Pod): number => parseRfc3339(pod.metadata.creationTimestamp) ?? 0;

export function podState(pod: Pod): PodState {
  const status = pod.status ?? {};
  const agent = containerOf(pod, AGENT_CONTAINER);
  const ended = agent?.state?.terminated;
  const nodeLost = status.reason === 'NodeLost';
  if (ended) return { kind: 'dead', exit: exitOf(pod, ended), message: ended.message ?? '' };
  if (status.phase === 'Failed' || status.phase === 'Succeeded') return neverRan(pod);
  if (nodeLost && isDeleting(pod)) {
    return { kind: 'dead', exit: { reason: reasonText('NodeLost', status.message) }, message: '' };
  }
  if (nodeLost) return { kind: 'alive', note: reasonText('NodeLost', status.message) };
  const begun = pod.metadata.annotations?.[ANNOTATION_BEGUN] !== undefined;
  if (agent?.state?.running && begun) {
    return { kind: 'alive', note: isDeleting(pod) ? 'its pod is being deleted' : undefined };
  }
  return preparing(pod, agent);
}

/** When the pod that is left of a session is gone: how it ended, if that was told. */
export function exitOfDeleted(pod: Pod): ExitInfo {
  const state = podState(pod);
  if (state.kind === 'dead')
    return state.exit.reason === undefined ? { ...state.exit, reason: 'deleted' } : state.exit;
  return { reason: 'deleted' };
}

/** Whether the init container that waits for files runs. */
export const isStaging = (pod: Pod, container: string): boolean =>
  (pod.status?.initContainerStatuses ?? []).some((each) => each.name === container && each.state?.running);

function preparing(pod: Pod, agent: PodContainerStatus | undefined): PodState {
  const running = agent?.state?.running !== undefined;
  const unplaced = (pod.status?.conditions ?? []).find(
    (each) => each.type === 'PodScheduled' && each.status === 'False',
  );
  if (unplaced) {
    const note = reasonText(unplaced.reason ?? 'Unschedulable', unplaced.message);
    return { kind: 'preparing', note, hopeless: false, running };
  }
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  const waiting = statuses
    .map((each) => each.state?.waiting)
    .find((each) => HOPELESS.has(each?.reason ?? ''));
  if (waiting) {
    return {
      kind: 'preparing',
      note: reasonText(waiting.reason ?? '', waiting.message),
      hopeless: true,
      running,
    };
  }
  const what = running ? 'the agent has not begun yet' : (agent?.state?.waiting?.reason ?? 'not placed yet');
  return { kind: 'preparing', note: what, hopeless: false, running };
}

/** The pod ended before, or without, its agent: an init container failed, or the node threw it out. */
function neverRan(pod: Pod): PodState {
  const { reason, message } = pod.status ?? {};
  if (reason) return { kind: 'dead', exit: { reason: reasonText(reason, message) }, message: '' };
  const failed = (pod.status?.initContainerStatuses ?? []).find(
    (each) => (each.state?.terminated?.exitCode ?? 0) !== 0,
  );
  const ended = failed?.state?.terminated;
  if (!ended) return { kind: 'dead', exit: {}, message: message ?? '' };
  const why = `init container ${failed.name}: ${ended.reason ?? 'Error'}`;
  return { kind: 'dead', exit: { ...codeOf(ended.exitCode), reason: why }, message: ended.message ?? '' };
}

type Terminated = NonNullable<NonNullable<PodContainerStatus['state']>['terminated']>;

function exitOf(pod: Pod, ended: Terminated): ExitInfo {
  const exit = ended.signal ? signalOf(ended.signal) : codeOf(ended.exitCode);
  const own = ended.reason ?? '';
  const reason = pod.status?.reason
    ? reasonText(pod.status.reason, pod.status.message)
    : reasonOfEnd(own, ended);
  return reason === '' ? exit : { ...exit, reason };
}

/** What a container that never ran says is the runtime's word; of one that ran it is the end of its output. */
function reasonOfEnd(reason: string, ended: Terminated): string {
  if (PLAIN_ENDS.has(reason)) return '';
  const ran = reason === 'OOMKilled';
  return reasonText(reason, ran ? undefined : ended.message);
}

function codeOf(code: number): ExitInfo {
  return code > SIGNAL_OFFSET ? signalOf(code - SIGNAL_OFFSET, code) : { code };
}

function signalOf(number: number, code = SIGNAL_OFFSET + number): ExitInfo {
  const found = Object.entries(constants.signals).find(([, value]) => value === number);
  return found ? { signal: found[0] } : { code };
}

function containerOf(pod: Pod, name: string): PodContainerStatus | undefined {
  return (pod.status?.containerStatuses ?? []).find((each) => each.name === name);
}

function reasonText(reason: string, message: string | undefined): string {
  const said = (message ?? '').trim().replace(/\s+/g, ' ').slice(0, MESSAGE_CHARS);
  return said === '' ? reason : `${reason}: ${said}`;
}
