import {
  type Condition,
  type ContainerSpec,
  type ContainerState,
  type ContainerStatus,
  type Pod,
  type PodStatus,
  timestamp,
} from './shapes.ts';

/** What the node knows of a pod. The status is a function of it. */
export interface PodFacts {
  readonly scheduled: boolean;
  /** Why it has no node yet. */
  readonly unschedulable: { readonly reason: string; readonly message: string } | undefined;
  readonly startedAt: string | undefined;
  readonly states: ReadonlyMap<string, ContainerState>;
  /** The node ended it: a phase that its containers do not tell. */
  readonly failed: { readonly reason: string; readonly message: string } | undefined;
  readonly nodeLost: string | undefined;
}

export function statusOf(pod: Pod, facts: PodFacts, before: PodStatus): PodStatus {
  const { initContainers = [], containers } = pod.spec;
  const stateOf = (container: ContainerSpec): ContainerState =>
    facts.states.get(container.name) ?? {
      waiting: { reason: initContainers.length > 0 ? 'PodInitializing' : 'ContainerCreating' },
    };
  const init = initContainers.map(stateOf);
  const main = containers.map(stateOf);
  const phase = phaseOf(facts, init, main);
  const qosClass = 'Burstable';
  const lost = facts.nodeLost === undefined ? undefined : { reason: 'NodeLost', message: facts.nodeLost };
  const why = facts.failed ?? lost;
  const conditions = conditionsOf(pod, facts, phase, init, main, before.conditions ?? []);
  if (!facts.scheduled) return { phase, conditions, qosClass };
  return {
    phase,
    conditions,
    ...(why ?? {}),
    ...(facts.startedAt === undefined ? {} : { startTime: facts.startedAt }),
    ...(initContainers.length === 0
      ? {}
      : { initContainerStatuses: initContainers.map((one, i) => statusEntry(one, init[i], 'init')) }),
    containerStatuses: containers.map((one, i) => statusEntry(one, main[i], 'main')),
    qosClass,
  };
}

const exitOf = (state: ContainerState): number | undefined =>
  'terminated' in state ? state.terminated.exitCode : undefined;

function phaseOf(
  facts: PodFacts,
  init: readonly ContainerState[],
  main: readonly ContainerState[],
): PodStatus['phase'] {
  if (facts.failed) return 'Failed';
  if (facts.nodeLost !== undefined) return 'Unknown';
  const inits = init.map(exitOf);
  if (inits.some((code) => code !== undefined && code !== 0)) return 'Failed';
  const codes = main.map(exitOf);
  if (codes.every((code) => code !== undefined)) {
    return codes.every((code) => code === 0) ? 'Succeeded' : 'Failed';
  }
  const begun = main.every((state) => !('waiting' in state));
  return begun && inits.every((code) => code === 0) ? 'Running' : 'Pending';
}

function statusEntry(
  spec: ContainerSpec,
  state: ContainerState | undefined,
  kind: 'init' | 'main',
): ContainerStatus {
  const known = state ?? { waiting: { reason: 'ContainerCreating' } };
  const running = 'running' in known;
  const done = kind === 'init' && exitOf(known) === 0;
  const begun = !('waiting' in known);
  return {
    name: spec.name,
    image: spec.image,
    imageID: begun ? `docker.io/${spec.image}@sha256:${'0'.repeat(64)}` : '',
    ready: (running && kind === 'main') || done,
    started: running,
    restartCount: 0,
    state: known,
    lastState: {},
  };
}

function conditionsOf(
  pod: Pod,
  facts: PodFacts,
  phase: PodStatus['phase'],
  init: readonly ContainerState[],
  main: readonly ContainerState[],
  before: readonly Condition[],
): Condition[] {
  const condition = (type: string, holds: boolean, why: { reason: string; message?: string } | undefined) => {
    const status = holds ? ('True' as const) : ('False' as const);
    const old = before.find((one) => one.type === type && one.status === status);
    const lastTransitionTime = old?.lastTransitionTime ?? timestamp();
    return { type, status, ...(holds ? {} : (why ?? {})), lastProbeTime: null, lastTransitionTime };
  };
  if (!facts.scheduled) {
    if (!facts.unschedulable) return [];
    return [condition('PodScheduled', false, facts.unschedulable)];
  }
  const names = (
    specs: readonly ContainerSpec[],
    states: readonly ContainerState[],
    ok: (s: ContainerState) => boolean,
  ) =>
    specs
      .filter((_, index) => !ok(states[index] ?? { waiting: { reason: '' } }))
      .map((spec) => spec.name)
      .join(' ');
  const uninitialized = names(pod.spec.initContainers ?? [], init, (state) => exitOf(state) === 0);
  const unready = names(pod.spec.containers, main, (state) => 'running' in state);
  const notReady = readyReason(facts, phase, unready);
  const ready = facts.nodeLost === undefined && facts.failed === undefined && unready === '';
  return [
    condition('PodReadyToStartContainers', phase !== 'Succeeded' && phase !== 'Failed', undefined),
    condition('Initialized', uninitialized === '', {
      reason: 'ContainersNotInitialized',
      message: `containers with incomplete status: [${uninitialized}]`,
    }),
    condition('Ready', ready, notReady),
    condition('ContainersReady', ready, notReady),
    condition('PodScheduled', true, undefined),
  ];
}

function readyReason(
  facts: PodFacts,
  phase: PodStatus['phase'],
  unready: string,
): { reason: string; message?: string } {
  if (facts.nodeLost !== undefined) return { reason: 'NodeLost', message: facts.nodeLost };
  if (phase === 'Succeeded') return { reason: 'PodCompleted' };
  if (phase === 'Failed') return { reason: 'PodFailed' };
  return { reason: 'ContainersNotReady', message: `containers with unready status: [${unready}]` };
}
