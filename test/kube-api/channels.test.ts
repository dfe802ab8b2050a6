import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { whyNoPods } from './sandbox.ts';
import { type KubeApi, startKubeApi } from './server.ts';
import { at, call, execPath, PODS, POLL, podManifest, Remote } from './testing.ts';

const reason = whyNoPods();

describe.skipIf(reason !== undefined)(
  `exec, attach and logs of the test cluster (${reason ?? 'run here'})`,
  () => {
    let api: KubeApi;
    beforeAll(async () => {
      api = await startKubeApi();
      const env = [{ name: 'WHO', value: 'agent' }];
      await call(api, 'POST', PODS, podManifest('term', 'echo early; exec cat', { container: { env } }));
      await call(
        api,
        'POST',
        PODS,
        podManifest('pipe', 'echo out; echo err >&2; exec cat', { container: { tty: false } }),
      );
      for (const name of ['term', 'pipe']) await api.untilPhase(name, 'Running');
      await api.untilOutput('term', /early/);
      await api.untilOutput('pipe', /out/);
      await api.untilOutput('pipe', /err/);
    });
    afterAll(() => api.close());
    const exec = (pod: string, command: string[], flags = 'stdout=1&stderr=1', protocols?: string[]) =>
      Remote.open(api, execPath(pod, command, flags), protocols);
    const attach = (pod: string, flags = 'stdin=1&stdout=1&stderr=1') =>
      Remote.open(api, `${PODS}/${pod}/attach?${flags}`);

    it('runs a command in the container, with its environment and folder, and tells its code', async () => {
      const remote = await exec('term', ['sh', '-c', 'pwd; echo $WHO; echo oops >&2; exit 3']);
      expect(await remote.closed).toBe(1_000);
      expect(remote.channels.get(1)).toBe('/workspace\nagent\n');
      expect(remote.channels.get(2)).toBe('oops\n');
      expect(remote.status).toMatchObject({
        status: 'Failure',
        reason: 'NonZeroExitCode',
        details: { causes: [{ reason: 'ExitCode', message: '3' }] },
      });
      const good = await exec('term', ['true']);
      await good.closed;
      expect(good.status).toMatchObject({ status: 'Success' });
      const killed = await exec('term', ['sh', '-c', 'kill -9 $$']);
      await killed.closed;
      expect(at(killed.status, 'details', 'causes', 0, 'message')).toBe('137');
      expect(killed.channels.get(2)).toBeUndefined();
      const absent = await exec('term', ['no-such-program']);
      await absent.closed;
      expect(at(absent.status, 'message')).toContain('executable file not found in $PATH');
    });

    it('half-closes the input with version 5, and cannot with version 4', async () => {
      const five = await exec('pipe', ['wc', '-c'], 'stdin=1&stdout=1');
      expect(five.socket.protocol).toBe('v5.channel.k8s.io');
      five.send(0, 'x'.repeat(100_000));
      five.socket.send(Buffer.of(255, 0));
      await five.closed;
      expect(five.channels.get(1)).toBe('100000\n');
      api.speak('v4.channel.k8s.io');
      const four = await exec('pipe', ['head', '-c', '4'], 'stdin=1&stdout=1');
      expect(four.socket.protocol).toBe('v4.channel.k8s.io');
      four.socket.send(Buffer.of(255, 0));
      four.send(0, 'four');
      await four.closed;
      expect(four.channels.get(1)).toBe('four');
      await expect(exec('pipe', ['true'], 'stdout=1', ['v5.channel.k8s.io'])).rejects.toThrow(/400/);
      api.speak('v5.channel.k8s.io', 'v4.channel.k8s.io');
    });

    it('gives an exec a terminal of the size that was asked for', async () => {
      const remote = await exec(
        'term',
        ['sh', '-c', 'read go; stty size; tty; ps -o tty= -p $$'],
        'stdin=1&stdout=1&tty=1',
      );
      remote.send(4, JSON.stringify({ Width: 132, Height: 43 }));
      remote.send(0, 'go\r');
      await remote.closed;
      expect(remote.channels.get(1)).toMatch(/43 132\r\n\/dev\/pts\/\d+\r\npts\/\d+\r\n$/);
    });

    it('shows everybody who attaches what is written from then on, and takes what each types', async () => {
      const [one, two] = [await attach('term'), await attach('term', 'stdout=1')];
      one.send(0, 'hello\r');
      await Promise.all([one, two].map((remote) => remote.saw(1, /hello\r\nhello\r\n/)));
      expect(one.channels.get(1)).not.toContain('early');
      two.send(0, 'unheard\r');
      one.send(0, 'again\r');
      await one.saw(1, /again\r\nagain/);
      expect(one.channels.get(1)).not.toContain('unheard');
      const pipe = await attach('pipe');
      pipe.send(0, 'piped\n');
      await pipe.saw(1, /piped\n/);
      expect(pipe.channels.get(1)).toBe('piped\n');
      for (const remote of [one, two, pipe]) remote.socket.terminate();
    });

    it('resizes the terminal of the container, which tells its program', async () => {
      const script = 'trap "stty size" WINCH; echo ready; while :; do sleep 0.02; done';
      await call(api, 'POST', PODS, podManifest('sized', script));
      await api.untilPhase('sized', 'Running');
      await api.untilOutput('sized', /ready/);
      const remote = await attach('sized');
      remote.send(4, JSON.stringify({ Width: 100, Height: 30 }));
      await remote.saw(1, /30 100/);
      remote.socket.close();
    });

    it('ends an attach with the container, and refuses one that does not run', async () => {
      await call(api, 'POST', PODS, podManifest('short', 'read line; exit 0'));
      await api.untilPhase('short', 'Running');
      const remote = await attach('short');
      remote.send(0, '\r');
      expect(await remote.closed).toBe(1_000);
      expect(remote.status).toMatchObject({ status: 'Success' });
      await api.untilPhase('short', 'Succeeded');
      await expect(attach('short')).rejects.toThrow(/500 .*container not found/);
      await expect(attach('nobody')).rejects.toThrow(/404/);
      await expect(exec('term', ['true'], 'container=other&stdout=1')).rejects.toThrow(
        /400 .*container other is not valid/,
      );
    });

    it('cuts and silences streams, with and without a close frame', async () => {
      api.faults.add({ resource: 'pods/attach' }, { kind: 'cut', after: 2, closeFrame: 1_011 }, 1);
      const framed = await attach('term');
      framed.send(0, 'x\r');
      expect(await framed.closed).toBe(1_011);
      const abrupt = await attach('term');
      api.streams.matching({ resource: 'pods/attach' })[0]?.cut();
      expect(await abrupt.closed).toBe(1_006);
      const [silent, heard] = [await attach('term'), await attach('term')];
      api.streams.matching({ resource: 'pods/attach' })[0]?.silence();
      heard.send(0, 'loud\r');
      await heard.saw(1, /loud/);
      expect(silent.channels.get(1) ?? '').not.toContain('loud');
      expect(silent.socket.readyState).toBe(silent.socket.OPEN);
      api.faults.add({ resource: 'pods/exec' }, { kind: 'drop', after: true }, 1);
      const lost = await exec('term', ['touch', 'done']);
      expect(await lost.closed).toBe(1_006);
      expect(existsSync(api.podFolder('term', '/workspace/done'))).toBe(true);
      expect(lost.channels.get(3)).toBeUndefined();
      api.faults.add({ resource: 'pods/exec' }, { kind: 'status', code: 503 }, 1);
      await expect(exec('term', ['true'])).rejects.toThrow(/503/);
      for (const remote of [silent, heard]) remote.socket.terminate();
    });

    it('answers logs by lines and bytes, and follows', async () => {
      await call(
        api,
        'POST',
        PODS,
        podManifest('logs', 'for i in 1 2 3 4; do echo line$i; done; read go; echo last', {
          container: { tty: false },
        }),
      );
      await api.untilPhase('logs', 'Running');
      await api.untilOutput('logs', /line4/);
      const log = async (query: string) => (await call(api, 'GET', `${PODS}/logs/log?${query}`)).body;
      expect(await log('tailLines=2')).toBe('line3\nline4\n');
      expect(await log('limitBytes=5')).toBe('line1');
      expect(await log('sinceSeconds=100&container=agent')).toContain('line1');
      expect(at(await log('previous=true'), 'message')).toContain('previous terminated container');
      const followed = log('follow=true&tailLines=1');
      await expect.poll(() => api.streams.count({ resource: 'pods/log' }), POLL).toBe(1);
      const remote = await attach('logs');
      remote.send(0, 'go\n');
      expect(await followed).toBe('line4\nlast\n');
    });

    it('measures a pod by its real processes', async () => {
      const path = '/apis/metrics.k8s.io/v1beta1/namespaces/gc/pods';
      const { body } = await call(api, 'GET', `${path}/term`);
      expect(Number.parseInt(String(at(body, 'containers', 0, 'usage', 'memory')), 10)).toBeGreaterThan(100);
      const all = await call(api, 'GET', `${path}?labelSelector=app%3Dgc-agent`);
      expect(at(all.body, 'kind')).toBe('PodMetricsList');
      expect((await call(api, 'GET', `${path}/short`)).status).toBe(404);
    });
  },
);
