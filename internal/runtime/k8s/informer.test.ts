import { afterEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../platform/fake-clock.ts';
import { seededIds } from '../../platform/ids.ts';
import { KubeError } from './api/kube-error.ts';
import type { Pod } from './api/pod.ts';
import { backOffMs, PodInformer } from './informer.ts';
import { DEFAULT_K8S_TIMINGS } from './k8s-options.ts';
import { aPod, ScriptedKube } from './testing/scripted-kube.ts';

const opened: PodInformer[] = [];
afterEach(() => {
  for (const informer of opened.splice(0)) informer.close();
});

interface World {
  readonly clock: FakeClock;
  readonly kube: ScriptedKube;
  readonly informer: PodInformer;
  readonly changes: (readonly [Pod | undefined, Pod | undefined])[];
}

async function world(pods: readonly Pod[] = [], failure?: Error): Promise<World> {
  const clock = new FakeClock();
  const kube = new ScriptedKube();
  kube.pods = pods;
  kube.version = 100;
  kube.failure = failure;
  const changes: (readonly [Pod | undefined, Pod | undefined])[] = [];
  const informer = new PodInformer({
    api: async () => kube.api,
    labelSelector: 'app=gc-agent',
    clock,
    ids: seededIds(1),
    timings: DEFAULT_K8S_TIMINGS,
    onChange: (before, after) => changes.push([before, after]),
  });
  opened.push(informer);
  informer.start();
  await clock.advance(0);
  return { clock, kube, informer, changes };
}

const last = (kube: ScriptedKube) => {
  const watch = kube.watches.at(-1);
  if (!watch) throw new Error('no watch is open');
  return watch;
};

describe('pods in memory', () => {
  it('one list, then one watch from there, tell everything', async () => {
    const { kube, informer, clock } = await world([aPod('a', 90)]);
    expect(informer.state.kind).toBe('synced');
    expect(last(kube).query.resourceVersion).toBe('100');
    last(kube).tell({ kind: 'added', pod: aPod('b', 101) });
    last(kube).tell({ kind: 'deleted', pod: aPod('a', 102) });
    expect([...informer.pods.keys()]).toEqual(['b']);
    last(kube).tell({ kind: 'bookmark', resourceVersion: '150' });
    last(kube).end();
    await clock.advance(5_000);
    expect(last(kube).query.resourceVersion).toBe('150');
    expect(kube.lists).toBe(1);
  });

  it('what a call was answered counts at once, and nothing late undoes it', async () => {
    const { kube, informer } = await world();
    informer.apply(aPod('a', 120));
    last(kube).tell({ kind: 'added', pod: aPod('a', 110) });
    expect(informer.pods.get('a')?.metadata.resourceVersion).toBe('120');
    informer.remove('a');
    last(kube).tell({ kind: 'modified', pod: aPod('a', 125) });
    expect(informer.pods.size).toBe(0);
  });

  it('a version that the server has forgotten leads to a new list, which finds what went meanwhile', async () => {
    const { kube, informer, clock, changes } = await world([aPod('a', 90), aPod('b', 91)]);
    kube.pods = [aPod('b', 91)];
    kube.version = 500;
    last(kube).break(new KubeError('gone', 'too old'));
    await clock.advance(1_000);
    expect([...informer.pods.keys()]).toEqual(['b']);
    expect(changes.at(-1)?.[1]).toBeUndefined();
    expect(last(kube).query.resourceVersion).toBe('500');
  });

  it('K8S-05 a watch that says nothing any more is opened anew, and all is listed anew now and then', async () => {
    const { kube, clock, informer } = await world([aPod('a', 90)]);
    const first = kube.watches.length;
    await clock.advance(DEFAULT_K8S_TIMINGS.silentMs + 1_000);
    expect(kube.watches.length).toBe(first + 1);
    await clock.advance(DEFAULT_K8S_TIMINGS.relistMs + 120_000);
    expect(kube.lists).toBeGreaterThan(1);
    expect(informer.state.kind).toBe('synced');
  });

  it('K8S-05 what was last heard of too long ago is unknown, not as it was', async () => {
    const { kube, clock, informer } = await world([aPod('a', 90)]);
    kube.failure = new KubeError('unavailable', 'no route to it');
    last(kube).break(new KubeError('unavailable', 'cut'));
    await clock.advance(2_000);
    expect(informer.state.kind).toBe('synced');
    await clock.advance(10_000);
    expect(informer.state).toMatchObject({
      kind: 'unknown',
      reason: expect.stringContaining('no route to it'),
    });
    kube.failure = undefined;
    await clock.advance(60_000);
    expect(informer.state.kind).toBe('synced');
  });

  it('a cluster that may be listed and not watched is unknown at once, with the right that is missing', async () => {
    const { kube, clock, informer } = await world([aPod('a', 90)]);
    kube.failure = new KubeError('forbidden', 'we may not watch pods');
    last(kube).end();
    await clock.advance(1_000);
    expect(informer.denial).toBe(kube.failure);
    expect(informer.state).toMatchObject({
      kind: 'unknown',
      reason: expect.stringContaining('we may not watch pods'),
    });
    kube.failure = undefined;
    await clock.advance(60_000);
    expect([informer.denial, informer.state.kind]).toEqual([undefined, 'synced']);
  });

  it('a cluster that was never seen is unknown, with the reason', async () => {
    const { informer } = await world([], new KubeError('forbidden', 'we may not list pods'));
    expect(informer.state).toMatchObject({
      kind: 'unknown',
      reason: expect.stringContaining('we may not list pods'),
    });
  });

  it('whoever waits hears of every change and of every failure, and asks nothing', async () => {
    const { kube, informer, clock } = await world();
    const before = kube.requests;
    const found = informer.until(() => informer.pods.get('x'), new AbortController().signal);
    last(kube).tell({ kind: 'added', pod: aPod('x', 101) });
    expect((await found).metadata.uid).toBe('x');
    expect(kube.requests).toBe(before);
    const stop = new AbortController();
    const waiting = informer.until(() => undefined, stop.signal);
    stop.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await clock.advance(0);
  });
});

describe('K8S-08 requests to the cluster', () => {
  it('in an idle city do not grow with the number of pods', async () => {
    const minutes = 60;
    const counts: number[] = [];
    for (const size of [1, 500]) {
      const { kube, clock } = await world(
        Array.from({ length: size }, (_, index) => aPod(`p${index}`, index + 1)),
      );
      for (let minute = 0; minute < minutes; minute += 1) {
        last(kube).tell({ kind: 'bookmark', resourceVersion: String(1_000 + minute) });
        await clock.advance(60_000);
      }
      counts.push(kube.requests);
    }
    expect(counts[1]).toBe(counts[0]);
    expect(counts[0]).toBeLessThan(minutes);
  });

  it('of a cluster that refuses everything become rare', async () => {
    const { kube, clock } = await world();
    kube.failure = new KubeError('unavailable', 'restarting');
    last(kube).break(new KubeError('unavailable', 'cut'));
    const before = kube.requests;
    await clock.advance(600_000);
    expect(kube.requests - before).toBeLessThan(60);
  });

  it('of one that ends every watch at once do, too', async () => {
    const { kube, clock } = await world();
    const before = kube.requests;
    for (let second = 0; second < 300; second += 1) {
      last(kube).end();
      await clock.advance(1_000);
    }
    expect(kube.requests - before).toBeLessThan(40);
  });

  it('of one that forgets every version do, too', async () => {
    const { kube, clock } = await world();
    const before = kube.requests;
    for (let second = 0; second < 300; second += 1) {
      last(kube).break(new KubeError('gone', 'too old'));
      await clock.advance(1_000);
    }
    expect(kube.requests - before).toBeLessThan(60);
  });

  it('wait as long as the server asks', async () => {
    const { kube, clock } = await world();
    kube.failure = new KubeError('busy', 'slow down', { retryAfterMs: 20_000 });
    last(kube).break(new KubeError('busy', 'slow down', { retryAfterMs: 20_000 }));
    const before = kube.requests;
    await clock.advance(19_000);
    expect(kube.requests).toBe(before);
  });

  it('come apart by chance', () => {
    const at = (failures: number, random: number) => backOffMs(failures, DEFAULT_K8S_TIMINGS, random);
    expect([at(1, 0), at(1, 0.999), at(5, 0), at(50, 0.999)]).toEqual([
      125,
      expect.closeTo(250, 0),
      2_000,
      expect.closeTo(30_000, -2),
    ]);
  });
});
