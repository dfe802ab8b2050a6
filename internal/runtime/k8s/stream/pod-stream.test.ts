import { afterEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../platform/clock.ts';
import { InputQueue } from '../../host/input-queue.ts';
import type { ScriptedServer } from '../channel/testing/scripted-channels.ts';
import { CONNECTS_AT_ONCE, ConnectGate } from './connect-gate.ts';
import { PodStream, pauseBefore } from './pod-stream.ts';
import { FakePod, fakeCluster } from './testing/fake-pods.ts';

let cluster: ScriptedServer;
const streams: PodStream[] = [];
afterEach(async () => {
  for (const stream of streams.splice(0)) stream.release();
  await cluster.close();
});

interface Told {
  replay: string;
  output: string;
  ended: string[];
}

/** Waits are shortened a hundredfold; their order stays. */
const quick = {
  ...systemClock,
  sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 100, signal),
};

function streamTo(pod: FakePod, gate = new ConnectGate(quick), uid = pod.uid) {
  const told: Told = { replay: '', output: '', ended: [] };
  const stream = new PodStream({
    access: cluster.access,
    gate,
    pod: { namespace: 'gc', pod: pod.name, container: 'agent', uid },
    size: { columns: 80, rows: 24 },
    callbacks: {
      onReplay: (bytes) => {
        told.replay += bytes;
      },
      onOutput: (bytes) => {
        told.output += bytes;
      },
      onOutputEnd: () => told.ended.push('output'),
      onExit: (exit) => told.ended.push(exit.reason ?? ''),
    },
    clock: quick,
    onReleased: () => told.ended.push('released'),
  });
  streams.push(stream);
  return { stream, told };
}

async function onePod() {
  const pod = new FakePod('mayor');
  cluster = await fakeCluster(new Map([[pod.name, pod]]));
  return pod;
}

const until = async (what: () => boolean) => {
  for (let tries = 0; !what(); tries += 1) {
    if (tries > 10_000) throw new Error('it does not come about');
    await systemClock.sleep(2);
  }
};

describe('the stream to a pod’s terminal', () => {
  it('shows what was before, then what comes, and makes the program draw itself anew', async () => {
    const pod = await onePod();
    pod.log = 'before\r\n';
    const { stream, told } = streamTo(pod);
    await stream.begin();
    pod.print('after');
    await until(() => told.output !== '' && pod.sizes.length === 2);
    expect([told.replay, told.output]).toEqual(['before\r\n', 'after']);
    expect(pod.sizes).toEqual(['{"Width":80,"Height":23}', '{"Width":80,"Height":24}']);
    expect([stream.pid, stream.terminal]).toEqual([0, true]);
  });

  it('does without a log that it may not read', async () => {
    const pod = await onePod();
    pod.logStatus = 403;
    const { stream, told } = streamTo(pod);
    await stream.begin();
    pod.print('now');
    await until(() => told.output === 'now');
    expect(told.replay).toBe('');
  });

  it.each([
    ['gone', { state: 'gone' }],
    ['ended', { state: 'ended' }],
    ['another one by now', { uid: 'other' }],
  ] as const)('a pod that is %s is not attached to', async (_what, change) => {
    const pod = await onePod();
    const { stream, told } = streamTo(pod);
    Object.assign(pod, change);
    await expect(stream.begin()).rejects.toMatchObject({ code: 'k8s-pod-over' });
    expect(pod.attached).toEqual([]);
    expect(told.ended).toEqual(['released']);
  });

  it('comes back after a break, and what was printed meanwhile is shown once', async () => {
    const pod = await onePod();
    const { stream, told } = streamTo(pod);
    await stream.begin();
    pod.print('one\r\ndemo> ');
    await until(() => told.output.endsWith('> '));
    pod.log = 'one\r\n'; // the unfinished line is not in the log yet
    pod.breakConnections();
    pod.log += 'demo> ls\r\ntwo\r\n';
    await until(() => pod.connected === 1 && told.replay !== '');
    pod.print('three');
    await until(() => told.output.endsWith('three'));
    expect(told.output.replace('three', '') + told.replay).toBe('one\r\ndemo> ls\r\ntwo\r\n');
  });

  it('begins the screen anew when the log does not have what was seen', async () => {
    const pod = await onePod();
    const { stream, told } = streamTo(pod);
    await stream.begin();
    pod.print('seen\r\n');
    await until(() => told.output !== '');
    pod.log = 'rotated\r\n';
    pod.breakConnections();
    await until(() => told.replay !== '');
    expect(told.replay).toBe('\x1b[3J\x1bcrotated\r\n');
  });

  it('ends, once, when the pod is over', async () => {
    const pod = await onePod();
    const { stream, told } = streamTo(pod);
    await stream.begin();
    pod.state = 'gone';
    pod.breakConnections();
    await until(() => told.ended.length === 2);
    expect(told.ended).toEqual(['output', 'pod gc/mayor: the pod is gone']);
    const requests = cluster.requests.length;
    await systemClock.sleep(40);
    expect(cluster.requests.length).toBe(requests);
  });

  it('connects no more once it is released', async () => {
    const pod = await onePod();
    const { stream, told } = streamTo(pod);
    await stream.begin();
    await until(() => pod.connected === 1);
    stream.release();
    await until(() => pod.connected === 0);
    const requests = cluster.requests.length;
    await systemClock.sleep(40);
    expect([cluster.requests.length, told.ended]).toEqual([requests, ['released']]);
  });
});

describe('input to a pod', () => {
  it('counts as taken when the cluster has read it, in order, whatever its size', async () => {
    const pod = await onePod();
    const { stream } = streamTo(pod);
    await stream.begin();
    const input = new InputQueue((bytes) => stream.writeSome(bytes));
    const long = 'x'.repeat(200_000);
    await Promise.all([input.push(Buffer.from(long)), input.push(Buffer.from('\r'))]);
    expect(pod.typed).toBe(`${long}\r`);
  });

  it('of a connection that is cut fails, and is never typed twice', async () => {
    const pod = await onePod();
    const { stream } = streamTo(pod);
    await stream.begin();
    const input = new InputQueue((bytes) => stream.writeSome(bytes));
    await until(() => pod.connected === 1);
    // It is read, but its acknowledgement never comes.
    const [first] = pod.attached;
    first?.socket.on('message', () => first.socket.terminate());
    await expect(input.push(Buffer.from('rm -rf x\r'))).rejects.toMatchObject({ code: 'input-cut' });
    await until(() => pod.attached.length === 2);
    await input.push(Buffer.from('later'));
    expect(pod.typed.split('rm -rf').length).toBeLessThanOrEqual(2);
    expect(pod.typed.endsWith('later')).toBe(true);
  });

  it('waits while there is no connection', async () => {
    const pod = await onePod();
    const { stream } = streamTo(pod);
    await stream.begin();
    pod.state = 'waiting';
    const before = cluster.requests.length;
    pod.breakConnections();
    await until(() => cluster.requests.length > before);
    const input = new InputQueue((bytes) => stream.writeSome(bytes));
    const typed = input.push(Buffer.from('patient'));
    pod.state = 'running';
    await typed;
    expect(pod.typed).toBe('patient');
  });
});

describe('a hundred pods whose connections break at once', () => {
  it('come back a few at a time; while the cluster is away, one asks for all', async () => {
    const pods = Array.from({ length: 100 }, (_, i) => new FakePod(`pod-${i}`));
    cluster = await fakeCluster(new Map(pods.map((pod) => [pod.name, pod])));
    const gate = new ConnectGate(quick);
    let inFlight = 0;
    let most = 0;
    const entered = gate.enter.bind(gate);
    let tries = 0;
    gate.enter = async (signal) => {
      const pass = await entered(signal);
      tries += 1;
      inFlight += 1;
      most = Math.max(most, inFlight);
      return {
        done: (outcome) => {
          inFlight -= 1;
          pass.done(outcome);
        },
      };
    };
    await Promise.all(pods.map((pod) => streamTo(pod, gate).stream.begin()));
    expect(tries).toBe(100);
    await cluster.shut();
    // 40 s of the shortened time: without a budget, some six tries of each of them.
    await systemClock.sleep(400);
    expect(tries - 100).toBeLessThan(CONNECTS_AT_ONCE + 12);
    const before = cluster.requests.length;
    await cluster.open();
    await until(() => pods.every((pod) => pod.connected === 1) && cluster.requests.length - before >= 300);
    expect(cluster.requests.length - before).toBe(300);
    expect(most).toBeLessThanOrEqual(CONNECTS_AT_ONCE);
  });

  it('pauses grow to half a minute and differ from pod to pod', () => {
    const pauses = Array.from({ length: 50 }, (_, i) => pauseBefore(0, `uid-${i}`));
    expect(new Set(pauses).size).toBeGreaterThan(40);
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(250);
    expect(pauseBefore(30, 'uid')).toBeLessThanOrEqual(30_000);
    expect(pauseBefore(30, 'uid')).toBeGreaterThanOrEqual(15_000);
  });
});
