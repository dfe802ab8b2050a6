import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../platform/fake-clock.ts';
import type { RuntimeEvent } from '../provider.ts';
import { type Pod, parsePod } from './api/pod.ts';
import { PodSessions } from './pod-sessions.ts';
import { podState } from './pod-state.ts';

const NOW = Date.parse('2026-01-01T00:10:00Z');
const YOUNG = '2026-01-01T00:09:00Z';
const OLD = '2026-01-01T00:00:00Z';

interface Shape {
  readonly uid?: string;
  readonly created?: string;
  readonly deleting?: boolean;
  readonly begun?: boolean;
  readonly city?: string;
  readonly state?: object;
  readonly status?: object;
  readonly annotations?: Record<string, string>;
}

const pod = (shape: Shape = {}): Pod =>
  parsePod({
    metadata: {
      name: 'p',
      uid: shape.uid ?? 'u1',
      creationTimestamp: shape.created ?? YOUNG,
      ...(shape.deleting ? { deletionTimestamp: YOUNG } : {}),
      annotations: {
        'gc-session-name': 's',
        'gc-city': shape.city ?? 'ours',
        ...(shape.begun === false ? {} : { 'gc-begun': YOUNG }),
        ...shape.annotations,
      },
    },
    spec: { nodeName: 'node-1' },
    status: {
      phase: 'Running',
      containerStatuses: [{ name: 'agent', state: shape.state ?? { running: {} } }],
      ...shape.status,
    },
  });

const ended = (exitCode: number, more: object = {}) => ({ terminated: { exitCode, ...more } });

describe('what a pod says about its session', () => {
  it.each([
    ['an exit code', { state: ended(3, { reason: 'Error' }) }, { code: 3 }],
    ['success', { state: ended(0, { reason: 'Completed' }) }, { code: 0 }],
    ['a signal, told as a code', { state: ended(137, { reason: 'Error' }) }, { signal: 'SIGKILL' }],
    [
      'memory',
      { state: ended(137, { reason: 'OOMKilled', message: 'last output' }) },
      { signal: 'SIGKILL', reason: 'OOMKilled' },
    ],
    [
      'a command that is not there',
      { state: ended(128, { reason: 'StartError', message: 'exec: "x": not found' }) },
      { code: 128, reason: 'StartError: exec: "x": not found' },
    ],
    [
      'the node, short of memory',
      { state: {}, status: { phase: 'Failed', reason: 'Evicted', message: 'low on memory' } },
      { reason: 'Evicted: low on memory' },
    ],
    [
      'a node that is gone, once the cluster gives the pod up',
      { deleting: true, status: { reason: 'NodeLost', message: 'node-1' } },
      { reason: 'NodeLost: node-1' },
    ],
  ])('%s is an end with its reason', (_, shape, exit) => {
    expect(podState(pod(shape))).toMatchObject({ kind: 'dead', exit });
  });

  it('a node that does not answer is no death yet', () => {
    expect(podState(pod({ status: { phase: 'Unknown', reason: 'NodeLost', message: 'node-1' } }))).toEqual({
      kind: 'alive',
      note: 'NodeLost: node-1',
    });
  });

  it('K8S-07 a container that cannot start says why, and that waiting is of no use', () => {
    const waiting = (reason: string, message = 'm') =>
      pod({ begun: false, state: { waiting: { reason, message } } });
    expect(podState(waiting('ErrImagePull', 'no such image'))).toMatchObject({
      kind: 'preparing',
      note: 'ErrImagePull: no such image',
      hopeless: true,
    });
    expect(podState(waiting('CreateContainerConfigError'))).toMatchObject({ hopeless: true });
    expect(podState(waiting('ContainerCreating'))).toMatchObject({ hopeless: false });
    const conditions = [
      { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes' },
    ];
    expect(
      podState(pod({ begun: false, state: {}, status: { phase: 'Pending', conditions } })),
    ).toMatchObject({
      note: 'Unschedulable: 0/3 nodes',
      hopeless: false,
    });
  });
});

describe('sessions in memory', () => {
  const world = (lines: Promise<string> | undefined = Promise.resolve('last words')) => {
    const events: RuntimeEvent[] = [];
    const preparing = new Set<string>();
    const sessions = new PodSessions({
      cityId: 'ours',
      clock: new FakeClock(NOW),
      startupGraceMs: 240_000,
      isPreparing: (uid) => preparing.has(uid),
      lastLines: lines && (() => lines),
      emit: (event) => events.push(event),
    });
    return { events, preparing, sessions };
  };
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  it('K8S-01 a young pod whose agent has not begun is initializing, an abandoned old one a corpse', () => {
    const { sessions, preparing } = world();
    sessions.onChange(undefined, pod({ begun: false }));
    expect(sessions.session('s')).toMatchObject({ state: { kind: 'alive' }, initializing: true });
    const old = pod({ begun: false, created: OLD });
    sessions.onChange(undefined, old);
    expect(sessions.session('s')).toMatchObject({ state: { kind: 'dead' } });
    preparing.add('u1');
    expect(sessions.session('s')).toMatchObject({ state: { kind: 'alive' }, initializing: true });
  });

  it('another city’s pod in the same namespace is not there', () => {
    const { sessions } = world();
    sessions.onChange(undefined, pod({ city: 'theirs' }));
    expect(sessions.all().size).toBe(0);
  });

  it('an end is told once, with its last lines', async () => {
    const { sessions, events } = world();
    sessions.onChange(undefined, pod());
    sessions.onChange(pod(), pod({ state: ended(5) }));
    expect(sessions.session('s')?.state.kind).toBe('alive');
    await settle();
    expect(sessions.session('s')?.state).toEqual({
      kind: 'dead',
      exit: { code: 5 },
      lastLines: 'last words',
    });
    sessions.onChange(pod({ state: ended(5) }), pod({ state: ended(5) }));
    sessions.onChange(pod({ state: ended(5) }), undefined);
    await settle();
    expect(events).toEqual([{ kind: 'exited', name: 's', exit: { code: 5 }, lastLines: 'last words' }]);
    expect(sessions.session('s')).toBeUndefined();
  });

  it('a pod that somebody deleted is an end with that reason, until the session is started or stopped', async () => {
    const { sessions, events } = world();
    sessions.onChange(undefined, pod());
    sessions.onChange(pod({ deleting: true }), undefined);
    await settle();
    expect(events).toEqual([
      { kind: 'exited', name: 's', exit: { reason: 'deleted' }, lastLines: 'last words' },
    ]);
    expect(sessions.session('s')?.state).toMatchObject({ kind: 'dead', exit: { reason: 'deleted' } });
    sessions.forget('s');
    expect(sessions.session('s')).toBeUndefined();
  });

  it('a stop, here or in another process of ours, is no news', async () => {
    const { sessions, events } = world();
    sessions.onChange(undefined, pod());
    sessions.expectEnd('u1');
    sessions.onChange(pod(), undefined);
    sessions.onChange(undefined, pod({ uid: 'u2' }));
    sessions.onChange(pod({ uid: 'u2', annotations: { 'gc-stopped': YOUNG } }), undefined);
    await settle();
    expect(events).toEqual([]);
    expect(sessions.all().size).toBe(0);
  });

  it('a new pod beside one that goes stands for the session', () => {
    const { sessions } = world();
    sessions.onChange(undefined, pod({ uid: 'u1', deleting: true }));
    sessions.onChange(undefined, pod({ uid: 'u2' }));
    expect(sessions.podOf('s')?.metadata.uid).toBe('u2');
  });
});
