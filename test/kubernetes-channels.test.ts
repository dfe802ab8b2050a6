import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../internal/platform/clock.ts';
import { InputQueue } from '../internal/runtime/host/input-queue.ts';
import { type ClusterAccess, openClusterAccess } from '../internal/runtime/k8s/api/cluster-access.ts';
import { type ExecRequest, execInPod } from '../internal/runtime/k8s/channel/exec-in-pod.ts';
import { CLUSTER_PERMISSIONS } from '../internal/runtime/k8s/permissions.ts';
import { startPodStream } from '../internal/runtime/k8s/stream/start-pod-stream.ts';
import { whyNoPods } from './kube-api/sandbox.ts';
import { type KubeApi, startKubeApi } from './kube-api/server.ts';
import { call, PODS, podManifest } from './kube-api/testing.ts';

const reason = whyNoPods();
const V4 = 'v4.channel.k8s.io';
const V5 = 'v5.channel.k8s.io';

/** Echoes lines, tells its size when that changes, and is never done. */
const AGENT = `trap 'echo size:$(stty size)' WINCH; stty -echo; echo ready; while :; do read line && echo "got:$line"; done`;

describe.skipIf(reason !== undefined)(`channels to real pods (${reason ?? 'they run here'})`, () => {
  let api: KubeApi;
  let dir: string;
  let access: ClusterAccess;
  let target: Readonly<Record<string, string>>;
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'gc-channels-'));
    api = await startKubeApi({ timing: { secondMs: 20 } });
    const cluster = { kubeconfig: api.writeKubeconfig(join(dir, 'kubeconfig')), context: '', service: '' };
    access = openClusterAccess(cluster);
    await call(api, 'POST', PODS, podManifest('mayor', AGENT));
    await api.untilPhase('mayor', 'Running');
    const uid = api.pod('mayor')?.metadata.uid ?? '';
    target = { ...cluster, namespace: 'gc', pod: 'mayor', uid, container: 'agent' };
  });
  afterAll(async () => {
    access.close();
    await api.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const exec = (argv: readonly string[], rest: Partial<ExecRequest> = {}) =>
    execInPod(
      access,
      { namespace: 'gc', pod: 'mayor', container: 'agent', argv, timeoutMs: 10_000, ...rest },
      systemClock,
    );

  it.each([V4, V5] as const)('%s: exit code, output, and what was said on stderr', async (protocol) => {
    api.speak(protocol);
    const result = await exec(['sh', '-c', 'echo out; echo "why $1" >&2; exit 7', 'sh', 'a  b']);
    expect(result).toEqual({ exit: 7, stdout: Buffer.from('out\n'), stderrTail: 'why a  b\n' });
  });

  it.each([V4, V5] as const)(
    'K8S-04 %s: a megabyte goes in, is read to its end, and comes back',
    async (protocol) => {
      api.speak(protocol);
      const input = Buffer.from(Array.from({ length: 1_000_000 }, (_, i) => i % 251));
      const back = await exec(['cat'], { stdin: input });
      expect([back.exit, back.stdout.equals(input)]).toEqual([0, true]);
    },
  );

  it('a command that does not read its input, or is not there, ends as it ends', async () => {
    api.speak(V5, V4);
    const unread = await exec(['sh', '-c', 'exit 3'], { stdin: Buffer.alloc(3_000_000) });
    expect(unread.exit).toBe(3);
    await expect(exec(['/no/such/program'])).rejects.toMatchObject({ code: 'k8s-exec-failed' });
    await expect(exec(['true'], { pod: 'nobody' })).rejects.toMatchObject({ code: 'k8s-not-found' });
    await expect(exec(['true'], { container: 'other' })).rejects.toMatchObject({ code: 'k8s-not-found' });
  });

  it('K8S-02 a connection that is cut before the status is no success', async () => {
    api.faults.add({ resource: 'pods/exec' }, { kind: 'cut', after: 1 }, 1);
    await expect(exec(['sh', '-c', 'echo out; sleep 5'])).rejects.toMatchObject({ code: 'k8s-lost' });
  });

  it('exec without the right to it says which right', async () => {
    const giveBack = api.access.forbid('get', 'pods/exec');
    await expect(exec(['true'])).rejects.toMatchObject({
      code: 'k8s-forbidden',
      next: expect.stringContaining('get and create on pods/exec'),
    });
    giveBack();
  });

  it.each([V4, V5] as const)(
    '%s: a terminal is typed to, resized, cut, and comes back as it was',
    async (protocol) => {
      api.speak(protocol);
      // The pod's log holds what it was told over the other protocol: words of its own tell them apart.
      const [hello, again] = [`hello-${protocol}`, `again-${protocol}`];
      let screen = '';
      const keep = (bytes: Buffer) => {
        screen += bytes;
      };
      const stream = await startPodStream(
        target,
        { columns: 90, rows: 30 },
        { onOutput: keep, onReplay: keep, onOutputEnd: () => undefined, onExit: () => undefined },
        systemClock,
      );
      try {
        const input = new InputQueue((bytes) => stream.writeSome(bytes));
        await input.push(Buffer.from(`${hello}\n`));
        await expect.poll(() => screen, { timeout: 5_000 }).toContain(`got:${hello}`);
        await expect.poll(() => screen, { timeout: 5_000 }).toContain('size:30 90');
        screen = '';
        const attached = () => api.requests.count({ resource: 'pods/attach' });
        const before = attached();
        api.streams.matching({ resource: 'pods/attach' })[0]?.cut();
        // What is typed into the cut connection would be refused: it is not known whether it arrived.
        await expect.poll(attached, { timeout: 5_000 }).toBeGreaterThan(before);
        await expect.poll(() => api.streams.count({ resource: 'pods/attach' }), { timeout: 5_000 }).toBe(1);
        await input.push(Buffer.from(`${again}\n`));
        await expect.poll(() => screen, { timeout: 5_000 }).toContain(`got:${again}`);
        expect(screen.split(`got:${again}`)).toHaveLength(2);
        // Nothing twice: what was shown before comes again only on a screen that was emptied first.
        const anew = screen.includes('\x1bc');
        expect(screen.split(`got:${hello}`)).toHaveLength(anew ? 2 : 1);
      } finally {
        stream.release();
      }
    },
  );

  it('everything that was asked is among the rights of the manifests', () => {
    const rights = new Set(
      CLUSTER_PERMISSIONS.flatMap(({ resource, verbs }) => verbs.map((verb) => `${verb} ${resource}`)),
    );
    const asked = Object.keys(api.requests.counts());
    expect(asked).toEqual(expect.arrayContaining(['get pods/attach', 'get pods/exec', 'get pods/log']));
    expect(asked.filter((each) => !rights.has(each))).toEqual([]);
  });
});
